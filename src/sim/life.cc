#include "sim/life.h"

#include <fmt/format.h>

#include "sim/living.h"

namespace eider::sim {
namespace {

using namespace std::chrono_literals;

constexpr Micros calm_after = 6s;     // what the store refused is decided again after 5
constexpr Micros starts_after = 31s;  // what could not be started is tried again after 30 at most
constexpr Micros quiet_time = 30h;    // no wait of a run is longer than a day

std::unique_ptr<store::Store> open_store() { return std::move(store::open_sqlite_store({":memory:"}).value()); }

}  // namespace

const char* to_text(Mutation mutation) {
  constexpr const char* texts[] = {"none",
                                   "drop-fence",
                                   "hand-off-early",
                                   "uncounted-slots",
                                   "uncounted-locks",
                                   "uncounted-starts",
                                   "forgotten-failures",
                                   "endless-failures",
                                   "empty-calendars",
                                   "leaked-slots",
                                   "forgotten-cursor",
                                   "lost-result",
                                   "lost-hand-off",
                                   "instant-twice",
                                   "forgotten-key",
                                   "reported-too-early",
                                   "guessed-commit"};
  return texts[static_cast<int>(mutation)];
}

Life::Life(const Plan& plan, Mutation mutation, bool traced)
    : plan_(plan),
      mutation_(mutation),
      clock_(plan.begin),
      random_(mixed(plan.seed, 1)),
      world_(plan.seed, clock_, faults_, mutation),
      book_(clock_, world_),
      store_(open_store(), clock_, faults_, book_, world_, mutation),
      files_(plan),
      born_(clock_.boottime()) {
  world_.keep_books(&book_);
  if (traced) book_.trace = [this](const std::string& line) { say("  " + line); };
}

void Life::say(const std::string& line) {
  if (book_.trace) report_.trace.push_back(fmt::format("{} {}", format_rfc3339(clock_.now()), line));
}

Report Life::live() {
  boot();
  for (const Action& action : plan_.actions) {
    live_until(action.at);
    if (over()) break;
    if (age() < action.at) continue;
    act(action);
    if (loop_) crank();
    if (over()) break;
  }
  live_until(plan_.length);
  if (!over()) calm_end();
  report_.finding = book_.finding();
  report_.decisions = book_.decisions();
  report_.runs = book_.runs();
  report_.lived = age();
  return std::move(report_);
}

std::shared_ptr<const workspace::Workspace> Life::read_workspace(const workspace::Workspace* in_force) {
  auto read = files_.read(in_force);
  store_.switch_workspace(read);
  if (files_.leaked().empty() && mutation_ != Mutation::empty_calendars) return read;
  auto lacking = std::make_shared<workspace::Workspace>(*read);
  for (const auto& [pool, slots] : files_.leaked()) {
    lacking->settings.pools[pool].slots = std::max(0, lacking->settings.pools[pool].slots - slots);
  }
  if (mutation_ == Mutation::empty_calendars) {
    for (auto& [name, calendar] : lacking->calendars) calendar = std::make_shared<const timing::Calendar>();
  }
  return lacking;
}

void Life::boot() {
  inbox_ = std::make_unique<engine::Inbox>([] {});
  engine::LoopOptions options;
  options.owner = "simulated/1";
  loop_ = std::make_unique<engine::Loop>(
      engine::LoopParts{clock_,
                        random_,
                        store_,
                        world_,
                        *inbox_,
                        [this](const workspace::Workspace* in_force) { return read_workspace(in_force); },
                        {},
                        nullptr},
      options);
  draining_ = false;
  say("the server starts");
  try {
    if (auto booted = loop_->boot(read_workspace(nullptr)); !booted) {
      say("it can't: " + booted.error().message);
      return left(100ms);
    }
  } catch (const Crashed&) {
    return crashed(down_for_);
  }
  crank();
}

/// The process is gone in the middle of what it did.
void Life::crashed(Micros down_for) {
  say(fmt::format("the power fails for {}", format_duration(down_for)));
  if (mutation_ == Mutation::leaked_slots) files_.leak(book_.slots_in_use());
  loop_.reset();
  inbox_.reset();
  faults_.steps_to_crash = -1;
  store_.power_failed();
  world_.server_died();
  book_.server_died();
  up_at_ = clock_.boottime() + down_for;
}

/// The process has ended by itself; what runs goes on.
void Life::left(Micros down_for) {
  say("the server has ended");
  loop_.reset();
  inbox_.reset();
  store_.rollback();
  world_.server_left();
  book_.server_died();
  up_at_ = clock_.boottime() + down_for;
}

/// Turns until nothing is due at this instant.
void Life::crank() {
  try {
    for (int i = 0;; ++i) {
      world_.happen();
      next_ = loop_->turn();
      ++report_.turns;
      if (over()) return;
      if (next_.ended) return left(down_for_);
      const bool due = next_.wake_at && *next_.wake_at <= clock_.now();
      if (!due && !world_.has_events()) break;
      if (i > 5000) return book_.violated("I1", "the loop spins");
    }
  } catch (const Crashed&) {
    return crashed(down_for_);
  }
  if (plan_.checks_each_step || clock_.boottime() - checked_at_ >= 1h) check(true);
}

void Life::check(bool settled) {
  checked_at_ = clock_.boottime();
  if (!settled || clock_.boottime() - faults_.newest < calm_after) return;
  Book::Health health;
  health.draining = draining_;
  health.starts = clock_.boottime() - world_.lacked_last() >= starts_after;
  book_.check_settled(health);
}

Micros Life::next_stop(Micros until) const {
  Micros stop = until;
  if (const auto at = world_.next_at()) stop = std::min(stop, *at);
  if (!loop_) return std::min(stop, up_at_);
  if (next_.retry_in) stop = std::min(stop, clock_.boottime() + std::max(*next_.retry_in, Micros(1)));
  if (next_.wake_at) stop = std::min(stop, clock_.boottime() + std::max(*next_.wake_at - clock_.now(), Micros(1)));
  return stop;
}

void Life::go_to(Micros boottime) {
  if (boottime > clock_.boottime()) clock_.advance(boottime - clock_.boottime());
}

/// `until` counts from the begin.
void Life::live_until(Micros until) {
  while (!over() && age() < until) {
    go_to(next_stop(born_ + until));
    world_.happen();
    if (loop_) {
      crank();
    } else if (clock_.boottime() >= up_at_) {
      boot();
    }
  }
}

/// Nothing goes wrong any more, no clock makes new work, and all there is has time to end.
void Life::calm_end() {
  say("all is calm");
  faults_.end();
  world_.calm_down();
  files_.mend_all();
  if (draining_ && loop_) crashed(0s);
  up_at_ = std::min(up_at_, clock_.boottime());
  if (!loop_) boot();
  post(engine::Reload{[this](const auto&) { book_.answered(); }});
  pause_all(true);
  crank();
  live_until(age() + quiet_time);
  if (over()) return;
  check(true);
  book_.check_quiet();
  pause_all(false);
  crank();
  live_until(age() + 10min);
  if (over()) return;
  if (auto open = store_.truth()) book_.check_store(*open);
}

Report live(const Plan& plan, Mutation mutation, bool traced) { return Life(plan, mutation, traced).live(); }

}  // namespace eider::sim
