#include "sim/meters.h"

#include <algorithm>

namespace eider::sim {

using decide::Kind;
using decide::Need;
using decide::Thing;

double UseForecast::busiest() const {
  double mean_of_it = 0;
  for (const Hour& hour : hours) mean_of_it = std::max(mean_of_it, hour.mean);
  return all > 0 ? mean_of_it / static_cast<double>(all) : 0;
}

void Meter::change(std::int64_t by, Instant now) {
  pass(now);
  used_ += by;
  if (used_ > out_.most) {
    out_.most = used_;
    out_.most_at = now;
  }
  auto& hour = out_.hours[hour_of(now)];
  hour.most = std::max(hour.most, used_);
}

UseForecast Meter::read(Instant until) {
  pass(until);
  double sum = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    if (lived_[i] > 0) out_.hours[i].mean = used_for_[i] / lived_[i];
    sum += used_for_[i];
  }
  const auto all = static_cast<double>((until - from_).count());
  if (all > 0) out_.mean = sum / all;
  return out_;
}

std::size_t Meter::hour_of(Instant at) const {
  const auto wall = zone_.wall_at(at).time_since_epoch();
  return static_cast<std::size_t>(std::chrono::floor<std::chrono::hours>(wall).count() % 24);
}

/// Up to `now` as much was used as is now; cut at each full hour. (A zone's offset changes at full quarters.)
void Meter::pass(Instant now) {
  while (since_ < now) {
    const Instant next =
        std::min<Instant>(now, std::chrono::floor<std::chrono::minutes>(since_) + minutes_left(since_));
    const std::size_t hour = hour_of(since_);
    const auto lasted = static_cast<double>((next - since_).count());
    used_for_[hour] += lasted * static_cast<double>(used_);
    lived_[hour] += lasted;
    if (used_ > 0) out_.hours[hour].most = std::max(out_.hours[hour].most, used_);
    since_ = next;
  }
}

std::chrono::minutes Meter::minutes_left(Instant at) const {
  const auto wall = std::chrono::floor<std::chrono::minutes>(zone_.wall_at(at).time_since_epoch());
  return std::chrono::minutes(60 - wall.count() % 60);
}

Meters::Meters(const workspace::Workspace& workspace, const timing::Zone& zone, Instant from)
    : workspace_(workspace), zone_(zone), from_(from) {
  const model::Settings& settings = workspace.settings;
  add(Kind::worker, "worker", settings.max_workers);
  for (const auto& [name, pool] : settings.pools) {
    if (pool.slots > 0) add(Kind::pool, name, pool.slots);
    if (pool.rate) add(Kind::rate, name, pool.rate->starts);
  }
  if (settings.memory_bytes) add(Kind::memory, "memory", *settings.memory_bytes);
  if (settings.temp_bytes) add(Kind::temp, "temp", *settings.temp_bytes);
}

void Meters::add(Kind kind, const std::string& name, std::int64_t all) {
  meters_.emplace(Thing{kind, name}, Meter(all, from_, zone_));
}

void Meters::begins(const std::vector<Need>& needs, Instant at) {
  expire(at);
  for (const Need& need : needs) {
    const Kind kind = need.thing.kind;
    if (kind == Kind::lock || kind == Kind::database) {
      if (!meters_.contains(need.thing)) add(kind, need.thing.name, 1);
      if (++holders_[need.thing] == 1) meters_.at(need.thing).change(1, at);
    } else if (const auto meter = meters_.find(need.thing); meter != meters_.end()) {
      meter->second.change(need.amount, at);
      if (kind == Kind::rate)
        starts_[need.thing].push_back(at + workspace_.settings.pools.at(need.thing.name).rate->per);
    }
  }
}

void Meters::ends(const std::vector<Need>& needs, Instant at) {
  expire(at);
  for (const Need& need : needs) {
    const Kind kind = need.thing.kind;
    if (kind == Kind::rate) continue;
    if (kind == Kind::lock || kind == Kind::database) {
      if (--holders_.at(need.thing) == 0) meters_.at(need.thing).change(-1, at);
    } else if (const auto meter = meters_.find(need.thing); meter != meters_.end()) {
      meter->second.change(-need.amount, at);
    }
  }
}

void Meters::expire(Instant now) {
  for (auto& [thing, starts] : starts_) {
    while (!starts.empty() && starts.front() <= now) {
      meters_.at(thing).change(-1, starts.front());
      starts.pop_front();
    }
  }
}

std::map<Thing, UseForecast> Meters::read(Instant until) {
  expire(until);
  std::map<Thing, UseForecast> out;
  for (auto& [thing, meter] : meters_) out.emplace(thing, meter.read(until));
  return out;
}

}  // namespace eider::sim
