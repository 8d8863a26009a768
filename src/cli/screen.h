// Where a verb writes: standard output and standard error, with what is known of the terminal behind them. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace eider::cli {

enum class Colour { none, bold, grey, green, red, yellow, blue };

/// One of the two streams.
class Stream {
 public:
  /// False: the reader is gone.
  /// Writes all of it; the error number when it can't.
  using Write = std::function<int(std::string_view bytes)>;
  struct Kind {
    bool terminal = false;
    bool colour = false;
    std::size_t columns = 0;  ///< of the terminal; 0: no limit
  };
  Stream(Write write, Kind kind) : write_(std::move(write)), kind_(kind) {}

  void print(std::string_view bytes);
  void line(std::string_view text) { print(std::string(text) + "\n"); }
  /// The reader is gone (`| head`): what is written is dropped, and a verb that goes on by itself should end.
  bool closed() const { return closed_; }
  /// Why it was closed, where nobody wanted that (a full disk): an error number; 0: nothing is wrong.
  int failure() const { return failure_; }

  bool terminal() const { return kind_.terminal; }
  std::size_t columns() const { return kind_.columns; }
  void set_colour(bool colour) { kind_.colour = colour; }
  bool colour() const { return kind_.colour; }
  /// The text in a colour, where this stream has any.
  std::string paint(Colour colour, std::string_view text) const;

 private:
  Write write_;
  Kind kind_;
  bool closed_ = false;
  int failure_ = 0;
};

struct Screen {
  Stream out;
  Stream error;
};

/// Of the process: descriptors 1 and 2.
Screen process_screen();

}  // namespace eider::cli
