// Handlers about assets: what there is of them, and that something outside has made one.
#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/data_shapes.h"
#include "api/parameters.h"
#include "api/shapes.h"
#include "base/ids.h"
#include "model/pipeline.h"
#include "workspace/catalog.h"

namespace eider::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kMetadataLimitBytes = 64 * 1024;
constexpr std::size_t kFingerprintLimitBytes = 200;

using Files = std::shared_ptr<const workspace::Workspace>;

workspace::Catalog catalog_of(const workspace::Workspace& files) {
  return workspace::make_catalog(files.settings, files.pipelines);
}

/// What all that is shown of assets is made from: the files, history, and what is owed.
class Assets {
 public:
  static Result<Assets> read(store::Reader& reader, const workspace::Workspace& files) {
    Assets out(reader, catalog_of(files));
    auto pending = reader.pending_counts();
    if (!pending) return pending.error();
    for (const auto& [trigger, count] : *pending) out.pending_[trigger] = count;
    auto known = reader.materialized_assets();
    if (!known) return known.error();
    for (const auto& [name, entry] : out.catalog_.assets) out.names_.push_back(name);
    out.names_.insert(out.names_.end(), known->begin(), known->end());
    std::sort(out.names_.begin(), out.names_.end());
    out.names_.erase(std::unique(out.names_.begin(), out.names_.end()), out.names_.end());
    return out;
  }

  /// Those that a file declares and those that have history, in order.
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const { return std::binary_search(names_.begin(), names_.end(), name); }

  Result<json::object> shown(const std::string& name) const {
    const auto found = catalog_.assets.find(name);
    const bool declared = found != catalog_.assets.end();
    workspace::AssetEntry entry;
    entry.name = name;
    if (declared) entry = found->second;
    auto last = reader_->newest_of(name);
    if (!last) return last.error();
    std::int64_t pending = 0;
    for (const std::string& trigger : entry.consumers) {
      if (const auto count = pending_.find(trigger); count != pending_.end()) pending += count->second;
    }
    return shapes::asset(entry, declared, *last, pending);
  }

 private:
  Assets(store::Reader& reader, workspace::Catalog catalog) : reader_(&reader), catalog_(std::move(catalog)) {}

  store::Reader* reader_;
  workspace::Catalog catalog_;
  std::vector<std::string> names_;
  std::map<std::string, std::int64_t> pending_;  ///< by trigger
};

Problem unknown_asset(const std::string& name, const std::vector<std::string>& known) {
  return unknown_name({{},
                       fmt::format("there is no asset `{}` in this workspace", shown(name)),
                       name,
                       "`eider assets list` shows them; eider.yaml declares what something outside makes: `assets: { " +
                           name + ": {} }`"},
                      known);
}

bool is_asset(const std::string& name, const Respond& respond) {
  auto good = model::check_asset_name(name);
  if (!good) {
    respond(problem_response(
        parameter_problem("asset", good.error().message, "a name in the path, as in /api/v1/assets/raw.flights")));
  }
  return good.ok();
}

void respond_with_assets(Context& context, const workspace::Workspace& files, int limit, const std::string& after,
                         const Respond& respond) {
  auto assets = Assets::read(context.reader(), files);
  if (!assets) return respond(error_response(assets.error()));
  json::array items;
  std::optional<std::string> next;
  std::string last;
  for (const std::string& name : assets->names()) {
    if (name <= after) continue;
    if (static_cast<int>(items.size()) == limit) {
      next = last;
      break;
    }
    auto shown = assets->shown(name);
    if (!shown) return respond(error_response(shown.error()));
    items.push_back(*std::move(shown));
    last = name;
  }
  respond(json_response(200, shapes::list(std::move(items), next)));
}

void respond_with_asset(Context& context, const workspace::Workspace& files, const std::string& name, int limit,
                        const std::string& cursor, const Respond& respond) {
  auto assets = Assets::read(context.reader(), files);
  if (!assets) return respond(error_response(assets.error()));
  if (!assets->has(name)) return respond(problem_response(unknown_asset(name, assets->names())));
  auto shown = assets->shown(name);
  if (!shown) return respond(error_response(shown.error()));
  auto page = context.reader().materializations({name, std::nullopt, std::nullopt}, limit, cursor);
  if (!page) return respond(error_response(page.error()));
  json::array items;
  for (const model::Materialization& event : page->items) items.push_back(shapes::materialization(event));
  (*shown)["history"] = shapes::list(std::move(items), page->next);
  respond(json_response(200, *shown));
}

/// The engine's `not_found` may be about the asset, and then says no more than the catalog does.
void respond_with_materialize_error(Context& context, const std::string& name, const Error& error,
                                    const Respond& respond) {
  if (error.code != ErrorCode::not_found) return respond(error_response(error));
  context.send(engine::AskWorkspace{}, respond, [name, error, respond](const Files& files) {
    const workspace::Catalog catalog = catalog_of(*files);
    if (catalog.assets.contains(name)) return respond(error_response(error));
    std::vector<std::string> known;
    for (const auto& [each, entry] : catalog.assets) known.push_back(each);
    respond(problem_response(unknown_asset(name, known)));
  });
}

/// The run whose step says so, where one does: a whole id, of a run that is there.
bool is_cause(Context& context, const std::string& run_id, BodyReader& body, const Respond& respond) {
  if (run_id.empty()) return true;
  if (!is_uuid(run_id)) {
    body.fail("cause_run_id", "the whole id of a run, as a step has it in EIDER_RUN_ID");
    respond(problem_response(*body.problem()));
    return false;
  }
  auto run = context.reader().run(run_id);
  if (!run) return respond(error_response(run.error())), false;
  if (*run) return true;
  respond(
      problem_response(parameter_problem("cause_run_id", fmt::format("there is no run {} in this workspace", run_id),
                                         "the id of a run of this workspace")));
  return false;
}

}  // namespace

void list_assets(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"limit", "cursor"});
  // A person wants to see all of them; a page is bounded all the same.
  const int limit = call.request.query.contains("limit") ? query.limit() : kLargestPage;
  const std::string after = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  context.send(engine::AskWorkspace{}, respond, [&context, limit, after, respond](const Files& files) {
    respond_with_assets(context, *files, limit, after, respond);
  });
}

void show_asset(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"limit", "cursor"});
  const int limit = query.limit();
  const std::string cursor = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  const std::string& name = call.captures[0];
  if (!is_asset(name, respond)) return;
  context.send(engine::AskWorkspace{}, respond, [&context, name, limit, cursor, respond](const Files& files) {
    respond_with_asset(context, *files, name, limit, cursor, respond);
  });
}

void show_graph(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  context.send(engine::AskWorkspace{}, respond,
               [respond](const Files& files) { respond(json_response(200, shapes::graph(catalog_of(*files)))); });
}

void materialize(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"partition", "metadata", "rows", "bytes", "fingerprint", "cause_run_id"});
  if (query.problem()) return respond(problem_response(*query.problem()));
  engine::Materialize command;
  command.asset = call.captures[0];
  if (!is_asset(command.asset, respond)) return;
  command.partition = body.partition("partition");
  command.metadata = body.object("metadata", kMetadataLimitBytes);
  command.rows = body.count("rows");
  command.bytes = body.count("bytes");
  command.fingerprint = body.text("fingerprint", kFingerprintLimitBytes);
  command.cause_run_id = body.text("cause_run_id", kFingerprintLimitBytes);
  if (body.problem()) return respond(problem_response(*body.problem()));
  auto key = idempotency_key(call.request);
  if (!key) return respond(error_response(key.error()));
  command.idempotency_key = *std::move(key);
  if (!is_cause(context, command.cause_run_id, body, respond)) return;
  command.asked_by = asked_by(call.request);
  const std::string name = command.asset;
  context.send(
      std::move(command), respond, [&context, name, respond](const Result<engine::Materialize::Answer>& answer) {
        if (!answer) return respond_with_materialize_error(context, name, answer.error(), respond);
        Response response =
            json_response(answer->repeated ? 200 : 201,
                          json::object{{"id", answer->id}, {"owed", answer->owed}, {"repeated", answer->repeated}});
        response.headers["Location"] = "/api/v1/materializations/" + answer->id;
        respond(std::move(response));
      });
}

}  // namespace eider::api
