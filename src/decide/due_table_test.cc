// Every cell of (overlap × misfire × active? × queued? × backing off? × paused? × excluded? × clock stepped? × late?).
// What is expected is worked out here a second time, from the words of the design's section 6 and without the
// production rules.
#include <map>
#include <set>

#include "decide/due_fixture.h"

namespace eider::decide {
namespace {

using model::Decision;
using model::Misfire;
using model::Overlap;

enum class Active { nothing, own, of_a_person };
enum class Excluded { nothing, newest, all };

struct Cell {
  Overlap overlap;
  Misfire misfire;
  Active active;
  bool queued, backing_off, paused;
  Excluded excluded;
  bool stepped;  ///< the clock was set back, and the newest instant ran before
  bool late;     ///< two instants, both late; else one, on time

  std::string text() const {
    return std::string(to_text(overlap)) + " " + to_text(misfire) + " active " +
           std::to_string(static_cast<int>(active)) + (queued ? " queued" : "") + (backing_off ? " backing-off" : "") +
           (paused ? " paused" : "") + " excluded " + std::to_string(static_cast<int>(excluded)) +
           (stepped ? " stepped" : "") + (late ? " late" : "");
  }
};

template <typename Use>
void for_every_cell(const Use& use) {
  const bool both[] = {false, true};
  for (const Overlap overlap : {Overlap::skip, Overlap::queue, Overlap::replace, Overlap::allow})
    for (const Misfire misfire : {Misfire::skip, Misfire::latest, Misfire::all})
      for (const Active active : {Active::nothing, Active::own, Active::of_a_person})
        for (const bool queued : both)
          for (const bool backing_off : both)
            for (const bool paused : both)
              for (const Excluded excluded : {Excluded::nothing, Excluded::newest, Excluded::all})
                for (const bool stepped : both)
                  for (const bool late : both)
                    use(Cell{overlap, misfire, active, queued, backing_off, paused, excluded, stepped, late});
}

const Instant kOlder = at("2026-01-01T10:01:00Z");
const Instant kNewest = at("2026-01-01T10:02:00Z");

/// (decision, reason) by instant, and which runs are asked to end or superseded.
struct Verdict {
  std::map<Instant, std::pair<Decision, std::string>> said;
  std::vector<std::string> ended;
  Instant cursor{};
  bool operator==(const Verdict&) const = default;
};

/// The design's words, one sentence after the other.
class Reference {
 public:
  explicit Reference(const Cell& cell) : cell_(cell) {
    if (cell.active == Active::own) own_.push_back("running");
    if (cell.queued) own_.push_back("queued");
    if (cell.backing_off) own_.push_back("backing-off");
    active_ = static_cast<int>(own_.size()) + (cell.active == Active::of_a_person ? 1 : 0);
  }

  Verdict verdict() {
    // "Instants while paused are not missed": nothing is said of them before the resume.
    out_.cursor = cell_.late ? kOlder - std::chrono::minutes(1) : kOlder;
    if (cell_.paused) return out_;
    std::vector<Instant> left;
    for (const Instant instant : cell_.late ? std::vector{kOlder, kNewest} : std::vector{kNewest}) {
      const bool newest = instant == kNewest;
      out_.cursor = instant;
      if (cell_.stepped && newest) continue;  // "a run decision is unique for ever"
      if (cell_.excluded == Excluded::all || (cell_.excluded == Excluded::newest && newest)) {
        out_.said[instant] = {Decision::excluded, model::reason::excluded_by_calendar};
      } else {
        left.push_back(instant);
      }
    }
    for (const Instant instant : left) {
      if (!cell_.late) {
        overlap(instant, model::reason::due);
      } else if (cell_.misfire == Misfire::skip) {  // decided later than grace
        out_.said[instant] = {Decision::missed, model::reason::misfire_skip};
      } else if (cell_.misfire == Misfire::all) {  // "outside queue_limit"
        run(instant, model::reason::caught_up);
      } else if (instant == left.back()) {  // "latest runs the newest of all undecided ones"
        overlap(instant, model::reason::late);
      } else {
        out_.said[instant] = {Decision::coalesced, model::reason::newer_due};
      }
    }
    return out_;
  }

 private:
  void run(Instant instant, const char* why) { out_.said[instant] = {Decision::run, why}; }
  void skip(Instant instant, const char* why) { out_.said[instant] = {Decision::skipped, why}; }

  /// "an active run of the pipeline, whatever caused it".
  void overlap(Instant instant, const char* why) {
    switch (cell_.overlap) {
      case Overlap::skip:
        return active_ > 0 ? skip(instant, model::reason::active_run) : run(instant, why);
      case Overlap::queue:  // one runs, and queue_limit of 1 waits
        return active_ >= 2 ? skip(instant, model::reason::queue_full) : run(instant, why);
      case Overlap::replace:  // "cancels only this schedule's runs"
        out_.ended = own_;
        return run(instant, why);
      case Overlap::allow:
        return run(instant, why);
    }
  }

  const Cell cell_;
  std::vector<std::string> own_;
  int active_ = 0;
  Verdict out_;
};

Verdict decided(const Cell& cell) {
  Case c;
  c.schedule().overlap = cell.overlap;
  c.schedule().misfire = cell.misfire;
  if (cell.overlap == Overlap::allow) c.pipeline.max_active_runs = 0;
  if (cell.active == Active::own) c.active.push_back({"running", c.key, true, false});
  if (cell.active == Active::of_a_person) c.active.push_back({"other", "", true, false});
  if (cell.queued) c.active.push_back({"queued", c.key, false, false});
  if (cell.backing_off) c.active.push_back({"backing-off", c.key, false, false});
  c.cursor.paused = cell.paused;
  c.cursor.decided_until = cell.late ? kOlder - std::chrono::minutes(1) : kOlder;
  // A minute of the day that is excluded, or the whole morning.
  if (cell.excluded != Excluded::nothing) {
    const int from = cell.excluded == Excluded::all ? 0 : 602;
    const int to = cell.excluded == Excluded::all ? 720 : 603;
    c.add_calendar("c", {std::nullopt, std::nullopt, std::vector<timing::DayHours>{{from, to}}, std::nullopt});
    c.schedule().exclude = {"c"};
  }
  if (cell.stepped) c.ran = {kNewest};
  Verdict out;
  out.cursor = c.cursor.decided_until;
  for (const DueDecision& decision : c.decide(cell.late ? kNewest + std::chrono::seconds(30) : kNewest)) {
    EXPECT_GE(decision.decided_until, out.cursor);
    out.cursor = decision.decided_until;
    for (const model::Occurrence& o : decision.occurrences) {
      for (Instant each = o.scheduled_for; each <= o.scheduled_until; each += std::chrono::minutes(1)) {
        EXPECT_TRUE(out.said.emplace(each, std::pair(o.decision, o.reason)).second) << "decided twice";
      }
      EXPECT_EQ(o.decision == Decision::run, o.scheduled_for == decision.scheduled_for && !decision.run_id.empty());
    }
    out.ended.insert(out.ended.end(), decision.cancel_running.begin(), decision.cancel_running.end());
    out.ended.insert(out.ended.end(), decision.cancel_queued.begin(), decision.cancel_queued.end());
  }
  return out;
}

TEST(Table, EveryCellIsWhatTheDesignSays) {
  int cells = 0;
  int refused = 0;
  for_every_cell([&](const Cell& cell) {
    if (cell.misfire == Misfire::all && cell.overlap != Overlap::queue) {
      ++refused;  // at validation
      return;
    }
    ++cells;
    const Verdict expected = Reference(cell).verdict();
    const Verdict found = decided(cell);
    EXPECT_EQ(found.said, expected.said) << cell.text();
    EXPECT_EQ(found.ended, expected.ended) << cell.text();
    EXPECT_EQ(found.cursor, expected.cursor) << cell.text();
  });
  EXPECT_EQ(cells, 9 * 3 * 2 * 2 * 2 * 3 * 2 * 2);
  EXPECT_EQ(refused, 3 * 3 * 2 * 2 * 2 * 3 * 2 * 2);
}

// I5, with calendars, jitter, bounds and instants that ran: each instant of (cursor, horizon] is in one row at most, in
// all but those that ran, in order; and the cursor ends behind them, in whatever portions the turns come.
RC_GTEST_PROP(Law, EveryDueInstantIsDecidedOnceWhateverExcludesIt, ()) {
  Case c(*rc::gen::element<std::string>("*/3 * * * *", "0 * * * *", "30 2 * * *"));
  c.schedule().timing.timezone = "Europe/Brussels";
  c.schedule().misfire = *rc::gen::element(Misfire::skip, Misfire::latest, Misfire::all);
  c.schedule().overlap =
      c.schedule().misfire == Misfire::all ? Overlap::queue : *rc::gen::element(Overlap::skip, Overlap::allow);
  c.schedule().max_catchup = *rc::gen::inRange(1, 20);
  c.schedule().catchup_window = std::chrono::minutes(*rc::gen::inRange(1, 10'000));
  c.schedule().jitter = std::chrono::seconds(*rc::gen::element(0, 100));
  c.add_calendar("nights", nights());
  c.add_calendar("weekends", weekend());
  if (*rc::gen::arbitrary<bool>()) c.schedule().exclude.push_back("nights");
  if (*rc::gen::arbitrary<bool>()) c.schedule().exclude.push_back("weekends");
  if (*rc::gen::inRange(0, 5) == 0) c.schedule().only.push_back("nights");
  const Instant from = at("2026-03-27T00:00:00Z") + std::chrono::minutes(*rc::gen::inRange(0, 600));
  const Instant now = from + std::chrono::minutes(*rc::gen::inRange(0, 6'000));
  if (*rc::gen::inRange(0, 4) == 0) c.schedule().start = from + std::chrono::minutes(*rc::gen::inRange(0, 3'000));
  if (*rc::gen::inRange(0, 4) == 0) c.schedule().end = from + std::chrono::minutes(*rc::gen::inRange(3'000, 6'000));
  c.cursor.decided_until = from;
  const timing::Rule rule = c.rule();
  const Instant horizon = now - jitter_delay(c.key, c.schedule().jitter);
  std::set<Instant> left;
  for (auto each = rule.next(from); each && *each <= horizon; each = rule.next(*each)) {
    if (*rc::gen::inRange(0, 50) == 0) {
      c.ran.push_back(*each);
    } else {
      left.insert(*each);
    }
  }
  const int limit = *rc::gen::inRange(1, 30);
  Instant last = from;
  for (int turn = 0; turn < 10'000; ++turn) {
    const auto decisions = c.decide(now, limit);
    if (decisions.empty()) break;
    c.excluded_before.reset();
    for (const DueDecision& decision : decisions) {
      for (const model::Occurrence& o : decision.occurrences) {
        const Instant begins = std::max(o.scheduled_for, last + Micros(1));
        RC_ASSERT(rule.count(o.scheduled_for - Micros(1), o.scheduled_until) == o.count);
        for (auto each = rule.next(begins - Micros(1)); each && *each <= o.scheduled_until; each = rule.next(*each)) {
          RC_ASSERT(left.erase(*each) == 1u);
        }
        last = o.scheduled_until;
        c.excluded_before.reset();
        if (o.decision == Decision::excluded) c.excluded_before = o;
      }
      if (decision.occurrences.empty()) c.excluded_before.reset();
      RC_ASSERT(decision.decided_until >= last && decision.decided_until <= horizon);
      RC_ASSERT(decision.decided_until > c.cursor.decided_until);
      c.cursor.decided_until = decision.decided_until;
    }
  }
  RC_ASSERT(left.empty());
}

}  // namespace
}  // namespace eider::decide
