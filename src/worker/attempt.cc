// The life of an attempt; its steps are in attempt_steps.cc, its end in attempt_end.cc.
#include "worker/attempt.h"

#include <unistd.h>

#include "base/fault.h"
#include "wire/layout.h"
#include "worker/facts.h"

namespace eider::worker {
Attempt::Attempt(AttemptServices services, wire::Job job, UniqueFd lock)
    : services_(std::move(services)), job_(std::move(job)), lock_(std::move(lock)) {}

Attempt::~Attempt() {
  for (const Node& node : nodes_) {
    services_.reactor.cancel_timer(node.timeout);
    services_.reactor.cancel_timer(node.held_timer);
  }
  for (const Reactor::TimerId timer : {timeout_, flush_timer_, progress_timer_, family_timer_}) {
    services_.reactor.cancel_timer(timer);
  }
}

void Attempt::start() {
  if (auto ready = make_places(); !ready) {
    // The machine lacks something, not the run.
    stop(model::Outcome::released, ready.error().message);
    return;
  }
  fault::point("attempt.begun");
  if (auto prepared = prepare(); !prepared) {
    fail(prepared.error().message);
    return;
  }
  timeout_ = services_.reactor.call_after(pipeline_.timeout, [this] {
    stop(model::Outcome::timed_out, fmt::format("timed out after {}", format_duration(pipeline_.timeout)));
  });
}

/// What every attempt has under `.eider/`: its folder, a temporary one, its socket; its log, once it says something.
Result<void> Attempt::make_places() {
  const wire::Layout layout{services_.workspace};
  if (auto prepared = services_.folder.prepare(layout.worker_folder(::getpid())); !prepared) return prepared;
  if (auto lent = services_.folder.lend_run_folder(job_.folder); !lent) return lent;
  log_.emplace(wire::Layout::attempt_log(job_.folder, job_.attempt), job_.log_limit_bytes);
  run_.temp_folder = wire::Layout::attempt_temp(job_.folder, job_.attempt);
  if (auto lent = services_.folder.lend_temp(run_.temp_folder); !lent) return lent;
  return services_.reports.open_attempt_socket(services_.folder.socket(),
                                               wire::Layout::attempt_socket(job_.folder, job_.attempt));
}

Result<void> Attempt::prepare() {
  auto pipeline = model::parse_definition(job_.definition);
  if (!pipeline) return Error{ErrorCode::corrupt, "the run's definition can't be read: " + pipeline.error().message};
  pipeline_ = std::move(*pipeline);

  run_.run_id = job_.run_id;
  run_.attempt = job_.attempt;
  run_.pipeline = pipeline_.name;
  run_.workspace = services_.workspace;
  run_.facts = job_.facts;
  publishing_.emplace(pipeline_, services_.workspace, job_.run_id, job_.attempt);
  run_.outputs = publishing_->names();
  duck::SessionOptions sql;
  sql.threads = pipeline_.resources.threads.value_or(0);
  sql.memory_bytes = pipeline_.resources.memory_bytes.value_or(0);
  sql.temp_bytes = pipeline_.resources.temp_bytes.value_or(0);
  sql.temp_folder = run_.temp_folder;
  sql.workspace_folder = services_.workspace;
  sql.time_zone = pipeline_.timezone;
  sql_.emplace(services_.sql, std::move(sql));
  step_services_.emplace(StepServices{services_.reactor, services_.mailbox, services_.limits, *log_, run_,
                                      [this] { return now(); },
                                      [this](const std::string& step) { return strays_of(step); }});
  nodes_ = std::vector<Node>(pipeline_.steps.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].step = &pipeline_.steps[i];
    nodes_[i].content = model::step_hash(pipeline_, pipeline_.steps[i]);
  }
  if (auto kept = take_kept(); !kept) return kept;
  add_publish_nodes();
  if (auto written = write_events(run_); !written) return written;
  return publishing_->prepare();
}

/// Their ends are told like any other's, so that whoever looks at the run sees them.
Result<void> Attempt::take_kept() {
  for (const wire::StepResult& kept : job_.kept) {
    Node* node = node_of(kept.step);
    if (node == nullptr)
      return Error{ErrorCode::corrupt, fmt::format("step {} is to be kept, and is not there", kept.step)};
    if (kept.kept_from == 0) return Error{ErrorCode::corrupt, fmt::format("step {} is kept from nowhere", kept.step)};
    auto said = parse_facts(kept.said);
    if (!said) return said.error();
    facts_bytes_ += kept.facts.size() + kept.said.size();
    said_.insert(said_.end(), said->said.begin(), said->said.end());
    note(kept.step, fmt::format("kept: attempt {} has done it", kept.kept_from));
    ended_.push_back(kept.step);
    node->result = kept;
    services_.reports.send(wire::StepEnded{job_.run_id, job_.attempt, kept});
  }
  if (!job_.kept.empty()) log_->flush();
  return {};
}

void Attempt::fail(std::string error) { stop(model::Outcome::failed, std::move(error)); }

void Attempt::cancel(const std::string& reason) {
  stop(model::Outcome::cancelled, reason.empty() ? "cancelled" : reason);
}

void Attempt::interrupt() {
  stop(model::Outcome::interrupted, "the worker got SIGTERM, which ends its run without counting the attempt");
}

void Attempt::stop(model::Outcome why, std::string error) {
  if (stopped_ || over_) return;
  stopped_ = why;
  error_ = std::move(error);
  if (log_) log_->note(now(), "", error_);
  stop_running(why == model::Outcome::timed_out ? wire::StepOutcome::timed_out : wire::StepOutcome::cancelled);
}

void Attempt::stop_running(wire::StepOutcome why) {
  for (Node& node : nodes_) {
    if (node.run && !node.run->over()) node.run->stop(why);
  }
}

void Attempt::child_ended(const ChildEnd& end) {
  for (Node& node : nodes_) {
    if (node.run && node.run->pid() == end.pid) {
      node.run->child_ended(end);
      return;
    }
  }
  for (Node& node : nodes_) {
    if (node.run) node.run->children_changed();
  }
}

bool Attempt::advance() {
  if (over_) return true;
  bool waiting = false;
  for (Node& node : nodes_) {
    if (!node.run || node.result) continue;
    if (node.run->held()) file_is_held(node);
    if (node.run->stuck()) {
      // Its thread works on, so node.run stays; the process leaves as soon as the other steps have ended.
      stuck_ = true;
      settle_step(node, node.run->result());
      fail(fmt::format("step {}: {}", node.step->id, node.result->error));  // unless something stopped it all before
    } else if (node.run->over()) {
      end_step(node);
    } else {
      waiting = true;
    }
  }
  if (!stopped_) waiting = start_ready() || waiting;
  if (!waiting) return end();
  if (log_->has_unflushed() && flush_timer_ == 0) {
    flush_timer_ = services_.reactor.call_after(services_.limits.log_flush_every, [this] {
      flush_timer_ = 0;
      log_->flush();
    });
  }
  return false;
}

wire::Adopted Attempt::adopted() const {
  wire::Adopted state{job_.run_id, job_.attempt, ::getpid(), {}, {}, published_.publications};
  for (const std::string& step : ended_) {
    for (const Node& node : nodes_) {
      if (node.step->id == step) state.steps.push_back(*node.result);
    }
  }
  for (const Node& node : nodes_) {
    if (node.run && !node.result && !node.publishes)
      state.running.push_back({job_.run_id, job_.attempt, node.step->id, node.run->pid(), *node.started_at});
  }
  return state;
}

}  // namespace eider::worker
