// What every handler is given: the reader, the way to the loop (or, without a server, what stands in for it), the
// clock. Handlers are plain functions; they run on the Service's thread and keep nothing between requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/http.h"
#include "api/service.h"
#include "engine/inbox.h"
#include "model/asset.h"
#include "model/run.h"
#include "store/store.h"

namespace eider::api {

class Offline;

/// A request with what the route's `{…}` stood for, in order.
struct Call {
  Request request;
  std::vector<std::string> captures;
};

class Context {
 public:
  Context(ServiceOptions options, store::Reader& reader, Offline& offline);

  store::Reader& reader() { return reader_; }
  const ServiceOptions& options() const { return options_; }

  /// Sends a command to the loop; `then` gets its reply on the Service's thread, after the commit. When there is no
  /// loop to take it, `respond` is told why and `then` is never called.
  template <typename Command>
  void send(Command command, const Respond& respond, decltype(Command::reply) then) {
    command.reply = [resume = options_.resume, then = std::move(then)](auto reply) {
      if (!resume) return then(std::move(reply));
      resume([then, reply = std::move(reply)] { then(reply); });
    };
    deliver(std::move(command), respond);
  }

  using Named = store::DataReader::Named;
  /// Each finds what an id or a unique prefix of one names, or answers 400, 404 or 409. `parameter` is what the id was
  /// given as.
  std::optional<model::Run> find_run(const std::string& id_or_prefix, const Respond& respond,
                                     const char* parameter = "id");
  std::optional<model::Materialization> find_materialization(const std::string& id_or_prefix, const Respond& respond,
                                                             const char* parameter = "id");
  std::optional<model::Delivery> find_delivery(const std::string& id_or_prefix, const Respond& respond);
  /// Of any kind.
  std::optional<Named> find_any(const std::string& id_or_prefix, const Respond& respond);

 private:
  /// What an id can be of, in words.
  struct Sought {
    std::vector<Named::Kind> kinds;
    const char* noun;  ///< `run`
    const char* hint;  ///< where they are shown
    const char* parameter;
  };
  std::optional<Named> find(const Sought& sought, const std::string& id_or_prefix, const Respond& respond);
  Result<std::vector<Named>> ids(const Sought& sought, const std::string& prefix);
  template <typename T>
  std::optional<T> fetched(const Sought& sought, const std::string& id_or_prefix, Result<std::optional<T>> row,
                           const Respond& respond);

  void deliver(engine::Command command, const Respond& respond);

  ServiceOptions options_;
  store::Reader& reader_;
  Offline& offline_;
};

// The handlers, by file.
using Handle = void (*)(Context&, const Call&, const Respond&);

// assets.cc
void list_assets(Context&, const Call&, const Respond&);
void show_asset(Context&, const Call&, const Respond&);
void show_graph(Context&, const Call&, const Respond&);
void materialize(Context&, const Call&, const Respond&);
// materializations.cc
void list_materializations(Context&, const Call&, const Respond&);
void show_materialization(Context&, const Call&, const Respond&);
// deliveries.cc
void list_triggers(Context&, const Call&, const Respond&);
void list_deliveries(Context&, const Call&, const Respond&);
void show_delivery(Context&, const Call&, const Respond&);
void retry_deliveries(Context&, const Call&, const Respond&);
void skip_deliveries(Context&, const Call&, const Respond&);
// explain.cc
void explain_id(Context&, const Call&, const Respond&);
// idle.cc
void explain_pipeline(Context&, const Call&, const Respond&);
// examine.cc
void examine(Context&, const Call&, const Respond&);
// runs.cc
void list_runs(Context&, const Call&, const Respond&);
void show_run(Context&, const Call&, const Respond&);
void start_run(Context&, const Call&, const Respond&);
void cancel_run(Context&, const Call&, const Respond&);
void retry_run(Context&, const Call&, const Respond&);
void show_log(Context&, const Call&, const Respond&);
// schedules.cc
void list_schedules(Context&, const Call&, const Respond&);
void show_schedule(Context&, const Call&, const Respond&);
void pause_schedule(Context&, const Call&, const Respond&);
void resume_schedule(Context&, const Call&, const Respond&);
void preview_schedule(Context&, const Call&, const Respond&);
void list_occurrences(Context&, const Call&, const Respond&);
// system.cc
void show_health(Context&, const Call&, const Respond&);
void show_readiness(Context&, const Call&, const Respond&);
void show_status(Context&, const Call&, const Respond&);
void list_pipelines(Context&, const Call&, const Respond&);
void show_pipeline(Context&, const Call&, const Respond&);
void list_pools(Context&, const Call&, const Respond&);
void reload(Context&, const Call&, const Respond&);
void stop(Context&, const Call&, const Respond&);
void turn_clock(Context&, const Call&, const Respond&);

}  // namespace eider::api
