// Who answers a request: the workspace's server over its socket or, where there is none, the same handlers in this
// process on the store and the files. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/client.h"
#include "api/http.h"
#include "base/clock.h"
#include "base/result.h"

namespace eider::cli {

class Backend {
 public:
  enum class Mode {
    server_or_files,  ///< a question: either will do
    server_only,      ///< what changes something
    files_only,       ///< the engine is in this process
  };
  Backend(std::string workspace, const Clock& clock, Mode mode);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// The body of an answer of 2xx. What else was answered is an Error with the problem's sentence and, where there is
  /// one, a hint; `no_server` when one is needed.
  Result<std::string> fetch(const api::Request& request);
  /// Gives a growing body on as it comes, to its end or until `on_bytes` says false.
  Result<void> stream(const api::Request& request, const api::Client::OnBytes& on_bytes);

  /// True once a request was answered without a server.
  bool offline() const { return offline_ != nullptr; }
  /// After a request that was answered without a server: why the workspace's files cannot be used; empty: they can.
  const std::string& files_error() const { return files_error_; }

 private:
  struct Offline;

  Result<void> open_files();
  Error no_server(const Error& otherwise) const;
  Result<api::Response> answer(const api::Request& request, const api::Client::OnBytes& on_bytes);

  std::string workspace_;
  const Clock& clock_;
  Mode mode_;
  api::Client client_;
  std::unique_ptr<Offline> offline_;
  std::string files_error_;
};

/// What a problem+json answer says, as an Error for a person: one sentence, and a hint on a line of its own. A
/// parameter of the request is named as the option that it was.
Error problem_error(const api::Request& request, const api::Response& response);

}  // namespace eider::cli
