// Which seconds on the wall a cron expression names, whatever the zone: pure calendar arithmetic, by day and not by
// minute. Wall times are seconds since 1970-01-01T00:00:00 on the wall. All searches end with the year 2200.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "timing/cron_fields.h"

namespace eider::timing {

class WallPattern {
 public:
  WallPattern() = default;
  explicit WallPattern(const CronFields& fields) : fields_(fields) {}

  bool matches(std::int64_t wall_s) const;
  /// The first match in [from, until).
  std::optional<std::int64_t> first(std::int64_t from_s, std::int64_t until_s) const;
  /// The last match in [from, until).
  std::optional<std::int64_t> last(std::int64_t from_s, std::int64_t until_s) const;
  /// The number of matches in [from, until). Costs one step a month of the span.
  std::int64_t count(std::int64_t from_s, std::int64_t until_s) const;
  /// False when no day of any year matches.
  bool ever() const;

 private:
  struct Month;
  std::uint32_t days_of(const Month& month) const;
  std::optional<std::int64_t> first_day(std::int64_t from, std::int64_t until) const;
  std::optional<std::int64_t> last_day(std::int64_t from, std::int64_t until) const;
  std::int64_t count_days(std::int64_t from, std::int64_t until) const;
  std::optional<std::int64_t> first_time(std::int64_t from_s) const;
  std::optional<std::int64_t> last_time(std::int64_t until_s) const;
  std::int64_t count_times(std::int64_t until_s) const;

  CronFields fields_;
};

}  // namespace eider::timing
