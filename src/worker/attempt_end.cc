// The end of an attempt: proof that nothing of it is left, the commit point, and what follows it (design section 3).
#include <sys/resource.h>
#include <unistd.h>
#include <csignal>

#include "base/fault.h"
#include "wire/layout.h"
#include "wire/processes.h"
#include "wire/publish.h"
#include "worker/attempt.h"

namespace eider::worker {
namespace {

constexpr Micros kFamilyRound = std::chrono::milliseconds(20);
constexpr int kFamilyRounds = 500;

model::Outcome outcome_of(wire::StepOutcome outcome) {
  return outcome == wire::StepOutcome::timed_out ? model::Outcome::timed_out : model::Outcome::failed;
}

bool decides(wire::StepOutcome outcome) {
  return outcome == wire::StepOutcome::failed || outcome == wire::StepOutcome::timed_out ||
         outcome == wire::StepOutcome::cancelled;
}

}  // namespace

bool Attempt::family_is_gone() {
  if (has_no_children() || family_rounds_ >= kFamilyRounds) return true;
  if (family_timer_ != 0) return false;
  // What a step left with neither its group nor its environment. No step runs any more, so every child is of that kind.
  const std::vector<int> left = wire::children_of_this_process();
  for (const int pid : left) ::kill(pid, SIGKILL);
  if (family_rounds_++ == 0) note("", fmt::format("the run left {} process(es); ended with SIGKILL", left.size()));
  family_timer_ = services_.reactor.call_after(kFamilyRound, [this] { family_timer_ = 0; });
  return false;
}

bool Attempt::end() {
  if (!family_is_gone()) return false;
  services_.reactor.cancel_timer(std::exchange(timeout_, 0));
  for (Node& node : nodes_) {
    if (node.result) continue;
    wire::StepResult never;
    never.outcome = wire::StepOutcome::skipped;
    never.error = "not started: the run ended before";
    settle_step(node, std::move(never));
  }
  wire::AttemptResult result = make_result();
  if (log_) log_->finish(now());
  commit(result);
  clean_up(result);
  over_ = true;
  // A stuck query still holds its file: then this process's death is the report, and the result is on disk.
  if (!stuck_) {
    lock_.reset();
    services_.reports.send(wire::Finished{std::move(result)});
    fault::point("attempt.reported");
  }
  return true;
}

/// What waits for publication with a step: it goes with the attempt.
std::vector<std::string> Attempt::unpublished_of(const Node& node) const {
  std::vector<std::string> out;
  for (const model::Publish& publish : pipeline_.publishes) {
    const bool after_it = !publish.after.empty() && publish.after == node.step->id;
    const bool staged = std::find(node.staged.begin(), node.staged.end(), publish.asset) != node.staged.end();
    const auto& done = published_.publications;
    const bool published =
        std::any_of(done.begin(), done.end(), [&](const auto& one) { return one.asset == publish.asset; });
    if ((after_it || staged) && !published) out.push_back(publish.asset);
  }
  return out;
}

wire::AttemptResult Attempt::make_result() {
  wire::AttemptResult result;
  result.run_id = job_.run_id;
  result.attempt = job_.attempt;
  result.started_at = started_at_;
  result.worker_pid = ::getpid();
  struct rusage own {};
  ::getrusage(RUSAGE_SELF, &own);
  std::int64_t peak = static_cast<std::int64_t>(own.ru_maxrss) * 1024;
  std::optional<int> last_exit_code;
  for (const std::string& step : ended_) {
    const Node& node = *node_of(step);
    const wire::StepResult& ended = *node.result;
    if (ended.kept_from == 0) peak = std::max(peak, ended.peak_memory_bytes.value_or(0));
    if (ended.exit_code) last_exit_code = ended.exit_code;
    // The first step that went wrong decides; a stopped run shows how its step ended, as a detail.
    if (decides(ended.outcome) && !result.exit_code && !result.signal && (stopped_ || result.error.empty())) {
      result.exit_code = ended.exit_code;
      result.signal = ended.signal;
      if (!stopped_) {
        result.outcome = outcome_of(ended.outcome);
        result.error = node.publishes ? ended.error : fmt::format("step {}: {}", step, ended.error);
      }
    }
    result.steps.push_back(ended);
    if (ended.kept_from == 0) result.steps.back().unpublished = unpublished_of(node);
  }
  result.peak_memory_bytes = peak;
  if (stopped_) {
    result.outcome = *stopped_;
    result.error = error_;
    result.file_held = released_;
  } else if (result.outcome == model::Outcome::succeeded) {
    result.exit_code = last_exit_code;
    take_publications(result);
  }
  result.finished_at = now();
  return result;
}

Result<void> Attempt::write_result(const wire::AttemptResult& result) const {
  const std::string path = wire::Layout::attempt_result(job_.folder, job_.attempt);
  const std::string text = wire::encode_result(result);
  // With renames this is what makes them repeatable, so it must be on the disk before the first of them. Without, a
  // power cut before the server's commit costs a repetition, as it would have a moment earlier (ADR 0008).
  if (result.renames.empty()) return services_.folder.put_file(path, text);
  // The run's folder may be as new as the result in it.
  if (auto synced = sync_path(wire::Layout{services_.workspace}.runs_folder()); !synced) return synced;
  return write_file_durably(path, text);
}

void Attempt::commit(wire::AttemptResult& result) {
  fault::point("result.before_commit");
  if (const auto written = write_result(result); !written) {
    const std::string path = wire::Layout::attempt_result(job_.folder, job_.attempt);
    ::unlink((path + ".tmp").c_str());
    // Without a commit point nothing may become visible. What a run without files has done is done, and is reported.
    if (!result.renames.empty()) {
      ::unlink(path.c_str());
      result.renames.clear();
      result.publications.clear();
      result.outcome = model::Outcome::failed;
      result.error = "nothing was published, because the result can't be written: " + written.error().message;
    }
    return;
  }
  fault::point("result.after_commit");
  if (auto applied = wire::apply_renames(result.renames); !applied) {
    result.outcome = model::Outcome::failed;
    result.error = applied.error().message;
    result.publications.clear();
  }
  fault::point("result.after_renames");
}

void Attempt::clean_up(const wire::AttemptResult& result) {
  // Where renames failed, what is staged stays until that is on record: a server that finds the result before does them
  // again. What a stuck query writes stays until it is gone. The server forgets the attempt then, and cleans up.
  const bool may_be_repeated = result.outcome == model::Outcome::failed && !result.renames.empty();
  if (publishing_ && !may_be_repeated && !stuck_) publishing_->clean_up();
  if (!run_.temp_folder.empty()) services_.folder.take_back_temp(run_.temp_folder);
  if (sql_ && !stuck_) sql_->release();
  services_.reports.close_attempt_socket();
}

}  // namespace eider::worker
