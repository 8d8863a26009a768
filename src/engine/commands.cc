// What people ask for. Each command is decided in the turn, and answered after its commit.
#include <fmt/format.h>

#include "base/cases.h"
#include "base/log.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

/// The answer to a command whose one decision did not hold.
Error refusal(const Turn& turn, std::string otherwise) {
  if (turn.own_error()) return *turn.own_error();
  return Error{ErrorCode::conflict, std::move(otherwise)};
}

/// A partition becomes part of paths and of an asset's history: what the pipeline has not is refused at the border.
Result<void> check_run_partition(const model::Pipeline& pipeline, const std::string& partition) {
  if (partition.empty()) return {};
  if (auto named = model::check_partition(partition); !named) return named;
  if (!pipeline.partitions || model::has_partition(*pipeline.partitions, partition)) return {};
  return Error{ErrorCode::invalid, fmt::format("pipeline \"{}\" has no partition \"{}\"; it expects {}", pipeline.name,
                                               partition, describe(*pipeline.partitions))};
}

/// The run that the key has made, when it is what is asked for now: a key stands for one request.
Result<std::string> same_request(const model::Run& run, const StartRun& command) {
  if (run.pipeline == command.pipeline && run.partition == command.partition && run.params == command.params) {
    return run.id;
  }
  return Error{ErrorCode::invalid,
               fmt::format("the idempotency key \"{}\" has made run {} of {}{} already, which is another request; "
                           "a key stands for one pipeline, partition and parameters: use a new one",
                           command.idempotency_key, run.id, run.pipeline,
                           run.partition.empty() ? "" : " for partition " + run.partition)};
}

}  // namespace

void Loop::decide_commands(Turn& turn) {
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (turn.failed()) return;  // all of them are decided again in a later turn
    if (turn.full()) {
      postponed_.insert(postponed_.end(), std::make_move_iterator(commands_.begin() + static_cast<std::ptrdiff_t>(i)),
                        std::make_move_iterator(commands_.end()));
      commands_.resize(i);
      return;
    }
    std::visit(
        Cases{[&](const StartRun& c) { start_run(turn, c); }, [&](const CancelRun& c) { cancel_run(turn, c); },
              [&](const RetryRun& c) { retry_run(turn, c); }, [&](const PauseSchedule& c) { pause_schedule(turn, c); },
              [&](const Materialize& c) { materialize(turn, c); },
              [&](const RetryDeliveries& c) { retry_deliveries(turn, c); },
              [&](const SkipDeliveries& c) { skip_deliveries(turn, c); }, [&](const Reload& c) { reload(turn, c); },
              [&](const TurnClock& c) { answer_clock(turn, c); },
              [](const auto&) { EIDER_CHECK(false, "a question among the commands"); }},
        commands_[i]);
  }
}

/// Why a new run is refused, and the ways on that are open: another process may have a server, this one may be alone.
std::string Loop::active_run_text(const model::Run& active) const {
  if (!options_.requested_only) {
    return fmt::format("pipeline \"{}\" has an active run {}; wait for it, cancel it, or queue behind it",
                       active.pipeline, active.id);
  }
  if (active.state == model::RunState::queued) {
    return fmt::format(
        "run {} of \"{}\" is queued, and no server is running to start it: `eider serve` starts it, "
        "`eider run {} --queue` runs it and then a new one",
        active.id, active.pipeline, active.pipeline);
  }
  return fmt::format(
      "run {} of \"{}\" goes on from an earlier server: `eider run {} --queue` waits for its end, "
      "`eider logs {}` shows it",
      active.id, active.pipeline, active.pipeline, active.id);
}

/// Alone, whoever waits in line moves the line: nobody else would start those before it.
void Loop::request_line(const std::string& pipeline) {
  if (!options_.requested_only) return;
  const auto line = state_.runs_by_pipeline().find(pipeline);
  if (line != state_.runs_by_pipeline().end()) requested_.insert(line->second.open.begin(), line->second.open.end());
  state_.queue().wake({decide::Kind::definition, pipeline});
}

void Loop::start_run(Turn& turn, const StartRun& command) {
  const auto answer = [&](Result<std::string> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  const workspace::LoadedPipeline* loaded = state_.pipeline(command.pipeline);
  if (!loaded) {
    if (!state_.is_broken(command.pipeline)) {
      return answer(
          Error{ErrorCode::not_found, fmt::format("there is no pipeline \"{}\" in this workspace", command.pipeline)});
    }
    std::string why;
    for (const PipelineView& view : pipeline_views()) {
      if (view.name == command.pipeline) why = view.error;
    }
    return answer(Error{ErrorCode::conflict,
                        fmt::format("pipeline \"{}\" is not loaded: its file is wrong; {}", command.pipeline, why)});
  }
  if (draining_) return answer(Error{ErrorCode::unavailable, "the server is stopping and takes no new runs"});
  if (const auto checked = check_run_partition(*loaded->pipeline, command.partition); !checked) {
    return answer(checked.error());
  }
  if (!command.idempotency_key.empty()) {
    if (const std::string* id = state_.run_of_key(command.idempotency_key)) {
      auto same = same_request(*state_.run(*id), command);
      if (same) request_line(command.pipeline);
      return answer(std::move(same));
    }
  }
  const std::string* active = state_.first_active(command.pipeline);
  if (active && !command.queue) return answer(Error{ErrorCode::conflict, active_run_text(*state_.run(*active))});
  if (state_.queued_count() >= limits::queued_runs) {
    return answer(Error{ErrorCode::refused, fmt::format("{} runs are queued already", limits::queued_runs)});
  }
  model::Run run;
  run.id = ids_.make(turn.now());
  run.pipeline = command.pipeline;
  run.trigger = model::TriggerKind::manual;
  run.trigger_id = command.asked_by;
  run.priority = loaded->pipeline->priority;
  run.params = command.params;
  run.partition = command.partition;
  run.idempotency_key = command.idempotency_key;
  run.created_at = run.not_before = turn.now();
  run.reason = model::reason::requested;
  const std::string id = run.id;
  if (turn.decide({model::RunQueued{std::move(run)}})) {
    request_line(command.pipeline);
    return answer(id);
  }
  if (turn.failed()) return;
  // The key belongs to a run that has ended: the same request has the same answer (I6).
  auto earlier = parts_.store.run_of_key(command.idempotency_key);
  if (!earlier || !*earlier) return answer(earlier ? refusal(turn, "the run exists already") : earlier.error());
  const auto run_of_before = parts_.store.find_run(**earlier);
  if (!run_of_before || !*run_of_before) {
    return answer(run_of_before ? refusal(turn, "the run exists already") : run_of_before.error());
  }
  answer(same_request(**run_of_before, command));
}

void Loop::cancel_run(Turn& turn, const CancelRun& command) {
  const auto answer = [&](Result<model::RunState> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  const model::Run* run = state_.run(command.run_id);
  if (!run) return answer(Error{ErrorCode::conflict, fmt::format("run {} is not queued or running", command.run_id)});
  const std::string why = "cancelled by " + command.asked_by;
  if (run->state == model::RunState::queued) {
    const bool done = turn.decide({model::QueuedCancelled{command.run_id, model::reason::requested, why, turn.now()}});
    if (turn.failed()) return;
    return answer(done ? Result<model::RunState>(model::RunState::cancelled)
                       : refusal(turn, "the run is no longer queued"));
  }
  if (!run->cancel_asked_at) {
    const bool done = turn.decide({model::CancelAsked{command.run_id, model::reason::requested, turn.now()}});
    if (turn.failed()) return;
    if (!done) return answer(refusal(turn, "the run is no longer running"));
  }
  const int attempt = state_.live().at(command.run_id).number;
  turn.after_commit([this, id = command.run_id, attempt, why] { parts_.workers.cancel(id, attempt, why); });
  answer(model::RunState::running);
}

void Loop::reload(Turn& turn, const Reload& command) {
  auto fresh = parts_.read_workspace(&state_.workspace());
  if (!fresh) {
    log::warning("the workspace was not reloaded: " + fresh.error().message);
    turn.after_commit([reply = command.reply, error = fresh.error()] { reply(error); });
    return;
  }
  state_.set_workspace(*fresh);
  put_in_order(turn);
  if (auto loaded = load_starts(); !loaded) return turn.fail(loaded.error());
  turn.after_commit([reply = command.reply, diagnostics = state_.workspace().diagnostics] { reply(diagnostics); });
}

/// A wish that needs no row: it holds whether or not the store can be written.
void Loop::stop(const Stop& command) {
  draining_ = true;
  leave_running_ = leave_running_ || command.leave_running;
  at_once_ = at_once_ || command.now;
  const Micros limit = command.now ? Micros(0) : state_.workspace().settings.drain_timeout;
  const Micros until = parts_.clock.boottime() + limit;
  drain_until_ = drain_until_ ? std::min(*drain_until_, until) : until;
  if (command.reply) command.reply({});
}

/// While stopping: past the limit what still runs is interrupted; it is queued again and goes on with the next server.
/// A server that can't record it hands over instead.
void Loop::drain() {
  if (leave_running_ || !drain_until_ || parts_.clock.boottime() < *drain_until_) return;
  if (!trouble_.empty()) {
    log::warning("the store can't be written: running runs go on alone, and the next server picks them up");
    leave_running_ = true;
    return;
  }
  if (std::exchange(interrupted_, true)) return;
  for (const auto& [id, attempt] : state_.live()) {
    if (!at_once_) log::info(fmt::format("run {} is interrupted: the time for stopping (drain_timeout) is over", id));
    parts_.workers.cancel(id, attempt.number, "interrupted: the server is stopping");
  }
}

/// A clock moves whether or not the store can be written: as soon as the command is taken.
void Loop::turn_clock(const TurnClock& command) {
  if (!parts_.test_clock) return;
  if (command.advance) parts_.test_clock->advance(*command.advance);
  if (command.step_to) parts_.test_clock->step_to(*command.step_to);
}

/// Answered in the first turn that finds nothing due any more.
void Loop::answer_clock(Turn& turn, const TurnClock& command) {
  if (parts_.test_clock && !draining_ && is_due(turn.now())) {
    postponed_.push_back(command);
    return;
  }
  Result<Instant> result = Error{ErrorCode::not_found, "this server runs on the system's clock"};
  if (parts_.test_clock) result = parts_.test_clock->now();
  turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
}

}  // namespace eider::engine
