// Handlers about what was published.
#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/data_shapes.h"
#include "api/parameters.h"
#include "api/shapes.h"
#include "workspace/catalog.h"

namespace eider::api {
namespace {

namespace json = boost::json;

Response empty_list() { return json_response(200, shapes::list({}, std::nullopt)); }

/// An asset that is in no file and in no history is a slip of the pen, not an empty list.
void respond_with_none_of_asset(Context& context, const std::string& asset, const Respond& respond) {
  context.send(
      engine::AskWorkspace{}, respond, [asset, respond](const std::shared_ptr<const workspace::Workspace>& files) {
        const workspace::Catalog catalog = workspace::make_catalog(files->settings, files->pipelines);
        if (catalog.assets.contains(asset)) return respond(empty_list());
        std::vector<std::string> known;
        for (const auto& [name, entry] : catalog.assets) known.push_back(name);
        respond(problem_response(
            unknown_name({"asset", fmt::format("there is no asset `{}` in this workspace or its history", shown(asset)),
                          asset, "`eider assets list` shows them"},
                         known)));
      });
}

/// The same of a pipeline; one that has run has history.
void respond_with_none_of_pipeline(Context& context, const std::string& pipeline, const Respond& respond) {
  auto any = context.reader().runs({pipeline, std::nullopt, false}, 1, "");
  if (!any) return respond(error_response(any.error()));
  if (!any->items.empty()) return respond(empty_list());
  context.send(engine::AskPipelines{}, respond, [pipeline, respond](const std::vector<engine::PipelineView>& views) {
    respond(has_pipeline(views, pipeline) ? empty_list()
                                          : problem_response(unknown_pipeline("pipeline", pipeline, views)));
  });
}

}  // namespace

void list_materializations(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"asset", "pipeline", "run", "limit", "cursor"});
  query.only_one_of({"asset", "pipeline", "run"});
  const std::string asset = query.asset("asset");
  const std::string pipeline = query.name("pipeline");
  const std::string run = query.text("run");
  const int limit = query.limit();
  const std::string cursor = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  store::MaterializationFilter filter;
  if (!asset.empty()) filter.asset = asset;
  if (!pipeline.empty()) filter.pipeline = pipeline;
  if (call.request.query.contains("run")) {
    const auto found = context.find_run(run, respond, "run");
    if (!found) return;
    filter.run_id = found->id;
  }
  auto page = context.reader().materializations(filter, limit, cursor);
  if (!page) return respond(error_response(page.error()));
  if (page->items.empty() && cursor.empty()) {
    if (!asset.empty()) return respond_with_none_of_asset(context, asset, respond);
    if (!pipeline.empty()) return respond_with_none_of_pipeline(context, pipeline, respond);
  }
  json::array items;
  for (const model::Materialization& event : page->items) items.push_back(shapes::materialization(event));
  respond(json_response(200, shapes::list(std::move(items), page->next)));
}

void show_materialization(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (const auto event = context.find_materialization(call.captures[0], respond))
    respond(json_response(200, shapes::materialization(*event)));
}

}  // namespace eider::api
