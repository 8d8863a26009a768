#include "api/trace.h"
#include "base/cases.h"

#include <algorithm>
#include <optional>
#include <set>

namespace eider::api {
namespace {

/// Events of one batch that are counted.
constexpr int kMostDeliveries = 1000;

template <typename T>
Result<std::optional<Thing>> as_thing(Result<std::optional<T>> row) {
  if (!row) return row.error();
  return *row ? std::optional<Thing>(**std::move(row)) : std::nullopt;
}

class Tracer {
 public:
  explicit Tracer(store::Reader& reader) : reader_(reader) {}

  Result<Trace> run(Thing thing) {
    if (auto done = go_back(std::move(thing)); !done) return done.error();
    const Thing asked = trace_.links.back().thing;
    if (const auto* run = std::get_if<model::Run>(&asked)) runs_.insert(run->id);
    if (auto done = follow(asked, trace_.links.size() - 1, 1); !done) return done.error();
    return std::move(trace_);
  }

 private:
  /// From what was asked for to where its chain began.
  Result<void> go_back(Thing thing) {
    std::vector<Link>& links = trace_.links;
    links.push_back({std::move(thing), Link::Part::asked});
    while (true) {
      auto cause = cause_of(links.back());
      if (!cause) return cause.error();
      if (!*cause) break;
      if (links.size() > kMostCauses) {
        trace_.truncated = true;
        break;
      }
      links.push_back({**std::move(cause), Link::Part::cause});
    }
    std::reverse(links.begin(), links.end());
    return {};
  }

  Result<std::optional<Thing>> cause_of(Link& link) {
    return std::visit(
        Cases{[](const model::Occurrence&) -> Result<std::optional<Thing>> { return std::optional<Thing>(); },
              [&](const model::Run& run) { return cause_of_run(run, link); },
              [&](const model::Materialization& event) {
                return as_thing(event.run_id.empty() ? std::optional<model::Run>() : reader_.run(event.run_id));
              },
              [&](const model::Delivery& delivery) { return as_thing(reader_.materialization(delivery.event_id)); }},
        link.thing);
  }

  Result<std::optional<Thing>> cause_of_run(const model::Run& run, Link& link) {
    if (run.trigger == model::TriggerKind::schedule) return as_thing(reader_.occurrence_of_run(run.id));
    if (run.trigger != model::TriggerKind::data) return std::optional<Thing>();
    auto page = reader_.deliveries(of_run(run.id), kMostDeliveries, "");
    if (!page) return page.error();
    if (page->items.empty()) return std::optional<Thing>();
    link.others = page->items.size() - 1;
    return std::optional<Thing>(std::move(page->items.front()));
  }

  /// Adds the effects of the link at `index`, which is about `thing`.
  Result<void> follow(const Thing& thing, std::size_t index, int level) {
    auto effects = effects_of(thing, trace_.links[index]);
    if (!effects) return effects.error();
    for (Thing& effect : *effects) {
      if (shown_ == kMostEffects) {
        trace_.links[index].more = true;
        break;
      }
      ++shown_;
      const auto* run = std::get_if<model::Run>(&effect);
      const bool again = run && !runs_.insert(run->id).second;
      trace_.links.push_back({effect, Link::Part::effect, level});
      trace_.links.back().again = again;
      if (again) continue;
      if (auto done = follow(effect, trace_.links.size() - 1, level + 1); !done) return done;
    }
    return {};
  }

  Result<std::vector<Thing>> effects_of(const Thing& thing, Link& link) {
    return std::visit(Cases{[&](const model::Occurrence& occurrence) { return run_of(occurrence.run_id); },
                            [&](const model::Run& run) {
                              store::MaterializationFilter filter;
                              filter.run_id = run.id;
                              return things(reader_.materializations(filter, kMostEffectsOfOne, ""), link);
                            },
                            [&](const model::Materialization& event) {
                              store::DeliveryFilter filter;
                              filter.event_id = event.id;
                              return things(reader_.deliveries(filter, kMostEffectsOfOne, ""), link);
                            },
                            [&](const model::Delivery& delivery) { return run_of(delivery.run_id); }},
                      thing);
  }

  Result<std::vector<Thing>> run_of(const std::string& run_id) {
    if (run_id.empty()) return std::vector<Thing>();
    auto run = reader_.run(run_id);
    if (!run) return run.error();
    return *run ? std::vector<Thing>{**std::move(run)} : std::vector<Thing>();
  }

  /// Oldest first: in the order in which they happened.
  template <typename T>
  static Result<std::vector<Thing>> things(Result<store::Page<T>> page, Link& link) {
    if (!page) return page.error();
    link.more = page->next.has_value();
    return std::vector<Thing>(page->items.rbegin(), page->items.rend());
  }

  static store::DeliveryFilter of_run(const std::string& run_id) {
    store::DeliveryFilter filter;
    filter.run_id = run_id;
    return filter;
  }

  store::Reader& reader_;
  Trace trace_;
  std::set<std::string> runs_;  ///< whose effects are there
  std::size_t shown_ = 0;
};

}  // namespace

const std::string& id_of(const Thing& thing) {
  return std::visit([](const auto& each) -> const std::string& { return each.id; }, thing);
}

Result<Trace> trace(store::Reader& reader, Thing thing) { return Tracer(reader).run(std::move(thing)); }

}  // namespace eider::api
