// Everybody the worker talks to: its server over the channel, and servers that came back later over the attempt's own
// socket (design section 3, "A run outlives its server"). All of them get the same frames.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "base/reactor.h"
#include "wire/channel.h"
#include "wire/messages.h"

namespace eider::worker {

/// Main thread.
class Reports {
 public:
  struct Handlers {
    std::function<void(wire::ToWorker message, UniqueFd descriptor)> on_message;
    /// What to tell somebody who connects to the attempt's socket; nothing when it has just ended.
    std::function<std::optional<wire::Adopted>()> adopted;
  };

  Reports(Reactor& reactor, UniqueFd channel, Handlers handlers);
  ~Reports();
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  /// To all who listen; nobody is no error.
  void send(const wire::ToServer& message);
  /// Goes with the next one, or when release() is called: who listens is woken once for both.
  void hold(const wire::ToServer& message);
  /// To be called before the worker waits for something.
  void release();
  /// The server that started this worker has closed its end.
  bool server_gone() const { return server_gone_; }
  /// A frame could not be understood: the two do not speak the same language, and the worker must not guess.
  bool confused() const { return confused_; }

  /// `worker_socket` is where the worker listens, from the first call on; `path` becomes another name of it.
  Result<void> open_attempt_socket(const std::string& worker_socket, const std::string& path);
  /// Removes that name; who has connected stays.
  void close_attempt_socket();

  /// Waits until everything is written, at most so long.
  void flush(Micros limit);

 private:
  struct Peer {
    explicit Peer(UniqueFd socket) : channel(std::move(socket)) {}
    wire::Channel channel;
    bool is_server = false;  ///< the one that started the worker
    bool gone = false;
    bool watched_for_writing = false;
  };

  Peer& add(UniqueFd socket);
  void accept();
  void read_from(Peer& peer);
  void send_to(Peer& peer, const std::string& frame);
  void flush(Peer& peer);
  void mark(Peer& peer, const Result<void>& written);
  void drop(Peer& peer);
  void forget_gone();

  Reactor& reactor_;
  Handlers handlers_;
  std::list<std::unique_ptr<Peer>> peers_;
  UniqueFd listener_;
  std::string attempt_socket_;
  bool server_gone_ = false;
  bool confused_ = false;
};

}  // namespace eider::worker
