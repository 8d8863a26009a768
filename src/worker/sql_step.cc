#include "worker/sql_step.h"

#include "worker/lines.h"
#include "worker/text.h"

namespace eider::worker {

SqlStep::SqlStep(StepServices& services, SqlSession& session, const model::Step& step, Script script)
    : services_(services), session_(session), step_(step), script_(std::move(script)) {}

SqlStep::~SqlStep() {
  if (timer_ != 0) services_.reactor.cancel_timer(timer_);
  if (work_.valid()) work_.wait();
}

void SqlStep::start() {
  auto begun = session_.threads().start([this] { work(); });
  if (begun) {
    work_ = *std::move(begun);
    return;
  }
  duck::ScriptOutcome refused{duck::ScriptOutcome::Kind::failed, begun.error().message, 0};
  services_.mailbox.post([this, refused = std::move(refused)]() mutable { ended(std::move(refused)); });
}

void SqlStep::work() {
  waits_ = false;
  duck::ScriptOutcome outcome = script_.work ? script_.work(*this) : run_script();
  // The connection ends on this thread: that detaches the file, before anybody hears of the end.
  std::unique_ptr<duck::Connection> used;
  {
    const std::lock_guard lock(mutex_);
    used = std::move(connection_);
  }
  used.reset();
  if (waits_) return;  // held: said so already
  services_.mailbox.post([this, outcome = std::move(outcome)]() mutable { ended(std::move(outcome)); });
}

Result<duck::Connection*> SqlStep::connect() {
  if (connection_) return connection_.get();
  auto session = session_.get();
  if (!session) return Error{session.error().code, "can't open DuckDB: " + session.error().message};
  auto connected = (*session)->connect(script_.database, script_.variables);
  if (!connected) return connected.error();
  if (connected->held) {
    waits_ = true;
    wire::FileHeld held{connected->held->path, connected->held->holder_pid};
    services_.mailbox.post([this, held = std::move(held)]() mutable { found_held(std::move(held)); });
    return static_cast<duck::Connection*>(nullptr);
  }
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connected->connection);
  if (interrupted_) connection_->interrupt();
  return connection_.get();
}

duck::ScriptOutcome SqlStep::run_script() {
  auto connection = connect();
  if (!connection) return {duck::ScriptOutcome::Kind::failed, connection.error().message, 0};
  if (*connection == nullptr) return {};
  return (*connection)->run(script_.request, [this](std::string_view line) { post_line(line); });
}

bool SqlStep::interrupted() {
  const std::lock_guard lock(mutex_);
  return interrupted_;
}

void SqlStep::note(std::string text) {
  services_.mailbox.post([this, text = std::move(text)] { services_.log.note(services_.now(), "", text); });
}

void SqlStep::post_line(std::string_view line) {
  const std::string_view kept = cut_at_character(line, LineSplitter::kept_bytes);
  services_.mailbox.post([this, text = std::string(kept), bytes = static_cast<std::int64_t>(line.size())] {
    services_.log.line(services_.now(), step_.id, Stream::out, text, bytes);
  });
}

void SqlStep::found_held(wire::FileHeld held) {
  if (stopped_) {
    ended(duck::ScriptOutcome{duck::ScriptOutcome::Kind::interrupted, "", 0});
  } else {
    held_ = std::move(held);
  }
}

void SqlStep::ended(duck::ScriptOutcome outcome) {
  if (timer_ != 0) services_.reactor.cancel_timer(std::exchange(timer_, 0));
  outcome_ = std::move(outcome);
}

void SqlStep::after(Micros delay, void (SqlStep::*then)()) {
  timer_ = services_.reactor.call_after(delay, [this, then] {
    timer_ = 0;
    (this->*then)();
  });
}

void SqlStep::stop(wire::StepOutcome why) {
  if (over() || stopped_) return;
  stopped_ = why;
  if (held_) {  // no thread is at work
    held_.reset();
    outcome_ = duck::ScriptOutcome{duck::ScriptOutcome::Kind::interrupted, "", 0};
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (connection_) connection_->interrupt();
  }
  after(services_.limits.after_interrupt, &SqlStep::interrupt_again);
}

void SqlStep::interrupt_again() {
  {
    const std::lock_guard lock(mutex_);
    if (connection_) connection_->interrupt();
  }
  after(services_.limits.after_term, &SqlStep::give_up);
}

void SqlStep::give_up() {
  services_.log.note(services_.now(), step_.id, "the query ignores its interrupt: the worker process ends with it");
  stuck_ = true;
}

void SqlStep::try_again() {
  if (!held_) return;
  held_.reset();
  work_.get();  // it has posted its last letter
  start();
}

std::optional<double> SqlStep::progress() {
  const std::lock_guard lock(mutex_);
  return connection_ ? connection_->progress() : std::nullopt;
}

wire::StepResult SqlStep::result() {
  using Kind = duck::ScriptOutcome::Kind;
  wire::StepResult result;
  if (!outcome_) {  // stuck
    result.outcome = *stopped_;
    return result;
  }
  switch (outcome_->kind) {
    case Kind::succeeded:
      result.outcome = wire::StepOutcome::succeeded;
      result.rows = outcome_->rows_changed;
      break;
    case Kind::receipt_found:
      result.outcome = wire::StepOutcome::receipt_found;
      break;
    case Kind::failed:
      result.outcome = wire::StepOutcome::failed;
      result.error = outcome_->error;
      break;
    case Kind::interrupted:
      result.outcome = stopped_.value_or(wire::StepOutcome::cancelled);
      break;
  }
  return result;
}

}  // namespace eider::worker
