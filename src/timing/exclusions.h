// Which instants of a schedule are not to run, whatever else holds: those before `start`, after `end`, in a calendar
// that `exclude` names, or in none of those that `only` names. Pure; cheap to ask, and it says how far an answer holds,
// so that nobody walks over instants one by one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "timing/calendar.h"
#include "timing/rule.h"
#include "timing/zone.h"

namespace eider::timing {

/// By name.
using Calendars = std::map<std::string, std::shared_ptr<const Calendar>, std::less<>>;
/// A calendar as a schedule names it.
struct NamedCalendar {
  std::string name;
  std::shared_ptr<const Calendar> calendar;
};

/// Why an instant is excluded. `by`: the calendar, or `start`, `end`, or of `only` all of its calendars.
struct Exclusion {
  enum class Kind { none, before_start, after_end, excluded, not_in };
  Kind kind = Kind::none;
  std::string by{};
  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

/// The stretch of time around an instant on which one answer holds; begin inclusive, end exclusive. Not always the
/// longest such stretch.
struct ExclusionSpan {
  Exclusion why;
  Instant begin{};
  Instant end{};
};

class Exclusions {
 public:
  Exclusions() = default;
  /// `zone` is the schedule's: that of calendars which name none.
  Exclusions(std::optional<Instant> start, std::optional<Instant> end, std::vector<NamedCalendar> exclude,
             std::vector<NamedCalendar> only, Zone zone);

  /// False: nothing is ever excluded.
  bool any() const { return start_ || end_ || !exclude_.empty() || !only_.empty(); }
  ExclusionSpan at(Instant instant) const;

  /// The first firing later than `after` that is not excluded.
  struct Found {
    std::optional<Instant> at;
    bool unknown = false;  ///< the search was given up: it looked at kLookAhead stretches of time
  };
  Found next(const Rule& rule, Instant after) const;
  /// The newest firing in (after, until] that is not excluded. Bounded by the stretches of that time.
  std::optional<Instant> previous(const Rule& rule, Instant after, Instant until) const;

  /// How far next() looks: years of nights and weekends.
  static constexpr int kLookAhead = 1000;

 private:
  std::optional<Instant> start_;
  std::optional<Instant> end_;
  std::vector<NamedCalendar> exclude_;
  std::vector<NamedCalendar> only_;
  std::string only_names_;
  Zone zone_;
};

}  // namespace eider::timing
