#include "engine/queue.h"

#include <algorithm>

#include "base/check.h"

namespace eider::engine {

const Queue::Line* Queue::line(const LineKey& key) const {
  const auto found = lines_.find(key);
  return found == lines_.end() ? nullptr : &found->second;
}

/// The line stands where its first run says; it leaves before that changes, and enters after.
void Queue::enter(const LineKey& key, const Line& line) {
  Sleepers& among = line.asleep ? asleep_[line.lacks->thing][line.lacks->amount] : awake_;
  among.emplace(*line.runs.begin(), key);
}

void Queue::leave(const LineKey& key, const Line& line) {
  const std::pair entry(*line.runs.begin(), key);
  if (!line.asleep) {
    awake_.erase(entry);
    return;
  }
  const auto by_amount = asleep_.find(line.lacks->thing);
  const auto sleepers = by_amount->second.find(line.lacks->amount);
  sleepers->second.erase(entry);
  if (sleepers->second.empty()) by_amount->second.erase(sleepers);
  if (by_amount->second.empty()) asleep_.erase(by_amount);
}

void Queue::add(const LineKey& key, const Place& place) {
  Line& line = lines_[key];
  if (!line.runs.empty() && *line.runs.begin() < place) {
    line.runs.insert(place);
    return;
  }
  if (!line.runs.empty()) leave(key, line);
  line.runs.insert(place);
  line.asleep = false;  // an earlier turn may find what is kept from later ones
  enter(key, line);
}

void Queue::remove(const LineKey& key, const Place& place) {
  const auto found = lines_.find(key);
  if (found == lines_.end()) return;
  Line& line = found->second;
  if (!(*line.runs.begin() == place)) {
    line.runs.erase(place);
    return;
  }
  leave(key, line);
  line.runs.erase(line.runs.begin());
  if (line.runs.empty()) {
    lines_.erase(found);
  } else {
    enter(key, line);
  }
  release(place);
}

void Queue::inherit(const Queue& before) {
  for (auto& [key, line] : lines_) {
    const Line* known = before.line(key);
    if (!known) continue;
    line.lacks = known->lacks;
    line.lacks_since = known->lacks_since;
  }
}

void Queue::freed(const decide::Thing& thing) {
  if (asleep_.contains(thing)) freed_.insert(thing);
}

void Queue::wake(const decide::Thing& thing) {
  const auto found = asleep_.find(thing);
  if (found == asleep_.end()) return;
  const ByAmount woken = std::move(found->second);
  asleep_.erase(found);
  freed_.erase(thing);
  for (const auto& [amount, sleepers] : woken) {
    for (const auto& [place, key] : sleepers) {
      lines_.at(key).asleep = false;
      awake_.emplace(place, key);
    }
  }
}

void Queue::release(const Place& place) {
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->second.erase(place) > 0) freed(held->first);
    held = held->second.empty() ? held_.erase(held) : std::next(held);
  }
}

void Queue::hold(const Place& place, const std::vector<decide::Need>& needs, const decide::Room& room) {
  for (const decide::Need& need : needs) {
    const auto limit = room.limit(need.thing);
    if (limit && need.amount > *limit) return;
  }
  for (const decide::Need& need : needs) {
    const std::int64_t there = free(place, need.thing, room);
    const std::int64_t kept = std::min(there, need.amount);
    if (kept > 0 && room.limit(need.thing)) held_[need.thing][place] = kept;
    if (kept < need.amount) return;
  }
}

const std::pair<Place, LineKey>& Queue::first_of(const ByAmount& sleepers) {
  const auto earlier = [](const auto& a, const auto& b) { return *a.second.begin() < *b.second.begin(); };
  return *std::min_element(sleepers.begin(), sleepers.end(), earlier)->second.begin();
}

void Queue::reserve(const decide::Room& room, const NeedsOf& needs_of, Instant now) {
  Sleepers old;
  for (const auto& [thing, by_amount] : asleep_) {
    if (thing.kind == decide::Kind::definition) continue;
    const auto& first = first_of(by_amount);
    if (first.first.since + decide::reserves_after <= now) old.insert(first);
  }
  const auto before = std::exchange(held_, {});
  for (const auto& [place, key] : old) hold(place, needs_of(key), room);
  for (const auto& [thing, kept] : before) {
    for (const auto& [place, amount] : kept) {
      const auto still = held_.find(thing);
      const auto by =
          still == held_.end() ? std::map<Place, std::int64_t>::const_iterator() : still->second.find(place);
      if (still == held_.end() || by == still->second.end() || by->second < amount) freed(thing);
    }
  }
}

void Queue::taken(const decide::Room& room, const NeedsOf& needs_of, Instant now) {
  if (!held_.empty()) reserve(room, needs_of, now);
}

std::int64_t Queue::free(const Place& place, const decide::Thing& thing, const decide::Room& room) const {
  std::int64_t left = room.free(thing);
  if (const auto kept = held_.find(thing); kept != held_.end()) {
    for (auto by = kept->second.begin(); by != kept->second.end() && by->first < place; ++by) left -= by->second;
  }
  return left;
}

const Place* Queue::kept_for(const Place& place, const decide::Thing& thing) const {
  const auto kept = held_.find(thing);
  if (kept == held_.end() || !(kept->second.begin()->first < place)) return nullptr;
  return &kept->second.begin()->first;
}

/// Of the lines that sleep on the thing and for which it is enough, the one whose turn comes first. Of those that lack
/// the same amount it is the first that has the most.
const std::pair<Place, LineKey>* Queue::first_served(const decide::Thing& thing, const decide::Room& room) const {
  const auto by_amount = asleep_.find(thing);
  if (by_amount == asleep_.end()) return nullptr;
  const std::pair<Place, LineKey>* first = nullptr;
  const std::int64_t most = room.free(thing);
  for (const auto& [amount, sleepers] : by_amount->second) {
    if (amount > most) break;
    const auto& candidate = *sleepers.begin();
    if (amount > free(candidate.first, thing, room)) continue;
    if (!first || candidate < *first) first = &candidate;
  }
  return first;
}

std::optional<Queue::Look> Queue::next(const decide::Room& room) {
  const std::pair<Place, LineKey>* first = awake_.empty() ? nullptr : &*awake_.begin();
  for (auto thing = freed_.begin(); thing != freed_.end();) {
    const auto* served = first_served(*thing, room);
    if (served && (!first || *served < *first)) first = served;
    thing = served ? std::next(thing) : freed_.erase(thing);
  }
  if (!first) return std::nullopt;
  const auto [place, key] = *first;
  Line& line = lines_.at(key);
  if (line.asleep) {
    leave(key, line);
    line.asleep = false;
    enter(key, line);
  }
  return Look{key, place};
}

std::optional<decide::Need> Queue::first_lack(const Place& place, const std::vector<decide::Need>& needs,
                                              const decide::Room& room) const {
  const auto lacking = std::find_if(needs.begin(), needs.end(), [&](const decide::Need& need) {
    return free(place, need.thing, room) < need.amount;
  });
  return lacking == needs.end() ? std::nullopt : std::optional(*lacking);
}

bool Queue::blocked(const Look& look, const NeedsOf& needs_of, const decide::Room& room, Instant now) {
  const auto lack = first_lack(look.head, needs_of(look.key), room);
  if (!lack) return false;
  block(look.key, *lack, now);
  // Its turn was before theirs who are looked at next: they must not take what it gathers, and those after it have less
  // to gather.
  if (look.head.since + decide::reserves_after <= now && first_of(asleep_.at(lack->thing)).first == look.head) {
    reserve(room, needs_of, now);
  }
  return true;
}

void Queue::block(const LineKey& key, const decide::Need& need, Instant now) {
  Line& line = lines_.at(key);
  EIDER_CHECK(!line.asleep, "only a line that was looked at is blocked");
  leave(key, line);
  if (!line.lacks || line.lacks->thing != need.thing) line.lacks_since = now;
  line.asleep = true;
  line.lacks = need;
  enter(key, line);
}

}  // namespace eider::engine
