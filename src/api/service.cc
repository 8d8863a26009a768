#include "api/service.h"

#include <fmt/format.h>

#include "api/context.h"
#include "api/offline.h"
#include "api/parameters.h"

namespace eider::api {
namespace {

struct Route {
  const char* method;
  const char* pattern;  ///< `{}` stands for one segment
  Handle handle;
};

constexpr Route kRoutes[] = {
    {"GET", "/healthz", show_health},
    {"GET", "/readyz", show_readiness},
    {"GET", "/api/v1/status", show_status},
    {"GET", "/api/v1/pipelines", list_pipelines},
    {"GET", "/api/v1/pipelines/{}", show_pipeline},
    {"GET", "/api/v1/pipelines/{}/explain", explain_pipeline},
    {"GET", "/api/v1/schedules", list_schedules},
    {"GET", "/api/v1/schedules/{}/{}", show_schedule},
    {"POST", "/api/v1/schedules/{}/{}/pause", pause_schedule},
    {"POST", "/api/v1/schedules/{}/{}/resume", resume_schedule},
    {"GET", "/api/v1/schedules/{}/{}/preview", preview_schedule},
    {"GET", "/api/v1/occurrences", list_occurrences},
    {"GET", "/api/v1/runs", list_runs},
    {"POST", "/api/v1/runs", start_run},
    {"GET", "/api/v1/runs/{}", show_run},
    {"POST", "/api/v1/runs/{}/cancel", cancel_run},
    {"POST", "/api/v1/runs/{}/retry", retry_run},
    {"GET", "/api/v1/runs/{}/logs", show_log},
    {"GET", "/api/v1/assets", list_assets},
    {"GET", "/api/v1/assets/graph", show_graph},
    {"GET", "/api/v1/assets/{}", show_asset},
    {"POST", "/api/v1/assets/{}/materializations", materialize},
    {"GET", "/api/v1/materializations", list_materializations},
    {"GET", "/api/v1/materializations/{}", show_materialization},
    {"GET", "/api/v1/triggers", list_triggers},
    {"GET", "/api/v1/deliveries", list_deliveries},
    {"GET", "/api/v1/deliveries/{}", show_delivery},
    {"POST", "/api/v1/deliveries/retry", retry_deliveries},
    {"POST", "/api/v1/deliveries/skip", skip_deliveries},
    {"GET", "/api/v1/explain/{}", explain_id},
    {"GET", "/api/v1/doctor", examine},
    {"GET", "/api/v1/pools", list_pools},
    {"POST", "/api/v1/reload", reload},
    {"POST", "/api/v1/stop", stop},
    {"POST", "/api/v1/test/clock", turn_clock},
};

/// What the pattern's `{}` stand for, or none when the path is another one.
std::optional<std::vector<std::string>> match(std::string_view pattern, const std::vector<std::string>& segments) {
  std::vector<std::string> captures;
  pattern.remove_prefix(1);
  for (std::size_t at = 0; at < segments.size(); ++at) {
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    const std::string_view part = pattern.substr(0, end);
    if (part == "{}") {
      captures.push_back(segments[at]);
    } else if (part != segments[at]) {
      return std::nullopt;
    }
    const bool last = end == pattern.size();
    if (last != (at + 1 == segments.size())) return std::nullopt;
    if (!last) pattern.remove_prefix(end + 1);
  }
  return captures;
}

}  // namespace

struct Service::Impl {
  explicit Impl(ServiceOptions options)
      : reader(options.reader ? *options.reader : no_store),
        offline(options.workspace, options.files_error, reader, options.clock, options.layout),
        context(std::move(options), reader, offline) {
    EIDER_CHECK(context.options().clock != nullptr, "the Service needs a clock");
  }

  EmptyReader no_store;
  store::Reader& reader;
  Offline offline;
  Context context;
};

Service::Service(ServiceOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Service::~Service() = default;

void Service::handle(Request request, const Respond& respond) {
  auto segments = path_segments(request.path);
  if (!segments) return respond(error_response(segments.error()));
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string allowed;
  for (const Route& route : kRoutes) {
    auto captures = match(route.pattern, *segments);
    if (!captures || (route.handle == turn_clock && !impl_->context.options().test_clock)) continue;
    if (method == route.method)
      return route.handle(impl_->context, Call{std::move(request), *std::move(captures)}, respond);
    const std::string takes = route.method == std::string_view("GET") ? "GET, HEAD" : route.method;
    if (allowed.find(takes) == std::string::npos) allowed += (allowed.empty() ? "" : ", ") + takes;
  }
  if (allowed.empty()) {
    return respond(
        problem_response({404,
                          "not-found",
                          fmt::format("there is nothing at {}; the API begins at /api/v1/", shown(request.path)),
                          {}}));
  }
  Response response = problem_response(
      {405,
       "method-not-allowed",
       fmt::format("{} does not take {}; it takes {}", shown(request.path), shown(request.method), allowed),
       {}});
  response.headers["Allow"] = allowed;
  respond(std::move(response));
}

}  // namespace eider::api
