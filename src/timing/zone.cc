#include "timing/zone.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include <cctz/time_zone.h>
#include <fmt/format.h>

#include "base/check.h"
#include "timing/zone_names.h"

namespace eider::timing {

struct Zone::Data {
  std::string name;
  cctz::time_zone zone;
  std::vector<Stretch> stretches;
};

namespace {

using std::chrono::seconds;
using UtcSecond = cctz::time_point<cctz::seconds>;

std::int64_t floor_s(Instant at) { return std::chrono::floor<seconds>(at).time_since_epoch().count(); }
UtcSecond utc_second(std::int64_t s) { return UtcSecond(cctz::seconds(s)); }
cctz::civil_second civil(std::int64_t wall_s) { return cctz::civil_second(1970, 1, 1, 0, 0, 0) + wall_s; }

std::vector<Stretch> stretches_of(const cctz::time_zone& zone) {
  const std::int64_t end_s = floor_s(kEndInstant);
  std::vector<Stretch> out;
  std::int64_t begin_s = floor_s(kFirstInstant);
  std::int64_t shown_until_s = begin_s + zone.lookup(utc_second(begin_s)).offset;  // the furthest wall time so far
  while (begin_s < end_s) {
    Stretch stretch;
    stretch.begin_s = begin_s;
    stretch.end_s = end_s;
    stretch.offset_s = zone.lookup(utc_second(begin_s)).offset;
    cctz::time_zone::civil_transition change;
    UtcSecond at = utc_second(begin_s);
    while (zone.next_transition(at, &change)) {
      at = zone.lookup(change.to).trans;
      if (at >= utc_second(end_s)) break;
      if (zone.lookup(at).offset == stretch.offset_s) continue;  // only the name of the time changed
      stretch.end_s = at.time_since_epoch().count();
      break;
    }
    stretch.fresh_wall_s = std::max(shown_until_s, stretch.wall_begin_s());
    stretch.gap_wall_s = std::min(shown_until_s, stretch.wall_begin_s());
    shown_until_s = std::max(shown_until_s, stretch.wall_end_s());
    out.push_back(stretch);
    begin_s = stretch.end_s;
  }
  return out;
}

/// Zones that were loaded; they are never freed, so that a Zone can be a pointer.
class Table {
 public:
  const Zone::Data* find(std::string_view name) {
    const std::shared_lock lock(mutex_);
    const auto found = zones_.find(name);
    return found == zones_.end() ? nullptr : found->second;
  }
  const Zone::Data* add(std::string name, const cctz::time_zone& zone) {
    auto made = std::make_unique<Zone::Data>(Zone::Data{std::move(name), zone, stretches_of(zone)});
    const std::unique_lock lock(mutex_);
    const auto [place, is_new] = zones_.try_emplace(made->name, made.get());
    if (is_new) owned_.push_back(std::move(made));
    return place->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string_view, const Zone::Data*> zones_;
  std::vector<std::unique_ptr<Zone::Data>> owned_;
};

Table& table() {
  static Table* const made = new Table;
  return *made;
}

}  // namespace

Zone::Zone() {
  static const Data* const utc = table().add("UTC", cctz::utc_time_zone());
  data_ = utc;
}

Result<Zone> Zone::load(std::string_view name) {
  if (name == "UTC") return utc();
  if (const Data* known = table().find(name)) return Zone(known);
  cctz::time_zone zone;
  if (!is_zone_name(name) || !cctz::load_time_zone(std::string(name), &zone)) return unknown_zone(name);
  return Zone(table().add(std::string(name), zone));
}

const std::string& Zone::name() const { return data_->name; }

seconds Zone::offset_at(Instant at) const {
  const std::int64_t utc_s = floor_s(at);
  if (at >= kFirstInstant && at < kEndInstant) return seconds(data_->stretches[stretch_at(utc_s)].offset_s);
  return seconds(data_->zone.lookup(utc_second(utc_s)).offset);
}

std::chrono::local_time<Micros> Zone::wall_at(Instant at) const {
  return std::chrono::local_time<Micros>(at.time_since_epoch() + offset_at(at));
}

Instant Zone::first_instant(WallTime wall) const {
  const auto found = data_->zone.lookup(civil(wall.time_since_epoch().count()));
  const bool skipped = found.kind == cctz::time_zone::civil_lookup::SKIPPED;
  return Instant(seconds((skipped ? found.trans : found.pre).time_since_epoch().count()));
}

std::optional<Instant> Zone::next_transition(Instant after) const {
  for (std::size_t i = stretch_at(floor_s(after)); i < data_->stretches.size(); ++i) {
    const Instant begin{seconds(data_->stretches[i].begin_s)};
    if (i > 0 && begin > after) return begin;
  }
  return std::nullopt;
}

std::span<const Stretch> Zone::stretches() const { return data_->stretches; }

std::size_t Zone::stretch_at(std::int64_t utc_s) const {
  const auto& all = data_->stretches;
  const auto after = std::upper_bound(all.begin(), all.end(), utc_s,
                                      [](std::int64_t s, const Stretch& stretch) { return s < stretch.begin_s; });
  return after == all.begin() ? 0 : static_cast<std::size_t>(after - all.begin() - 1);
}

}  // namespace eider::timing
