// The API thread: HTTP/1.1 on the workspace's Unix socket. It reads requests, calls the handler on its own thread and
// writes the answers; it never writes the store and never waits for the loop. Nobody holds up anybody: each
// connection has deadlines, bounded buffers and one request at a time (pipelined ones wait their turn in the kernel).
// Asio stays in server.cc and connection.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/http.h"
#include "base/result.h"
#include "base/time.h"

namespace eider::api {

/// Defaults for people and commands on one machine; tests give shorter ones.
struct ServerLimits {
  int max_connections = 256;                            ///< one more is told 503 and closed
  Micros idle_timeout = std::chrono::seconds(60);       ///< between two requests
  Micros header_timeout = std::chrono::seconds(10);     ///< from a request's first byte to the end of its header
  Micros body_timeout = std::chrono::seconds(30);       ///< from there to its last byte
  Micros write_timeout = std::chrono::seconds(30);      ///< until the client has taken an answer
  Micros stall_timeout = std::chrono::hours(1);         ///< until it has taken a piece of a stream (a pager waits)
  Micros stream_poll = std::chrono::milliseconds(100);  ///< how often a growing body is looked at
  Micros stop_grace = std::chrono::seconds(1);          ///< at stop, for answers under way
};

/// listen(), then start(), then stop() or the destructor. The owner is one thread; resume() and stop() any thread.
class Server {
 public:
  explicit Server(ServerLimits limits);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes the socket's path (mode 0600), and replaces the file of a server that is gone. Call it with the server's
  /// lock held: only that says that the other one is gone. Its socket may answer for a moment longer, because a worker
  /// that it was spawning when it was killed has a copy until its exec.
  Result<void> listen(const std::string& path);
  /// Starts the thread. `handler` is called, and must call its Respond, on that thread only.
  void start(Handler handler);
  /// Runs a function on the API thread: how the loop's replies come back. Harmless after stop(): then it never runs.
  std::function<void(std::function<void()>)> resume() const;
  /// Accepts nothing more, finishes what is under way within the grace, closes everything, joins the thread and
  /// removes the socket's file.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eider::api
