// A worker that an earlier server started, found alive on its attempt's socket. It is no child of ours: its end shows
// as the end of the connection, never as an exit code.
#pragma once

#include <functional>
#include <memory>

#include "base/reactor.h"
#include "wire/channel.h"
#include "wire/messages.h"
#include "wire/processes.h"

namespace eider::supervise {

/// Engine thread.
class AdoptedWorker {
 public:
  struct Callbacks {
    std::function<void(wire::ToServer message)> on_message;
    std::function<void()> on_gone;  ///< its end is closed, or it spoke nonsense; the last call
  };
  /// `socket` is connected to the attempt's socket. A callback may destroy this object.
  AdoptedWorker(Reactor& reactor, UniqueFd socket, Callbacks callbacks);
  ~AdoptedWorker();
  AdoptedWorker(const AdoptedWorker&) = delete;
  AdoptedWorker& operator=(const AdoptedWorker&) = delete;

  void send(const wire::ToWorker& message);
  /// SIGKILL: also to one that is stopped and never said anything.
  void kill();
  int pid() const { return process_.pid; }

 private:
  void on_readable();
  void on_writable();

  Reactor& reactor_;
  const Callbacks callbacks_;
  wire::Process process_;
  wire::Channel channel_;
  bool watched_for_writing_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace eider::supervise
