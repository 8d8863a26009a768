// What workers say: an attempt's end becomes the run's next state, fenced by the attempt's number.
#include <fmt/format.h>

#include "base/log.h"
#include "decide/due.h"
#include "decide/retry.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

/// The policy that counts when the pipeline is no longer in the workspace: no second attempt.
const model::RetryPolicy no_retry;

std::string death_sentence(const supervise::AttemptOver& over) {
  if (!over.error.empty()) return over.error;
  if (over.by_timeout) return "it ran longer than its timeout and did not end by itself; its worker was killed";
  if (over.with_server) return "the server and this attempt's processes ended before it was done";
  std::string text = over.signal      ? fmt::format("the worker process was killed by signal {}", *over.signal)
                     : over.exit_code ? fmt::format("the worker process ended with exit code {}", *over.exit_code)
                                      : std::string("the worker process is gone");
  if (over.signal == 9) text += " (a person, or the kernel when memory ran out)";
  if (over.peak_memory_bytes)
    text += fmt::format("; its peak memory was {} MiB", *over.peak_memory_bytes / (1024 * 1024));
  return text;
}

/// `seen`: what its steps have told this server.
model::Attempt attempt_row(const supervise::AttemptOver& over, const model::Attempt& live, const LiveRun* seen,
                           Instant now) {
  model::Attempt attempt = live;
  attempt.finished_at = now;
  if (over.result) {
    const wire::AttemptResult& result = *over.result;
    attempt.started_at = result.started_at;
    // With a worker's own clock an attempt may seem to end before it was claimed; history never says so.
    attempt.finished_at = std::clamp(result.finished_at, live.claimed_at, std::max(now, live.claimed_at));
    attempt.outcome = result.outcome;
    attempt.worker_pid = result.worker_pid;
    attempt.exit_code = result.exit_code;
    attempt.signal = result.signal;
    attempt.peak_memory_bytes = result.peak_memory_bytes;
    attempt.error = result.error;
    attempt.steps = wire::steps_json(result.steps);
    return attempt;
  }
  attempt.outcome = over.not_started   ? model::Outcome::released
                    : over.with_server ? model::Outcome::interrupted
                    : over.by_timeout  ? model::Outcome::timed_out
                                       : model::Outcome::crashed;
  attempt.worker_pid = over.worker_pid;
  attempt.exit_code = over.exit_code;
  attempt.signal = over.signal;
  attempt.peak_memory_bytes = over.peak_memory_bytes;
  attempt.error = death_sentence(over);
  if (seen && !seen->steps.empty()) attempt.steps = wire::steps_json(seen->steps);
  return attempt;
}

decide::AttemptEndFacts end_facts(const model::Run& run, const model::Attempt& attempt,
                                  const workspace::LoadedPipeline* loaded) {
  decide::AttemptEndFacts facts{*attempt.outcome, run.cancel_asked_at.has_value(), run.failures, run.interruptions, {}};
  facts.exit_code = attempt.exit_code;
  facts.by_signal = attempt.signal.has_value();
  if (loaded) facts.on_interrupt = loaded->pipeline->on_interrupt;
  return facts;
}

std::string end_reason(const decide::AttemptEndVerdict& verdict, const model::Run& run,
                       const supervise::AttemptOver& over) {
  if (verdict.event == model::RunEvent::release) {
    return over.result && over.result->file_held ? model::reason::file_held : model::reason::not_started;
  }
  return verdict.reason.empty() && verdict.event == model::RunEvent::cancel ? run.reason : verdict.reason;
}

}  // namespace

void Loop::watch_step(const supervise::WorkerEvent& event) {
  const auto view_of = [this](const std::string& run_id, int attempt) -> LiveRun* {
    const auto live = state_.live().find(run_id);
    if (live == state_.live().end() || live->second.number != attempt) return nullptr;
    LiveRun& view = live_[run_id];
    view.run_id = run_id;
    return &view;
  };
  if (const auto* started = std::get_if<supervise::AttemptStepStarted>(&event)) {
    if (LiveRun* view = view_of(started->step.run_id, started->step.attempt)) {
      view->worker_pid = started->worker_pid;
      view->running.push_back(started->step);
    }
  } else if (const auto* progress = std::get_if<supervise::AttemptProgress>(&event)) {
    if (LiveRun* view = view_of(progress->progress.run_id, progress->progress.attempt)) {
      view->progress[progress->progress.step] = progress->progress.fraction;
    }
  } else if (const auto* ended = std::get_if<supervise::AttemptStepEnded>(&event)) {
    if (LiveRun* view = view_of(ended->step.run_id, ended->step.attempt)) {
      std::erase_if(view->running, [&](const wire::StepStarted& step) { return step.step == ended->step.result.step; });
      view->progress.erase(ended->step.result.step);
      view->steps.push_back(ended->step.result);
    }
  } else if (const auto* adopted = std::get_if<supervise::AttemptAdopted>(&event)) {
    if (LiveRun* view = view_of(adopted->state.run_id, adopted->state.attempt)) {
      view->worker_pid = adopted->state.pid;
      view->adopted = true;
      view->steps = adopted->state.steps;
      view->running = adopted->state.running;
    }
  }
}

void Loop::decide_results(Turn& turn) {
  for (const supervise::AttemptOver& over : results_) {
    if (turn.failed()) return;
    decide_result(turn, over);
  }
}

/// Whether attempts can be started at all. What keeps one run from starting holds no other.
void Loop::note_start(const supervise::AttemptOver& over) {
  if (!over.not_started) {
    if (!start_trouble_.empty()) log::info("runs can be started again");
    start_trouble_.clear();
    return;
  }
  if (!over.others_too) return;
  const std::string& error = over.result ? over.result->error : over.error;
  if (start_trouble_.empty()) {
    log::warning("runs can't be started: " + error);
    start_trouble_since_ = parts_.clock.now();
  }
  start_trouble_ = error;
  starts_held_until_ = parts_.clock.boottime() + decide::look_again_delay(parts_.clock.now() - start_trouble_since_);
}

/// `from: completion`: the delay counts from the end of the run.
std::optional<model::Change> Loop::delay_from(const model::Run& run, model::RunEvent event, Instant now) const {
  if (run.trigger != model::TriggerKind::schedule) return std::nullopt;
  const auto schedule = state_.schedules().find(run.trigger_id);
  const auto cursor = state_.cursors().find(run.trigger_id);
  if (schedule == state_.schedules().end() || cursor == state_.cursors().end()) return std::nullopt;
  const auto transition = model::next(run.state, event);
  const bool ends = transition && model::is_terminal(transition->to);
  if (!ends || !schedule->second.schedule().timing.from_completion) return std::nullopt;
  model::Cursor moved = cursor->second;
  moved.decided_until = decide::cursor_after_completion(moved, now);
  return model::CursorPlaced{std::move(moved)};
}

void Loop::decide_result(Turn& turn, const supervise::AttemptOver& over) {
  const auto live = state_.live().find(over.run_id);
  if (live == state_.live().end() || live->second.number != over.attempt) {
    ++stale_results_;
    log::warning(
        fmt::format("run {}: a result of attempt {} came too late and changes nothing", over.run_id, over.attempt));
    return;
  }
  note_start(over);
  const model::Run run = *state_.run(over.run_id);
  const workspace::LoadedPipeline* loaded = state_.pipeline(run.pipeline);
  const auto seen = live_.find(over.run_id);
  model::Attempt attempt = attempt_row(over, live->second, seen == live_.end() ? nullptr : &seen->second, turn.now());
  decide::AttemptEndFacts facts = end_facts(run, attempt, loaded);
  if (const auto since = released_since_.find(over.run_id); since != released_since_.end()) {
    facts.waited = turn.now() - since->second;
  }
  // Nobody's cancel that was committed: a server, perhaps the one before, has interrupted what ran when it stopped.
  // What did not end then was killed, in the middle of its work.
  const bool killed = *attempt.outcome == model::Outcome::crashed && interrupted_;
  bool ended_by_drain = (killed || *attempt.outcome == model::Outcome::cancelled) && !facts.cancel_asked;
  const bool begun = killed || attempt.started_at;
  if (ended_by_drain && begun && facts.on_interrupt == model::OnInterrupt::fail) {
    facts.outcome = model::Outcome::interrupted;  // it has begun, and may not begin again
    ended_by_drain = false;
  }
  if (ended_by_drain)
    facts.outcome = model::Outcome::released;  // the server's wish, not the run's fault: nothing is counted
  const auto verdict =
      decide::decide_attempt_end(facts, loaded ? loaded->pipeline->retry : no_retry, parts_.random.unit());
  attempt.outcome = ended_by_drain ? model::Outcome::interrupted : verdict.outcome;

  model::AttemptEnded ended;
  ended.event = verdict.event;
  // A result that lay there at boot says when it was; what this server has followed ends now.
  ended.at = live_.contains(over.run_id) ? turn.now() : *attempt.finished_at;
  ended.not_before = turn.now() + (ended_by_drain ? Micros(0) : verdict.delay);
  ended.reason = ended_by_drain ? model::reason::server_stopped : end_reason(verdict, run, over);
  // A run that is queued again because of its server has nothing wrong with it; its attempt says what happened.
  if (!ended_by_drain) ended.error = attempt.error;
  ended.attempt = std::move(attempt);
  std::vector<wire::Publication> published = over.published;
  if (verdict.event == model::RunEvent::succeed) {
    published.insert(published.end(), over.result->publications.begin(), over.result->publications.end());
  }
  auto events = materializations(turn, run, live->second.definition, published);
  if (!events) return;
  // Before the attempt's end: only a running attempt publishes.
  model::ChangeSet changes = std::move(*events);
  changes.emplace_back(std::move(ended));
  if (auto moved = delay_from(run, verdict.event, turn.now())) changes.push_back(std::move(*moved));
  if (verdict.event == model::RunEvent::fail && !pause_after_failures(turn, run, changes)) return;
  if (!turn.insist(std::move(changes))) {
    if (!turn.failed()) turn.refused_results_.push_back(over);
    return;
  }
  if (verdict.event == model::RunEvent::release && !ended_by_drain) {
    released_since_.try_emplace(over.run_id, turn.now());
  } else {
    released_since_.erase(over.run_id);
  }
  turn.after_commit([this, id = over.run_id, number = over.attempt] {
    live_.erase(id);
    parts_.workers.forget(id, number);
  });
}

}  // namespace eider::engine
