// One HTTP connection of the API thread. Included by server.cc and connection.cc only: it brings Asio along.
#pragma once

// g++ 12 sees null pointers in Asio and Beast that are not there.
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/http.h"
#include "api/server.h"

namespace eider::api {

/// Reads one request, has it handled, writes the answer, and again. Not before an answer is written is the next
/// request read. API thread only. Owned by the server until close(), and by the operations under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  /// `limits`, `handler` and `on_closed` outlive the connection. `on_closed` is called once.
  Connection(Socket socket, const ServerLimits& limits, const Handler& handler,
             const std::function<void(Connection*)>& on_closed);

  void start();
  /// The server stops: closes now when nothing is under way, else after the answer.
  void drain();
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class Phase { idle, header, body, handling, writing, lingering, closed };

  void next_request();
  void advance();
  void read_more();
  void note_progress();
  void refuse(boost::system::error_code error);
  void dispatch();
  Result<void> take_request(Request& request);
  void respond(Response response);
  void write(std::string bytes, Micros timeout, void (Connection::*then)());
  void pump();
  void finish();
  void linger();
  bool peer_is_gone() const;
  /// Closes (or, of a slow request, answers 408) when `timeout` passes before the next call.
  void set_deadline(Micros timeout);
  void on_deadline();

  Socket socket_;
  boost::asio::steady_timer timer_;
  const ServerLimits& limits_;
  const Handler& handler_;
  const std::function<void(Connection*)>& on_closed_;

  Phase phase_ = Phase::idle;
  std::uint64_t deadline_id_ = 0;  // a timer's handler that is queued already can't be cancelled: it is recognised
  std::optional<Parser> parser_;
  std::array<char, 16 * 1024> incoming_{};
  std::string unparsed_;  // at most the header's limit and one read
  std::string outgoing_;
  std::shared_ptr<BodyStream> stream_;
  std::size_t lingered_bytes_ = 0;
  bool head_only_ = false;
  bool chunked_ = false;
  bool keep_alive_ = true;
  bool draining_ = false;
  bool stream_done_ = false;
};

}  // namespace eider::api
