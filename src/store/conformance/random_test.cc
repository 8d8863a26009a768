// The law: for any sequence of sets, the store holds what a simple model in memory holds, and says the same of each
// set, also when it is closed and opened in between.
#include <rapidcheck/gtest.h>
#include <map>
#include <set>

#include "store/conformance/data_fixture.h"
#include "store/conformance/reference.h"

namespace eider::store::conformance {
namespace {

using model::DeliveryState;

/// From the whole range also in the first cases, which are small otherwise and reach little.
int number(int below) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, below)); }

model::Change random_decision() {
  const std::string schedule = number(2) == 0 ? "a/x" : "a/y";
  model::OccurrencesDecided decided{schedule, at(number(6)), at(number(6)), {}};
  for (int count = number(3); count > 0; --count) {
    auto one = occurrence(schedule, at(number(6)), static_cast<model::Decision>(number(6)));
    // Rows about several instants do not overlap others in what the engine makes.
    decided.occurrences.push_back(one);
  }
  return decided;
}

/// Mostly a run that is there; 6 to 8 are made by claims of deliveries only.
int likely_run(const Model& model) {
  if (model.runs.empty() || number(4) == 0) return number(9);
  const auto run = std::next(model.runs.begin(), number(static_cast<int>(model.runs.size())));
  return std::stoi(run->first.substr(run->first.size() - 4));
}

/// Mostly the attempt that run n is at, so that what is said of it applies more often than not.
int likely_attempt(const Model& model, int n) {
  const auto run = model.runs.find(run_id(n));
  return run == model.runs.end() || number(4) == 0 ? 1 + number(3) : run->second.attempt;
}

model::Change random_change(const Model& model) {
  const int n = likely_run(model);
  switch (number(11)) {
    case 0:
      return placed(number(2) == 0 ? "a/x" : "a/y", at(number(6)));
    case 1:
      return random_decision();
    case 2:
      return model::CursorWithdrawn{number(2) == 0 ? "a/x" : "a/y", at(number(6))};
    case 3: {
      auto run = queued_run(number(6), fmt::format("p{}", number(2)));
      run.priority = number(3);
      if (number(3) == 0) run.idempotency_key = fmt::format("key{}", number(3));
      if (number(3) == 0) {
        run.scheduled_for = at(number(4));
        run.occurrence_id = model::occurrence_id("a/x", *run.scheduled_for);
      }
      return model::RunQueued{run};
    }
    case 4:
    case 5:
      return claim(n, 1 + likely_attempt(model, n) % 4, at(number(10)));
    case 6:
    case 7:
    case 8: {
      auto end = ended(n, likely_attempt(model, n),
                       number(3) == 0 ? model::RunEvent::succeed : model::all_run_events[number(8)],
                       static_cast<model::Outcome>(number(7)));
      end.not_before = at(number(10));
      return end;
    }
    case 9:
      return model::CancelAsked{run_id(n), "Requested", at(number(10))};
    default:
      return model::QueuedCancelled{run_id(n), "Expired", "waited", at(number(10))};
  }
}

const std::vector<std::string> triggers = {"c/on_a", "c/on_all", "d/on_all"};

model::Materialization nth_event(int n) {
  return event(n, fmt::format("a{}", n % 2), n % 3 == 0 ? "" : fmt::format("2026-01-0{}", n));
}

/// A third of them say that a run published it, so that the fence is met and missed.
model::AssetMaterialized random_event(const Model& model) {
  model::AssetMaterialized change{nth_event(number(6)), {}};
  if (number(3) == 0) {
    const int n = likely_run(model);
    change.event.source = model::Source::run;
    change.event.run_id = run_id(n);
    change.event.attempt = likely_attempt(model, n);
  }
  for (const auto& trigger : triggers) {
    if (number(2) == 0) change.owed.push_back(owed(change.event, trigger));
  }
  return change;
}

/// Up to three that are in this state, or now and then any.
std::vector<std::string> some_deliveries(const Model& model, const std::string& trigger, DeliveryState state) {
  std::vector<std::string> ids;
  const std::size_t most = static_cast<std::size_t>(number(4));
  for (const auto& [id, one] : model.deliveries) {
    if (one.trigger == trigger && one.state == state && ids.size() < most) ids.push_back(id);
  }
  if (number(4) == 0) ids.push_back(model::delivery_id(trigger, nth_event(number(6)).id));
  return ids;
}

/// What data triggers decide, as sets: a claim always brings its run.
model::ChangeSet random_data_set(const Model& model) {
  const std::string& trigger = triggers[static_cast<std::size_t>(number(3))];
  const int n = 3 + number(6);
  switch (number(8)) {
    case 0:
    case 1:
      return {random_event(model)};
    case 2:
    case 3: {
      const auto ids = some_deliveries(model, trigger, DeliveryState::pending);
      if (ids.empty()) return {random_event(model)};
      return {model::DeliveriesClaimed{trigger, ids, run_id(n), "host/1", at(number(10))},
              model::RunQueued{data_run(n, trigger)}};
    }
    case 4: {
      const auto from = static_cast<DeliveryState>(number(5));
      return {model::DeliveriesSkipped{trigger, some_deliveries(model, trigger, from), from, "TriggerRemoved", "gone",
                                       at(number(10))}};
    }
    case 5:
      return {model::TriggerPlaced{{trigger, number(3), number(6)}}};
    case 6: {
      model::TriggerReplayed replayed{trigger, number(3), number(6), {}};
      for (const auto& [id, one] : model.events) {
        if (number(3) == 0) replayed.owed.push_back(owed(one, trigger));
      }
      return {replayed};
    }
    default: {
      auto run = data_run(likely_run(model), trigger);
      const auto known = model.runs.find(run.id);
      if (known != model.runs.end()) run = known->second;
      run.state = RunState::queued;
      run.finished_at = run.cancel_asked_at = std::nullopt;
      run.failures = run.interruptions = 0;
      run.not_before = at(number(10));
      run.reason = model::reason::retried;
      run.error = "";
      return {model::RunRestarted{run, "host/2", at(number(10))}};
    }
  }
}

/// Every delivery is where its run is, one a trigger and event.
void check_laws(const Model& model, const std::vector<model::Delivery>& deliveries) {
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (const auto& d : deliveries) {
    RC_ASSERT(seen.insert({d.trigger, d.event}).second);
    if (d.state == DeliveryState::pending) {
      RC_ASSERT(d.run_id.empty() && !d.claimed_at && !d.finished_at);
    } else if (d.state != DeliveryState::skipped) {
      const auto run = model.runs.find(d.run_id);
      RC_ASSERT(run != model.runs.end());
      RC_ASSERT(d.attempts == run->second.attempt);
      const RunState state = run->second.state;
      RC_ASSERT((d.state == DeliveryState::claimed) == !model::is_terminal(state));
      RC_ASSERT((d.state == DeliveryState::delivered) == (state == RunState::succeeded));
    }
  }
}

/// What the writer says of a trigger is what the list says of it.
void check_queries(Store& store, const std::string& trigger, const std::vector<model::Delivery>& newest_first) {
  std::vector<model::Delivery> pending;
  std::vector<model::Delivery> failed;
  std::map<std::string, std::int64_t> of_partition;
  for (auto one = newest_first.rbegin(); one != newest_first.rend(); ++one) {
    if (one->trigger != trigger) continue;
    if (one->state == DeliveryState::failed) failed.push_back(*one);
    if (one->state != DeliveryState::pending) continue;
    pending.push_back(*one);
    ++of_partition[one->partition];
  }
  RC_ASSERT(store.pending(trigger, std::nullopt, 1000).value() == pending);
  const auto first = store.first_failed(trigger).value();
  RC_ASSERT(first.has_value() == !failed.empty());
  if (first) RC_ASSERT(*first == failed.front());
  for (const auto& [partition, count] : of_partition) {
    const auto found = store.pending(trigger, partition, 1000).value();
    RC_ASSERT(static_cast<std::int64_t>(found.size()) == count);
    for (const auto& one : found) RC_ASSERT(one.partition == partition);
  }
  const auto groups = store.pending_groups(trigger).value();
  for (const auto& group : groups) of_partition[group.partition] -= group.count;
  for (const auto& [partition, left] : of_partition) RC_ASSERT(left == 0);
}

void compare_data(Store& store, Reader& reader, const Model& model) {
  std::map<std::string, model::Materialization> events;
  const auto listed_events = reader.materializations({}, 1000, "").value().items;
  for (const auto& one : listed_events) events[one.id] = one;
  RC_ASSERT(events == model.events);
  const auto listed = reader.deliveries({}, 1000, "").value().items;
  check_laws(model, listed);
  for (const auto& trigger : triggers) check_queries(store, trigger, listed);
  std::map<std::string, model::Delivery> deliveries;
  std::map<std::string, std::int64_t> pending;
  for (auto one : listed) {
    if (one.state == DeliveryState::pending) ++pending[one.trigger];
    RC_ASSERT(one.event_run_id == model.events.at(one.event_id).run_id);
    one.attempts = 0;
    one.event_run_id.clear();
    deliveries[one.id] = one;
  }
  RC_ASSERT(deliveries == model.deliveries);
  const auto open = store.load_open().value().data;
  RC_ASSERT(std::map(open.pending.begin(), open.pending.end()) == pending);
  std::map<std::string, model::TriggerCursor> cursors;
  for (const auto& one : open.triggers) cursors[one.trigger] = one;
  RC_ASSERT(cursors == model.triggers);
}

void compare(Store& store, Reader& reader, const Model& model) {
  std::map<std::string, model::Run> runs;
  const auto listed = reader.runs({}, 1000, "").value().items;
  for (const auto& run : listed) runs[run.id] = run;
  RC_ASSERT(runs == model.runs);
  std::vector<model::Attempt> live;
  for (const auto& [id, run] : model.runs) {
    std::vector<model::Attempt> expected;
    for (const auto& [key, attempt] : model.attempts) {
      if (key.first == id) expected.push_back(attempt);
    }
    RC_ASSERT(reader.attempts(id).value() == expected);
    // I3: live is the newest attempt of a running run, and no other.
    for (const auto& attempt : expected) {
      RC_ASSERT(attempt.outcome.has_value() != (run.state == RunState::running && attempt.number == run.attempt));
    }
  }
  std::map<std::string, model::Run> open_runs;
  const auto open_state = store.load_open().value();
  for (const auto& run : open_state.runs) open_runs[run.id] = run;
  std::erase_if(runs, [](const auto& entry) { return model::is_terminal(entry.second.state); });
  RC_ASSERT(open_runs == runs);
  std::map<std::string, model::Cursor> cursors;
  for (const auto& cursor : open_state.cursors) cursors[cursor.schedule] = cursor;
  RC_ASSERT(cursors == model.cursors);
  std::map<std::pair<std::string, Instant>, model::Occurrence> occurrences;
  const auto decided = reader.occurrences({}, 1000, "").value().items;
  for (const auto& one : decided) occurrences[{one.schedule, one.scheduled_for}] = one;
  RC_ASSERT(occurrences == model.occurrences);
}

TEST(RandomTest, EveryBackendAgreesWithTheModel) {
  for (const Backend& backend : backends()) {
    const bool held = rc::check(backend.name, [&] {
      TempFolder folder;
      auto store = backend.open(folder.file("state.db")).value();
      Model model;
      for (int turns = 1 + number(12); turns > 0; --turns) {
        RC_ASSERT(store->begin().ok());
        Model next = model;
        for (int sets = number(16); sets > 0; --sets) {
          model::ChangeSet set;
          for (int changes = number(3) == 0 ? number(4) : 1; changes > 0; --changes) {
            if (number(2) == 0) {
              set.push_back(random_change(next));
            } else {
              for (auto& change : random_data_set(next)) set.push_back(std::move(change));
            }
          }
          RC_ASSERT(store->apply(set).value() == apply_set(next, set));
        }
        if (number(5) == 0) {
          store->rollback();
        } else {
          RC_ASSERT(store->commit().ok());
          model = std::move(next);
        }
        if (number(6) == 0) {
          store.reset();
          store = backend.open(folder.file("state.db")).value();
        }
      }
      auto reader = store->reader().value();
      compare(*store, *reader, model);
      compare_data(*store, *reader, model);
    });
    EXPECT_TRUE(held);
  }
}

}  // namespace
}  // namespace eider::store::conformance
