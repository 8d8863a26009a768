// The API without its transport: requests in, answers out. The server gives it what comes over the socket; a command
// without a server calls handle() itself, with a reader of the store and the workspace it loaded.
#pragma once

#include <functional>
#include <memory>

#include "api/http.h"
#include "base/clock.h"
#include "engine/inbox.h"
#include "store/store.h"
#include "wire/layout.h"
#include "workspace/load.h"

namespace eider::api {

struct ServiceOptions {
  /// Used on the Service's thread only. Null: there is no state.db yet, and every list is empty.
  store::Reader* reader = nullptr;
  /// The loop's. Null: no server; live data is empty, schedules, pools and pipelines come from `workspace` and the
  /// store, and what would change something answers 503 `no-server`.
  engine::Inbox* inbox = nullptr;
  /// Used without `inbox` only.
  const workspace::Workspace* workspace = nullptr;
  /// Why the files cannot be used, where they cannot: the answer to questions about them. History is read all the same.
  std::string files_error;
  const Clock* clock = nullptr;
  wire::Layout layout;
  /// The server was given a test clock (hidden option): POST /api/v1/test/clock turns it.
  bool test_clock = false;
  /// Brings the loop's replies to the Service's thread: Server::resume(). Not needed without `inbox`.
  std::function<void(std::function<void()>)> resume;
};

/// One thread: the API thread, or the command's own. What the options point to outlives it.
class Service {
 public:
  explicit Service(ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Calls `respond` once: when the loop has replied, or before it returns where no loop is asked (always without
  /// `inbox`). A command reads an answer's `stream` itself: again after about 100 ms when it gave nothing.
  void handle(Request request, const Respond& respond);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eider::api
