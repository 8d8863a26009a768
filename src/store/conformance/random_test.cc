// The law: for any sequence of sets, the store holds what a simple model in memory holds, and says the same of each
// set, also when it is closed and opened in between.
#include <rapidcheck/gtest.h>

#include "store/conformance/fixture.h"

namespace eider::store::conformance {
namespace {

using model::RunEvent;
using model::RunState;

/// Maps in memory, driven by model::next. Each function answers as Store::apply must.
struct Model {
  std::map<std::string, model::Run> runs;
  std::map<std::pair<std::string, int>, model::Attempt> attempts;
  std::map<std::string, model::Cursor> cursors;
  std::map<std::pair<std::string, Instant>, model::Occurrence> occurrences;

  bool apply(const model::CursorPlaced& c) {
    cursors[c.cursor.schedule] = c.cursor;
    return true;
  }
  bool apply(const model::OccurrencesDecided& c) {
    const auto cursor = cursors.find(c.schedule);
    if (cursor == cursors.end() || cursor->second.decided_until != c.expected_decided_until) return false;
    cursor->second.decided_until = c.decided_until;
    for (const auto& o : c.occurrences) {
      const bool is_new = occurrences.try_emplace({o.schedule, o.scheduled_for}, o).second;
      if (!is_new && o.decision == model::Decision::run) return false;
    }
    return true;
  }
  bool apply(const model::CursorWithdrawn& c) {
    if (!cursors.contains(c.schedule)) return false;
    cursors[c.schedule].decided_until = c.to;
    std::erase_if(occurrences, [&](const auto& entry) {
      const model::Occurrence& o = entry.second;
      return o.schedule == c.schedule && o.decision != model::Decision::run && o.scheduled_until > c.to;
    });
    return true;
  }
  bool apply(const model::RunQueued& c) {
    for (const auto& [id, run] : runs) {
      if (id == c.run.id) return false;
      if (!run.occurrence_id.empty() && run.occurrence_id == c.run.occurrence_id) return false;
      if (!run.idempotency_key.empty() && run.idempotency_key == c.run.idempotency_key) return false;
    }
    runs[c.run.id] = c.run;
    return true;
  }
  bool apply(const model::RunClaimed& c) {
    const auto run = runs.find(c.run_id);
    if (run == runs.end() || run->second.attempt != c.number - 1) return false;
    const auto transition = model::next(run->second.state, RunEvent::claim);
    if (!transition) return false;
    run->second.state = transition->to;
    run->second.attempt = c.number;
    run->second.definition = c.definition;
    if (!run->second.started_at) run->second.started_at = c.at;
    model::Attempt& attempt = attempts[{c.run_id, c.number}];
    attempt.run_id = c.run_id;
    attempt.number = c.number;
    attempt.claimed_at = c.at;
    attempt.definition = c.definition;
    attempt.taken = c.taken;
    return true;
  }
  bool apply(const model::AttemptEnded& c) {
    const auto run = runs.find(c.attempt.run_id);
    if (run == runs.end() || run->second.state != RunState::running || run->second.attempt != c.attempt.number)
      return false;
    const auto transition = model::next(RunState::running, c.event);
    if (!transition || !transition->closes_attempt) return false;
    model::Run& r = run->second;
    r.state = transition->to;
    r.failures += transition->counts_failure ? 1 : 0;
    r.interruptions += transition->counts_interruption ? 1 : 0;
    if (transition->sets_finished) r.finished_at = c.at;
    r.not_before = c.not_before;
    r.reason = c.reason;
    r.error = c.error;
    model::Attempt& attempt = attempts[{c.attempt.run_id, c.attempt.number}];
    attempt.outcome = c.attempt.outcome;
    attempt.finished_at = c.attempt.finished_at;
    return true;
  }
  bool apply(const model::CancelAsked& c) {
    const auto run = runs.find(c.run_id);
    if (run == runs.end() || run->second.state != RunState::running || run->second.cancel_asked_at) return false;
    run->second.cancel_asked_at = c.at;
    run->second.reason = c.reason;
    return true;
  }
  bool apply(const model::QueuedCancelled& c) {
    const auto run = runs.find(c.run_id);
    if (run == runs.end() || run->second.state != RunState::queued) return false;
    run->second.state = model::next(RunState::queued, RunEvent::cancel)->to;
    run->second.finished_at = c.at;
    run->second.reason = c.reason;
    run->second.error = c.error;
    return true;
  }
  template <typename Other>
  bool apply(const Other&) {
    ADD_FAILURE() << "no such change is made here";
    return false;
  }
};

bool apply_set(Model& model, const model::ChangeSet& set) {
  Model copy = model;
  for (const auto& change : set) {
    if (!std::visit([&](const auto& one) { return copy.apply(one); }, change)) return false;
  }
  model = std::move(copy);
  return true;
}

int number(int below) { return *rc::gen::inRange(0, below); }

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

model::Change random_change() {
  const int n = number(6);
  switch (number(9)) {
    case 0:
      return placed(number(2) == 0 ? "a/x" : "a/y", at(number(6)));
    case 1:
      return random_decision();
    case 2:
      return model::CursorWithdrawn{number(2) == 0 ? "a/x" : "a/y", at(number(6))};
    case 3: {
      auto run = queued_run(n, fmt::format("p{}", number(2)));
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
      return claim(n, 1 + number(3), at(number(10)));
    case 6: {
      auto end = ended(n, 1 + number(3), model::all_run_events[number(8)], static_cast<model::Outcome>(number(7)));
      end.not_before = at(number(10));
      return end;
    }
    case 7:
      return model::CancelAsked{run_id(n), "Requested", at(number(10))};
    default:
      return model::QueuedCancelled{run_id(n), "Expired", "waited", at(number(10))};
  }
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
      for (int turns = 1 + number(8); turns > 0; --turns) {
        RC_ASSERT(store->begin().ok());
        Model next = model;
        for (int sets = number(8); sets > 0; --sets) {
          model::ChangeSet set;
          for (int changes = number(4); changes > 0; --changes) set.push_back(random_change());
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
    });
    EXPECT_TRUE(held);
  }
}

}  // namespace
}  // namespace eider::store::conformance
