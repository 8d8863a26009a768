#include "engine/loop.h"

#include <fmt/format.h>

#include "base/fault.h"
#include "base/log.h"
#include "decide/recovery.h"
#include "engine/limits.h"
#include "engine/turn.h"

namespace eider::engine {

Loop::Loop(LoopParts parts, LoopOptions options)
    : parts_(std::move(parts)), options_(std::move(options)), ids_(parts_.random), started_at_(parts_.clock.now()) {}

Loop::~Loop() = default;

Loop::Next Loop::turn() {
  take_inputs();
  const Instant now = parts_.clock.now();
  if (!nothing_to_do(now)) decide_and_commit(now);
  if (draining_) drain();
  settle_questions();
  return next_wake(parts_.clock.now());
}

void Loop::decide_and_commit(Instant now) {
  Turn turn(*this, now);
  if (auto begun = parts_.store.begin(); !begun) return note_trouble(begun.error().message);
  decide_all(turn);
  if (!turn.committed_.empty()) fault::point("turn.before_commit");
  if (turn.failed()) {
    parts_.store.rollback();
    reload_memory(turn.failure().message);
  } else if (auto committed = parts_.store.commit(); !committed && !holds_all_the_same(turn)) {
    reload_memory(committed.error().message);
  } else {
    if (!committed) log::warning("a commit holds, although it was answered with: " + committed.error().message);
    settle(turn);
  }
}

void Loop::decide_all(Turn& turn) {
  if (out_of_order_) put_in_order(turn);  // before anything asks for a cursor that is gone
  notice_clock(turn);
  decide_published(turn);
  decide_results(turn);
  decide_commands(turn);
  if (!draining_ && options_.schedules) decide_due(turn);
  decide_expired(turn);
  replay_events(turn);
  if (!draining_ && options_.schedules) decide_triggers(turn);
  if (!draining_) admit(turn);
}

/// What the workspace in force and the clock ask of the store, whatever the store has said before.
void Loop::put_in_order(Turn& turn) {
  if (options_.schedules) place_cursors(turn);
  place_triggers(turn);
  // A cursor in the future: the clock was set back while no server ran, while the schedule was away, or by a turn that
  // did not hold.
  withdraw_future(turn);
  sweep_removed(turn);
}

/// Events become pending decisions; what only informs (a step started, progress) is noted at once.
void Loop::take_inputs() {
  take_refused();
  for (supervise::WorkerEvent& event : parts_.workers.take_events()) {
    if (auto* over = std::get_if<supervise::AttemptOver>(&event)) {
      results_.push_back(std::move(*over));
    } else if (auto* published = std::get_if<supervise::AttemptPublished>(&event)) {
      published_.push_back(std::move(published->published));
    } else {
      watch_step(event);
    }
  }
  for (Command& command : parts_.inbox.take()) {
    if (const auto* clock = std::get_if<TurnClock>(&command)) turn_clock(*clock);
    if (const auto* wish = std::get_if<Stop>(&command)) {
      stop(*wish);
      continue;
    }
    (is_question(command) ? questions_ : commands_).push_back(std::move(command));
  }
}

bool Loop::nothing_to_do(Instant now) const {
  if (!results_.empty() || !published_.empty() || !commands_.empty() || out_of_order_ || clock_stepped_back()) {
    return false;
  }
  if (state_.queue().has_work() && !draining_ && !starts_are_held()) return false;
  return !is_due(now);
}

bool Loop::is_due(Instant now) const {
  const Subscriptions& subscriptions = state_.subscriptions();
  if (replay_is_due()) return true;
  if (const auto look = subscriptions.first_look(); options_.schedules && !draining_ && look && look->first <= now) {
    return true;
  }
  if (const auto due = state_.first_due(); options_.schedules && due && due->first <= now) return true;
  for (const auto& ready : {state_.first_backoff(), state_.first_rate()}) {
    if (ready && !draining_ && *ready <= now) return true;
  }
  const auto expiry = state_.first_expiry();
  return expiry && expiry->first <= now;
}

/// The commit holds: now, and only now, the world is told.
void Loop::settle(Turn& turn) {
  const Instant committed_at = parts_.clock.now();
  if (!trouble_.empty()) {
    log::info("the store is written again: " + trouble_);
    trouble_.clear();
  }
  out_of_order_ = false;
  note_refusals(turn);
  if (!turn.committed_.empty()) fault::point("turn.after_commit");
  results_.clear();
  published_.clear();
  commands_ = std::exchange(postponed_, {});
  for (const auto& action : turn.after_) action();
  if (!turn.committed_.empty()) fault::point("turn.after_hand_off");
  for (const model::ChangeSet& set : turn.committed_) {
    for (const model::Change& change : set) {
      if (const auto* gone = std::get_if<model::QueuedCancelled>(&change)) released_since_.erase(gone->run_id);
    }
    if (parts_.observe) parts_.observe(set, committed_at);
  }
}

void Loop::settle_questions() {
  for (Command& question : std::exchange(questions_, {})) answer(question);
}

void Loop::note_trouble(const std::string& why) {
  if (trouble_.empty()) {
    trouble_since_ = parts_.clock.now();
    log::warning(fmt::format("the store cannot be written, decisions wait: {}", why));
  }
  trouble_ = why;
}

/// Nothing of the turn was committed: memory is what the store says, and the inputs are decided again later.
void Loop::reload_memory(const std::string& why) {
  note_trouble(why);
  postponed_.clear();
  auto open = parts_.store.load_open();
  if (!open) {
    // Reading needs no lock; that it fails as well means that the store is gone. Nothing can be decided on a guess.
    EIDER_CHECK(false, "the store cannot be read: " + open.error().message);
  }
  state_.load(std::move(*open), parts_.clock.now());
  if (auto loaded = load_starts(); !loaded) {
    EIDER_CHECK(false, "the store cannot be read: " + loaded.error().message);
  }
  out_of_order_ = true;
}

Loop::Next Loop::next_wake(Instant now) const {
  Next next;
  if (!trouble_.empty()) {
    // What ends meanwhile leaves its result; the next server picks it up.
    next.ended = draining_ && leave_running_;
    next.retry_in = limits::store_retry;
    return next;
  }
  next.ended = draining_ && (leave_running_ || state_.live().empty()) && results_.empty() && published_.empty() &&
               commands_.empty();
  const auto sooner = [&](const std::optional<Instant>& at) {
    if (at && (!next.wake_at || *at < *next.wake_at)) next.wake_at = at;
  };
  if (const auto due = state_.first_due(); due && options_.schedules && !draining_) sooner(due->first);
  if (!draining_) sooner(state_.first_backoff());  // nothing starts any more
  if (!draining_) sooner(state_.first_rate());
  const Subscriptions& subscriptions = state_.subscriptions();
  if (replay_is_due()) sooner(now);
  if (const auto look = subscriptions.first_look(); look && options_.schedules && !draining_) sooner(look->first);
  if (const auto expiry = state_.first_expiry()) sooner(expiry->first);
  const bool may_start = state_.queue().has_work() && !draining_;
  if (!commands_.empty() || (may_start && !starts_are_held())) sooner(now);
  // What waits on the boot clock: the first of it.
  const auto look_at = [&](Micros boottime) {
    const Micros in = std::max(Micros(0), boottime - parts_.clock.boottime());
    next.retry_in = std::min(in, next.retry_in.value_or(in));
  };
  if (may_start && starts_are_held()) look_at(starts_held_until_);
  if (refused_.again_at) look_at(*refused_.again_at);
  if (draining_ && drain_until_ && !interrupted_) look_at(*drain_until_);
  return next;
}

bool Loop::clock_stepped_back() const {
  const std::int64_t offset_us = to_us(parts_.clock.now()) - parts_.clock.boottime().count();
  return wall_minus_boot_us_ - offset_us > limits::clock_step.count();
}

/// The wall clock against the boot clock. A step back moves cursors back to now and withdraws decisions of the future
/// that ran nothing (O-05); a step forward is a misfire and needs nothing here.
void Loop::notice_clock(Turn& turn) {
  const std::int64_t offset_us = to_us(parts_.clock.now()) - parts_.clock.boottime().count();
  const Micros back(wall_minus_boot_us_ - offset_us);
  if (back > limits::clock_step) {
    log::warning(fmt::format("the clock was set back by {}", format_duration(back)));
    state_.shift_backoffs(back);
    state_.subscriptions().look_at_all();
    withdraw_future(turn);
  }
  wall_minus_boot_us_ = offset_us;
}

Result<void> Loop::boot(std::shared_ptr<const workspace::Workspace> workspace) {
  const Instant now = parts_.clock.now();
  wall_minus_boot_us_ = to_us(now) - parts_.clock.boottime().count();
  auto open = parts_.store.load_open();
  if (!open) return open.error();
  state_.set_workspace(std::move(workspace));
  state_.load(std::move(*open), now);
  if (auto loaded = load_starts(); !loaded) return loaded;
  if (auto begun = parts_.store.begin(); !begun) return begun.error();
  Turn turn(*this, now);
  put_in_order(turn);
  if (turn.failed()) {
    parts_.store.rollback();
    return turn.failure();
  }
  fault::point("boot.before_commit");
  if (auto committed = parts_.store.commit(); !committed) return committed.error();
  settle(turn);
  fault::point("boot.after_commit");
  recover();
  return {};
}

void Loop::recover() {
  for (const auto& [id, attempt] : state_.live()) {
    const supervise::AttemptTraces traces = parts_.workers.inspect(id, attempt.number);
    const auto action = decide::recover({traces.result_there, traces.socket_answers, traces.lock_held});
    log::info(fmt::format("run {} (attempt {}) {}", id, attempt.number, decide::sentence(action)));
    switch (action) {
      case decide::RecoveryAction::adopt:
        parts_.workers.adopt(id, attempt.number);
        break;
      case decide::RecoveryAction::finish:
        parts_.workers.finish_from_result(id, attempt.number);
        break;
      case decide::RecoveryAction::end_left_overs:
        parts_.workers.end_left_overs(id, attempt.number);
        break;
    }
    const model::Run* run = state_.run(id);
    if (run && run->cancel_asked_at) parts_.workers.cancel(id, attempt.number, cancel_text(run->reason));
    fault::point("boot.after_attempt");
  }
}

bool Turn::decide_surely(model::ChangeSet changes) {
  if (changes.empty()) return true;
  if (decide(std::move(changes))) return true;
  if (!own_error_) {
    fail(Error{ErrorCode::conflict, "it is not as this server has written it: somebody else writes it as well"});
  }
  return false;
}

void Turn::fail(const Error& why) {
  if (failed_) return;
  failed_ = true;
  failure_ = why;
}

bool Turn::full() const { return decisions() >= limits::decisions_per_turn; }

bool Turn::decide(model::ChangeSet changes) {
  own_error_.reset();
  if (failed_ || changes.empty()) return false;
  auto applied = loop_.parts_.store.apply(changes);
  if (!applied) {
    const Error& error = applied.error();
    if (error.code != ErrorCode::conflict) {
      failed_ = true;
      failure_ = error;
    } else {
      own_error_ = error;
      log::error("a decision could not be stored: " + error.message);
    }
    return false;
  }
  if (!*applied) return false;
  loop_.state_.apply(changes);
  committed_.push_back(std::move(changes));
  fault::point("turn.after_change");
  return true;
}

}  // namespace eider::engine
