#include "sim/world.h"

#include <fmt/format.h>

#include "model/asset.h"

namespace eider::sim {

using namespace std::chrono_literals;
using model::Outcome;

Execution* World::find(const std::string& run_id, int attempt) {
  const auto found = executions_.find({run_id, attempt});
  return found == executions_.end() ? nullptr : &found->second;
}

const Execution* World::execution(const std::string& run_id, int attempt) const {
  const auto found = executions_.find({run_id, attempt});
  return found == executions_.end() ? nullptr : &found->second;
}

void World::hand_off(supervise::HandOff job) {
  faults_.step();
  // Handed off before its commit already.
  if (mutation_ == Mutation::hand_off_early && execution(job.run_id, job.attempt)) return;
  if (mutation_ == Mutation::lost_hand_off && ++told_ % 11 == 0) return;
  check_kept(job);
  start(job.run_id, job.attempt, job.timeout, std::move(job.kept));
}

void World::start(const std::string& run_id, int attempt, Micros timeout, std::vector<wire::StepResult> kept) {
  ledger_->handed_off(run_id, attempt);
  for (auto at = executions_.lower_bound({run_id, 0}); at != executions_.end() && at->first.first == run_id; ++at) {
    if (at->second.alive) {
      ledger_->violated(
          "I3", fmt::format("attempt {} of {} begins while attempt {} is alive", attempt, run_id, at->second.attempt));
    }
  }
  ++count_;
  Execution execution;
  execution.run_id = run_id;
  execution.attempt = attempt;
  execution.pipeline = ledger_->pipeline_of(run_id);
  execution.kept = std::move(kept);
  execution.mine = true;
  auto [placed, fresh] = executions_.emplace(std::pair(run_id, attempt), std::move(execution));
  if (!fresh) return ledger_->violated("I3", fmt::format("attempt {} of {} is handed off twice", attempt, run_id));
  draw_fate(placed->second, timeout);
}

void World::draw_fate(Execution& execution, Micros timeout) {
  Dice dice(mixed(mixed(seed_, execution.pipeline), static_cast<std::uint64_t>(++starts_[execution.pipeline])));
  const bool lacks_all = lacks();
  const bool lacks_one = dice.one_in(50) && !calm_;
  execution.obeys = !dice.one_in(4);
  execution.outlives_server = !dice.one_in(3);
  execution.answers_twice = dice.one_in(8);
  execution.lies = dice.one_in(8);
  const Micros takes = calm_             ? dice.within(1ms, 500ms)
                       : dice.one_in(12) ? dice.within(1min, 30min)
                       : dice.one_in(2)  ? dice.within(1ms, 900ms)
                                         : dice.within(1s, 70s);
  // What its program, or where that did not end its worker, says at the end.
  if (dice.one_in(4)) {
    execution.signal = 11;
  } else {
    execution.exit_code = dice.one_of({1, 64, 64, 0});
  }
  if (lacks_all || lacks_one) {
    execution.alive = false;
    execution.never_ran = true;
    if (lacks_all) lacked_last_ = clock_.boottime();
    return tell(execution);
  }
  const int fate = calm_ ? 100 : dice.below(100);
  later(timeout, execution, What::times_out);
  if (fate < 3) return;  // hangs
  later(std::min(takes, timeout), execution,
        fate < 8    ? What::dies
        : fate < 20 ? What::fails
        : fate < 22 ? What::is_told_to_go
        : fate < 24 ? What::meets_held_file
                    : What::ends_well);
}

void World::later(Micros in, const Execution& who, What what) {
  happenings_.insert({clock_.boottime() + in, ++order_, {who.run_id, who.attempt}, what});
}

std::optional<Micros> World::next_at() const {
  if (happenings_.empty()) return std::nullopt;
  return happenings_.begin()->at;
}

void World::happen() {
  while (!happenings_.empty() && happenings_.begin()->at <= clock_.boottime()) {
    const Happening now = *happenings_.begin();
    happenings_.erase(happenings_.begin());
    if (Execution* execution = find(now.who.first, now.who.second)) end(*execution, now.what);
  }
}

void World::end(Execution& execution, What what) {
  if (what == What::left_overs_gone) {
    execution.alive = false;
    execution.with_server = !execution.result;
    execution.never_ran = false;
    return tell(execution);
  }
  if (!execution.alive) return;
  if (what == What::killed_by_server && !execution.asked_to_end) return;  // that server is gone
  execution.alive = mutation_ == Mutation::reported_too_early && what == What::fails;
  if (what == What::killed || what == What::killed_by_server) execution.signal = 9;
  execution.by_timeout = what == What::times_out && !execution.obeys;
  leave_result(execution, what);
  if (what != What::meets_held_file) do_steps(execution, what == What::ends_well);
  if (execution.mine) tell(execution);
}

/// One that dies leaves none.
void World::leave_result(Execution& execution, What what) {
  static const std::map<What, Outcome> outcomes = {
      {What::ends_well, Outcome::succeeded},      {What::fails, Outcome::failed},
      {What::times_out, Outcome::timed_out},      {What::is_told_to_go, Outcome::interrupted},
      {What::meets_held_file, Outcome::released}, {What::cancelled, Outcome::cancelled}};
  const auto outcome = outcomes.find(what);
  if (outcome == outcomes.end() || execution.by_timeout) return;
  wire::AttemptResult& result = execution.result.emplace();
  result.run_id = execution.run_id;
  result.attempt = execution.attempt;
  result.outcome = outcome->second;
  result.finished_at = clock_.now();
  if (what == What::meets_held_file) {
    result.file_held = wire::FileHeld{"house.duckdb", 4711};
    return;
  }
  if (mixed(seed_, execution.run_id) % 5 > 0) result.started_at = clock_.now();
  if (what != What::ends_well) {
    result.error = "as its fate says";
    result.exit_code = execution.exit_code;
    result.signal = execution.signal;
    return;
  }
  for (const std::string& asset : ledger_->assets_of(execution.pipeline)) {
    wire::Publication one;
    one.asset = asset;
    one.fingerprint = std::to_string(mixed(seed_, execution.run_id) % 3);
    result.publications.push_back(std::move(one));
  }
}

void World::tell(Execution& execution) {
  supervise::AttemptOver over;
  over.run_id = execution.run_id;
  over.attempt = execution.attempt;
  over.result = execution.result;
  over.with_server = execution.with_server;
  over.not_started = execution.never_ran;
  over.others_too = execution.others_too = execution.never_ran && lacks();
  over.by_timeout = execution.by_timeout;
  if (!execution.result && !execution.never_ran && !execution.with_server) {
    over.signal = execution.signal;
    over.exit_code = execution.exit_code;
  }
  if (execution.never_ran) over.error = "the machine lacks something";
  execution.told = true;
  if (mutation_ == Mutation::lost_result && ++told_ % 13 == 0) return;
  outbox_.emplace_back(over);
  if (execution.answers_twice) outbox_.emplace_back(over);
  if (execution.lies) {
    over.attempt += 1;  // of an attempt that nobody has begun
    outbox_.emplace_back(over);
    over.run_id = "0";
    outbox_.emplace_back(over);
  }
  reported_.emplace_back(execution.run_id, execution.attempt);
  if (reported_.size() > 50) reported_.erase(reported_.begin());
}

/// Somebody says once more that an attempt succeeded which was over long ago; of a run that is at work again if there
/// is one.
void World::tell_old_result(std::uint64_t choice) {
  if (reported_.empty()) return;
  auto who = reported_[choice % reported_.size()];
  for (const auto& one : reported_) {
    if (ledger_->live_attempt(one.first) > one.second) who = one;
  }
  if (ledger_->live_attempt(who.first) == who.second) return;  // nobody lies about what is going on
  supervise::AttemptOver over;
  over.run_id = who.first;
  over.attempt = who.second;
  over.result.emplace();
  over.result->run_id = who.first;
  over.result->attempt = who.second;
  over.result->outcome = Outcome::succeeded;
  outbox_.emplace_back(std::move(over));
}

void World::cancel(const std::string& run_id, int attempt, const std::string&) {
  faults_.step();
  Execution* execution = find(run_id, attempt);
  if (!execution || !execution->alive || !execution->mine) return;
  execution->asked_to_end = true;
  Dice dice(mixed(mixed(seed_, run_id), static_cast<std::uint64_t>(attempt)));
  if (execution->obeys) {
    later(dice.within(1ms, 2s), *execution, What::cancelled);
  } else {
    later(10s, *execution, What::killed_by_server);
  }
}

supervise::AttemptTraces World::inspect(const std::string& run_id, int attempt) {
  faults_.step();
  const Execution* execution = find(run_id, attempt);
  if (!execution) return {};
  // One that lives and hangs does not answer.
  return {execution->result.has_value(), execution->alive && execution->obeys, execution->alive};
}

void World::finish_from_result(const std::string& run_id, int attempt) {
  Execution* execution = find(run_id, attempt);
  execution->mine = true;
  later(1ms, *execution, What::left_overs_gone);
}

void World::adopt(const std::string& run_id, int attempt) { find(run_id, attempt)->mine = true; }

void World::end_left_overs(const std::string& run_id, int attempt) {
  const bool known = find(run_id, attempt) != nullptr;
  Execution& execution = executions_[{run_id, attempt}];
  if (!known) {  // its claim was committed, and nobody came to hand it off
    execution.run_id = run_id;
    execution.attempt = attempt;
    execution.pipeline = ledger_->pipeline_of(run_id);
    execution.alive = false;
  }
  execution.mine = true;
  later(execution.alive ? 1500ms : 1ms, execution, What::left_overs_gone);
}

void World::forget(const std::string& run_id, int attempt) {
  faults_.step();
  ledger_->forgotten(run_id, attempt);
  // What the store had refused to record was decided once more, and starts have waited anew since.
  if (const Execution* execution = find(run_id, attempt); execution && execution->others_too) {
    lacked_last_ = clock_.boottime();
  }
  executions_.erase({run_id, attempt});
}

std::vector<supervise::WorkerEvent> World::take_events() {
  faults_.step();
  auto events = std::exchange(outbox_, {});
  for (const supervise::WorkerEvent& event : events) {
    // Who hears of it late, because the machine slept, waits as if it lacked it now.
    const auto* over = std::get_if<supervise::AttemptOver>(&event);
    if (over && over->others_too) lacked_last_ = clock_.boottime();
  }
  if (mutation_ != Mutation::drop_fence) return events;
  for (supervise::WorkerEvent& event : events) {
    auto* over = std::get_if<supervise::AttemptOver>(&event);
    if (over && ledger_->live_attempt(over->run_id) > over->attempt)
      over->attempt = ledger_->live_attempt(over->run_id);
  }
  return events;
}

void World::server_left() {
  outbox_.clear();
  for (auto& [who, execution] : executions_) execution.mine = execution.told = execution.asked_to_end = false;
}

void World::server_died() {
  server_left();
  for (auto& [who, execution] : executions_) {
    if (!execution.alive || execution.outlives_server) continue;
    execution.alive = false;  // without a result
  }
}

void World::kill_some(std::uint64_t choice, int signal) {
  std::vector<Execution*> alive;
  for (auto& [who, execution] : executions_) {
    if (execution.alive) alive.push_back(&execution);
  }
  if (alive.empty()) return;
  end(*alive[choice % alive.size()], signal == 9 ? What::killed : What::dies);
}

void World::calm_down() {
  calm_ = true;
  lacks_until_ = Micros(-1);
  for (auto& [who, execution] : executions_) {
    if (execution.alive) later(100ms, execution, What::ends_well);
  }
}

}  // namespace eider::sim
