// Cron expressions and when they fire. The syntax is the Open Cron Pattern Specification: 5 fields, 6 with a leading
// second, 7 with a year; lists, ranges, steps, names, L, W, #, ?, + and nicknames. These rules decide the rest, and
// stand above it where it differs (it would skip a fixed time in a gap, where Debian's cron runs it after the gap):
//   R1 0 and 7 are Sunday; reversed ranges, steps of 0 and `N/step` are refused, but a weekday range may end in Sunday.
//   R2 If neither day field begins with `*`, either is enough; otherwise both must match.
//   R3 Firings are instants: two of them at one instant are one.
//   R4 A fixed time has no `*` and no `/` in second, minute and hour; anything else is an interval.
//   R5 Gap, fixed time: one firing at the first instant after the gap, if the gap is at most 3 hours.
//   R6 Overlap, fixed time: the first pass only.
//   R7 Interval: the wall clock decides at each real second; gaps make no firing, overlaps fire in both passes.
// Pure. Firings are whole seconds from 1970 to 2200: every search is bounded by months of that span.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "timing/cron_fields.h"
#include "timing/wall_pattern.h"
#include "timing/zone.h"

namespace eider::timing {

class Cron {
 public:
  /// An Error `invalid` names the field, the value and what was expected; so does one for an expression that can never
  /// fire. Years that lie in the past are no error: next() has no answer then.
  static Result<Cron> parse(std::string_view text);
  /// The shortest usual form; parse() reads it back to an equal Cron.
  std::string to_string() const { return print_cron_fields(fields_); }
  const CronFields& fields() const { return fields_; }

  /// The first firing later than `after`; none when the years are exhausted.
  std::optional<Instant> next(Instant after, const Zone& zone) const;
  /// The newest firing not later than `before_or_at`.
  std::optional<Instant> previous(Instant before_or_at, const Zone& zone) const;
  /// The number of firings in (after, until]. Costs a step a month of the span, whatever the number.
  std::int64_t count(Instant after, Instant until, const Zone& zone) const;
  /// True when what fires at this instant was moved there by a gap (R5), and would not fire there by itself.
  bool shifted(Instant at, const Zone& zone) const;

  friend bool operator==(const Cron& a, const Cron& b) { return a.fields_ == b.fields_; }

 private:
  explicit Cron(const CronFields& fields) : fields_(fields), pattern_(fields) {}
  bool moved_to_begin(const Stretch& stretch) const;
  std::int64_t first_wall(const Stretch& stretch) const;

  CronFields fields_;
  WallPattern pattern_;
};

}  // namespace eider::timing
