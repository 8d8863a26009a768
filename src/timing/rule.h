// One clock rule of a schedule: a cron expression in a zone, an anchored interval, a single instant, or a fixed delay
// after each completion. Pure, and cheap to ask: a microsecond or few a question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "timing/cron.h"
#include "timing/interval.h"
#include "timing/zone.h"

namespace eider::timing {

class Rule {
 public:
  enum class Kind { cron, every, at, after_completion };

  static Rule cron(const Cron& cron, Zone zone) { return Rule(Kind::cron, cron, zone); }
  /// The zone is for people: an interval counts real time.
  static Rule every(Interval interval, Zone zone) { return Rule(Kind::every, interval, zone); }
  static Rule at(Instant at, Zone zone) { return Rule(Kind::at, at, zone); }
  /// `every: …, from: completion`. Until a first run has ended it is the anchored interval itself, in all of next(),
  /// previous(), count() and newest(). From then on the caller asks next_after_completion() with the end of the newest
  /// run instead; while a run is active nothing is due.
  static Rule after_completion(Interval interval, Zone zone) { return Rule(Kind::after_completion, interval, zone); }

  Kind kind() const { return kind_; }
  const Zone& zone() const { return zone_; }

  /// The first firing later than `after`; none when there is no more (up to the year 2200).
  std::optional<Instant> next(Instant after) const;
  /// The newest firing not later than `before_or_at`.
  std::optional<Instant> previous(Instant before_or_at) const;
  /// The number of firings in (after, until]; does not grow with their number.
  std::int64_t count(Instant after, Instant until) const;
  /// The newest `limit` firings in (after, until], oldest first.
  std::vector<Instant> newest(Instant after, Instant until, int limit) const;
  /// The firing that follows a run that ended at `completed`: the delay later for after_completion, else next().
  std::optional<Instant> next_after_completion(Instant completed) const;
  /// True when the firing at this instant was moved there by a gap of the wall clock (rule R5 of timing/cron.h).
  bool shifted(Instant at) const;

  /// For people: `every 5 seconds`, `at 02:30 every day in Europe/Brussels`; a cron that is too much for words as it
  /// is.
  std::string describe() const;
  /// For machines: equal rules, equal text, in every version; its hash tells whether a rule was changed.
  std::string to_string() const;

  friend bool operator==(const Rule&, const Rule&) = default;

 private:
  using When = std::variant<Cron, Interval, Instant>;
  Rule(Kind kind, const When& when, Zone zone) : kind_(kind), when_(when), zone_(zone) {}

  Kind kind_;
  When when_;
  Zone zone_;
};

}  // namespace eider::timing
