// A blocking HTTP client on the workspace's Unix socket, for commands. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/http.h"
#include "base/result.h"
#include "base/time.h"

namespace eider::api {

class Client {
 public:
  /// `answer_timeout`: how long the server may say nothing while an answer is owed; it does not bound a stream.
  explicit Client(std::string socket_path, Micros answer_timeout = std::chrono::seconds(30))
      : socket_path_(std::move(socket_path)), answer_timeout_(answer_timeout) {}

  /// One request on a connection of its own. Any HTTP status is a Response; `no_server` when nobody listens there,
  /// `unavailable` when the server is full, does not answer in time or breaks off. `stream` is never set.
  Result<Response> call(const Request& request) const;

  /// Gives the body's bytes on as they come. False from `on_bytes` ends it early (that is no error). The returned
  /// Response has no body, except where its status is not 200: then nothing was streamed.
  using OnBytes = std::function<bool(std::string_view bytes)>;
  Result<Response> stream(const Request& request, const OnBytes& on_bytes) const;

 private:
  std::string socket_path_;
  Micros answer_timeout_;
};

}  // namespace eider::api
