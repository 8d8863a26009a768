// The steps of an attempt: which may start, how each kind is started, and what its end means.
#include <fcntl.h>
#include <cerrno>
#include <csignal>

#include "base/fault.h"
#include "wire/processes.h"
#include "worker/attempt.h"
#include "worker/facts.h"
#include "worker/program_step.h"
#include "worker/sql_step.h"

namespace eider::worker {
namespace {

constexpr Micros kHeldFileLongestWait = std::chrono::seconds(5);
/// Of all steps together: every report and the result carry them.
constexpr std::size_t kAllFactsLimitBytes = 16 * facts_limit_bytes;
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string timeout_text(const model::Step& step) {
  return step.timeout ? fmt::format("timed out after {}", format_duration(*step.timeout)) : std::string();
}

}  // namespace

void Attempt::note(const std::string& step, const std::string& text) {
  if (log_) log_->note(now(), step, text);
}

Attempt::Node* Attempt::node_of(const std::string& step) {
  for (Node& node : nodes_) {
    if (node.step->id == step) return &node;
  }
  return nullptr;
}

Attempt::Needs Attempt::needs_of(const Node& node) const {
  Needs all = Needs::met;
  for (const Node& other : nodes_) {
    const auto& needs = node.step->needs;
    if (std::find(needs.begin(), needs.end(), other.step->id) == needs.end()) continue;
    if (!other.result) {
      all = Needs::open;
    } else if (!went_well(other.result->outcome)) {
      return Needs::failed;
    }
  }
  return all;
}

bool Attempt::start_ready() {
  bool running = false;
  // A step that can't be started, or is skipped, may decide about others: so until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (Node& node : nodes_) {
      if (node.run || node.result) continue;
      const Needs needs = needs_of(node);
      if (needs == Needs::open) continue;
      if (needs == Needs::met && node.publishes && is_publishing()) continue;  // one after the other: one record
      if (needs == Needs::failed) {
        wire::StepResult skipped;
        skipped.outcome = wire::StepOutcome::skipped;
        skipped.error = "a step that it needs did not succeed";
        settle_step(node, std::move(skipped));
      } else {
        start_step(node);
        running = running || node.run != nullptr;
      }
      changed = true;
    }
  }
  return running;
}

void Attempt::start_step(Node& node) {
  node.started_at = now();
  node.staged_before = publishing_->staged();
  if (!started_at_) started_at_ = node.started_at;
  if (node.step->kind == model::Step::Kind::sql) {
    start_sql(node);
  } else if (auto started = start_program(node); !started) {
    node.run.reset();
    wire::StepResult failed;
    failed.outcome = wire::StepOutcome::failed;
    failed.error = started.error().message;
    settle_step(node, std::move(failed));
    return;
  }
  if (node.publishes) return;
  fault::point("attempt.step_started");
  services_.reports.send(
      wire::StepStarted{job_.run_id, job_.attempt, node.step->id, node.run->pid(), *node.started_at});
  if (!node.step->timeout) return;
  node.timeout = services_.reactor.call_after(*node.step->timeout, [this, &node] {
    if (!node.run) return;
    note(node.step->id, timeout_text(*node.step));
    node.run->stop(wire::StepOutcome::timed_out);
  });
}

Result<void> Attempt::start_program(Node& node) {
  const model::Step& step = *node.step;
  std::string facts_file;
  if (!step.needs.empty()) {
    facts_file = run_.temp_folder + "/" + step.id + ".needs.json";
    // O_NONBLOCK: another step may have put a pipe there.
    UniqueFd file(::open(facts_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file) return io_error("can't write " + facts_file, errno);
    if (auto written = write_all(file.get(), join_facts(facts_for(node)) + "\n"); !written) {
      return Error{ErrorCode::io, "can't write " + facts_file + ": " + written.error().message};
    }
  }
  const auto path_of = [](const std::map<std::string, std::string>& environment) {
    const auto found = environment.find("PATH");
    return found == environment.end() ? std::string() : found->second;
  };
  std::string path = path_of(step.env);
  if (path.empty()) path = path_of(services_.environment);
  if (step.argv.empty()) return Error{ErrorCode::invalid, "`run:` names no program"};
  if (path.empty()) path = kDefaultPath;
  auto file = find_program(step.argv.front(), path, services_.workspace);
  if (!file) {
    if (file.error().code == ErrorCode::not_found && step.argv.front().find('/') == std::string::npos)
      note(step.id, "the PATH is " + path);
    return file.error();
  }
  ProgramRequest request;
  request.file = std::move(*file);
  request.argv = step.argv;
  request.environment = program_environment(services_.environment, step.env, run_, step.id, facts_file);
  request.folder = services_.workspace;
  request.lock_fd = lock_.get();
  auto program = std::make_unique<ProgramStep>(*step_services_, step);
  if (auto started = program->start(std::move(request)); !started) return started;
  node.run = std::move(program);
  return {};
}

SqlStep::Script Attempt::script_of(const Node& node) const {
  const model::Step& step = *node.step;
  SqlStep::Script script;
  if (pipeline_.database) script.database = duck::DatabaseFile{pipeline_.database->file, pipeline_.database->read_only};
  script.variables = sql_variables(run_, step.id, join_facts(facts_for(node)));
  duck::ScriptRequest& request = script.request;
  request.sql = step.sql;
  request.origin.pipeline_file = pipeline_.file;
  if (step.sql_origin.file != pipeline_.file) request.origin.sql_file = step.sql_origin.file;
  request.origin.first_line = step.sql_origin.first_line;
  request.run_id = job_.run_id;
  request.step_id = step.id;
  request.transactional = step.transaction;
  // A step that writes a staged file can't be skipped by its receipt: the file was the earlier attempt's.
  request.receipt = !names_an_output(step);
  return script;
}

/// Of a `sql` step, its text shows whether it can write a staged file.
bool Attempt::names_an_output(const model::Step& step) const {
  return std::any_of(run_.outputs.begin(), run_.outputs.end(),
                     [&](const auto& output) { return step.sql.find("out_" + output.first) != std::string::npos; });
}

void Attempt::start_sql(Node& node) {
  auto run = std::make_unique<SqlStep>(*step_services_, *sql_, *node.step,
                                       node.publishes ? publish_script(node) : script_of(node));
  run->start();
  node.run = std::move(run);
  if (progress_timer_ == 0 && !node.publishes) {
    progress_timer_ = services_.reactor.call_after(services_.limits.progress_every, [this] { report_progress(); });
  }
}

/// What it needs, directly or through others.
std::vector<const Attempt::Node*> Attempt::all_needs_of(const Node& node) const {
  std::vector<const Node*> all;
  std::vector<const Node*> open = {&node};
  while (!open.empty()) {
    const auto& needs = open.back()->step->needs;
    open.pop_back();
    for (const Node& other : nodes_) {
      if (std::find(needs.begin(), needs.end(), other.step->id) == needs.end()) continue;
      if (std::find(all.begin(), all.end(), &other) != all.end()) continue;
      all.push_back(&other);
      open.push_back(&other);
    }
  }
  return all;
}

std::map<std::string, std::string> Attempt::facts_for(const Node& node) const {
  std::map<std::string, std::string> facts;
  for (const Node* other : all_needs_of(node)) {
    if (other->result) facts[other->step->id] = other->result->facts;
  }
  return facts;
}

void Attempt::end_step(Node& node) {
  wire::StepResult result = node.run->result();
  node.run.reset();
  note_staged(node);
  if (node.publishes) take_published(node);
  if (node.step->kind == model::Step::Kind::run && result.outcome == wire::StepOutcome::succeeded) {
    take_facts(node, result);
  }
  settle_step(node, std::move(result));
}

/// What its program has written to $EIDER_OUTPUT; a step that writes what can't be has failed.
void Attempt::take_facts(const Node& node, wire::StepResult& result) {
  auto facts = read_facts(output_file(run_, node.step->id));
  if (facts && facts_bytes_ + facts->json.size() + facts->said_lines.size() > kAllFactsLimitBytes) {
    facts = Error{ErrorCode::refused, fmt::format("the facts of all steps are over {} bytes", kAllFactsLimitBytes)};
  }
  if (facts) {
    if (auto taken = take_said(node, std::move(facts->said)); !taken) facts = taken.error();
  }
  if (facts) {
    facts_bytes_ += facts->json.size() + facts->said_lines.size();
    result.facts = std::move(facts->json);
    result.said = std::move(facts->said_lines);
    result.rows = facts->rows;
  } else {
    result.outcome = wire::StepOutcome::failed;
    result.error = facts.error().message;
  }
}

/// The error, with the outcome where the text does not say it; a step's own time-out was said when it came.
void Attempt::note_end(const Node& node, const wire::StepResult& result) {
  using wire::StepOutcome;
  const bool own_timeout = result.outcome == StepOutcome::timed_out && result.error == timeout_text(*node.step);
  if (result.error.empty() || own_timeout) return;
  if (node.publishes) return note("", result.error);
  const bool says_all = result.outcome == StepOutcome::timed_out || result.outcome == StepOutcome::cancelled;
  note(node.step->id, (says_all ? "" : std::string(to_text(result.outcome)) + ": ") + result.error);
}

void Attempt::settle_step(Node& node, wire::StepResult result) {
  using wire::StepOutcome;
  services_.reactor.cancel_timer(std::exchange(node.timeout, 0));
  services_.reactor.cancel_timer(std::exchange(node.held_timer, 0));
  result.step = node.step->id;
  result.content = node.content;
  result.started_at = node.started_at;
  if (node.started_at) result.finished_at = now();
  if (result.outcome == StepOutcome::timed_out && result.error.empty()) {
    result.error = stopped_ == model::Outcome::timed_out || !node.step->timeout ? "ended with the run's time-out"
                                                                                : timeout_text(*node.step);
  }
  if (result.outcome == StepOutcome::cancelled && result.error.empty()) result.error = "ended with the run";
  if (node.publishes && result.outcome != StepOutcome::failed) {
    node.result = std::move(result);
    return;
  }
  note_end(node, result);
  log_->flush();
  ended_.push_back(result.step);
  node.result = std::move(result);
  // Often the attempt ends with it, or the next step begins.
  services_.reports.hold(wire::StepEnded{job_.run_id, job_.attempt, *node.result});
}

void Attempt::file_is_held(Node& node) {
  if (node.held_timer != 0 || stopped_) return;
  const wire::FileHeld held = *node.run->held();
  const std::string holder = held.pid == 0 ? "another process" : fmt::format("process {}", held.pid);
  const bool first = std::all_of(nodes_.begin(), nodes_.end(), [](const Node& other) {
    return !other.started_at || (other.run && !other.result && other.run->held());  // steps side by side wait, too
  });
  if (first) {
    // Nothing has happened yet: the run goes back to the queue, and may not even have been started.
    released_ = held;
    stop(model::Outcome::released, fmt::format("{} is open in {}: the run waits for it", held.path, holder));
    return;
  }
  if (node.held_wait == Micros(0)) {
    node.held_wait = services_.limits.held_file_first_wait;
    note(node.step->id, fmt::format("{} is open in {}: waiting for it", held.path, holder));
  } else {
    node.held_wait = std::min(node.held_wait * 2, kHeldFileLongestWait);
  }
  node.held_timer = services_.reactor.call_after(node.held_wait, [this, &node] {
    node.held_timer = 0;
    if (node.run && !stopped_) node.run->try_again();
  });
}

bool Attempt::is_kept(const std::string& step) const {
  return std::any_of(job_.kept.begin(), job_.kept.end(), [&](const auto& kept) { return kept.step == step; });
}

/// What changed while several programs ran may be the work of each.
void Attempt::note_staged(Node& node) const {
  if (node.step->kind == model::Step::Kind::sql && !names_an_output(*node.step)) return;
  for (const auto& [asset, state] : publishing_->staged()) {
    const auto before = node.staged_before.find(asset);
    if (before == node.staged_before.end() || before->second != state) node.staged.push_back(asset);
  }
}

std::vector<int> Attempt::strays_of(const std::string& step) const {
  std::vector<int> strays;
  for (const int child : wire::children_of_this_process()) {
    const bool other_steps = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
      if (!node.run || node.step->id == step) return false;
      // Its program, or what says in its environment that it is that step's.
      return node.run->pid() == child ||
             wire::environment_carries(child, {run_.run_id, run_.attempt, node.step->id, ""});
    });
    if (!other_steps) strays.push_back(child);
  }
  return strays;
}

void Attempt::report_progress() {
  progress_timer_ = 0;
  bool any = false;
  for (Node& node : nodes_) {
    if (!node.run || node.step->kind != model::Step::Kind::sql || node.publishes) continue;
    any = true;
    const std::optional<double> fraction = node.run->progress();
    if (!fraction || *fraction == node.progress) continue;
    node.progress = *fraction;
    services_.reports.send(wire::StepProgress{job_.run_id, job_.attempt, node.step->id, *fraction});
  }
  if (!any) return;
  progress_timer_ = services_.reactor.call_after(services_.limits.progress_every, [this] { report_progress(); });
}

}  // namespace eider::worker
