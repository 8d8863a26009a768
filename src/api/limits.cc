// What admission counts: pools with their rates, locks, workers and sums.
#include <boost/json.hpp>

#include "api/context.h"
#include "api/holders.h"
#include "api/parameters.h"
#include "api/shapes.h"

namespace eider::api {
namespace {

namespace json = boost::json;

json::array named(Holders& holders, const std::vector<std::string>& runs) {
  json::array out;
  for (const std::string& id : runs) out.push_back(holders.named(id));
  return out;
}

json::array locks(Holders& holders, const std::vector<engine::LockUse>& uses) {
  json::array out;
  for (const engine::LockUse& use : uses) {
    json::value mode = nullptr;
    if (!use.holders.empty()) mode = use.alone ? "write" : "read";
    out.push_back(json::object{{"name", use.name},
                               {"mode", std::move(mode)},
                               {"waiting", use.waiting},
                               {"held_by", named(holders, use.holders)}});
  }
  return out;
}

json::object sum(const engine::SumUse& use) {
  return {{"max", use.limit ? json::value(*use.limit) : json::value(nullptr)},
          {"used", use.used},
          {"waiting", use.waiting}};
}

json::object share(const char* cause, const engine::SumUse& use) {
  json::object out = sum(use);
  out["cause"] = cause;
  return out;
}

json::object limits(Holders& holders, const engine::LimitsView& view) {
  json::array pools;
  for (const engine::PoolUse& use : view.pools) {
    json::object shown = shapes::pool(use);
    shown["held_by"] = named(holders, use.holders);
    pools.push_back(std::move(shown));
  }
  json::object out = shapes::list(std::move(pools), std::nullopt);
  out["locks"] = locks(holders, view.locks);
  out["files"] = locks(holders, view.files);
  json::object workers = sum(view.workers);
  workers["shares"] = json::array{share("data", view.data_workers), share("backfill", view.backfill_workers)};
  out["workers"] = std::move(workers);
  out["memory"] = sum(view.memory);
  out["temp"] = sum(view.temp);
  return out;
}

}  // namespace

void list_pools(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  const BodyReader body(call.request, {});
  if (const auto& problem = query.problem() ? query.problem() : body.problem()) {
    return respond(problem_response(*problem));
  }
  context.send(engine::AskPools{}, respond, [&context, respond](const engine::LimitsView& view) {
    Holders holders(context.reader());
    respond(json_response(200, limits(holders, view)));
  });
}

}  // namespace eider::api
