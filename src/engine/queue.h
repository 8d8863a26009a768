// The runs that are ready to start, in lines: the runs of a line are of one pipeline, have one cause and one value of
// its concurrency key, so they want the same, and when the first can't start the others can't either. A line is awake,
// to be looked at, or asleep on the first thing that it lacks. Who gives something back wakes the line whose turn
// comes first among those that it is enough for, and so on while there is some left. So what waits costs nobody
// anything: neither a thousand runs in a full pool nor a hundred thousand.
//
// What is taken is not known here: the caller brings it (decide::Room), made anew for each pass. Engine thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "decide/admission.h"
#include "model/run.h"

namespace eider::engine {

/// What all runs of a line have in common.
struct LineKey {
  std::string pipeline;
  model::TriggerKind cause = model::TriggerKind::manual;
  std::string concurrency;
  auto operator<=>(const LineKey&) const = default;  // NOLINT(modernize-use-nullptr): of the operator itself
};

/// A run's place among all that wait.
struct Place {
  Instant rank{};  ///< decide::rank
  std::string run_id;
  Instant since{};  ///< it waits

  bool operator==(const Place& other) const { return run_id == other.run_id; }
  bool operator<(const Place& other) const { return std::tie(rank, run_id) < std::tie(other.rank, other.run_id); }
};

class Queue {
 public:
  struct Line {
    std::set<Place> runs;  ///< in the order of their turns; never empty
    bool asleep = false;
    std::optional<decide::Need> lacks;  ///< what it sleeps on; awake: what it slept on last
    Instant lacks_since{};
  };
  using NeedsOf = std::function<std::vector<decide::Need>(const LineKey&)>;

  void add(const LineKey& key, const Place& place);
  /// Nothing happens when it is not there.
  void remove(const LineKey& key, const Place& place);
  /// Since when lines have lacked what, where they are in both.
  void inherit(const Queue& before);

  const std::map<LineKey, Line>& lines() const { return lines_; }
  const Line* line(const LineKey& key) const;
  bool has_sleepers(const decide::Thing& thing) const { return asleep_.contains(thing); }

  /// There is more of it than there was.
  void freed(const decide::Thing& thing);
  /// Whoever sleeps on it is to be looked at.
  void wake(const decide::Thing& thing);
  /// There is something to look at.
  bool has_work() const { return !awake_.empty() || !freed_.empty(); }

  // ---- one pass: reserve(), then next() until there is none; what it gives is claimed or blocked -------------

  /// Whoever has waited for long keeps, from those whose turn comes after, what it needs up to the first thing that it
  /// lacks, in the order of things. Of those who sleep on a thing only the first does, so two that need much do not
  /// keep each other waiting; and what could never start keeps nothing.
  void reserve(const decide::Room& room, const NeedsOf& needs_of, Instant now);
  /// A claim has taken of the room: who now lacks something sooner keeps less.
  void taken(const decide::Room& room, const NeedsOf& needs_of, Instant now);
  /// The line whose turn it is, with its first run.
  struct Look {
    LineKey key;
    Place head;
  };
  std::optional<Look> next(const decide::Room& room);
  /// True: it lacks something, and sleeps on the first such thing in the order of things.
  bool blocked(const Look& look, const NeedsOf& needs_of, const decide::Room& room, Instant now);
  /// It sleeps until that is woken.
  void block(const LineKey& key, const decide::Need& need, Instant now);
  std::optional<decide::Need> first_lack(const Place& place, const std::vector<decide::Need>& needs,
                                         const decide::Room& room) const;

  /// What of the thing is free for a run at that place: what is kept for others before it is not.
  std::int64_t free(const Place& place, const decide::Thing& thing, const decide::Room& room) const;
  /// For whom some of it is kept, if its turn comes before that place; null: for nobody.
  const Place* kept_for(const Place& place, const decide::Thing& thing) const;

 private:
  using Sleepers = std::set<std::pair<Place, LineKey>>;
  using ByAmount = std::map<std::int64_t, Sleepers>;

  void leave(const LineKey& key, const Line& line);
  void enter(const LineKey& key, const Line& line);
  void release(const Place& place);
  void hold(const Place& place, const std::vector<decide::Need>& needs, const decide::Room& room);
  static const std::pair<Place, LineKey>& first_of(const ByAmount& sleepers);
  const std::pair<Place, LineKey>* first_served(const decide::Thing& thing, const decide::Room& room) const;

  std::map<LineKey, Line> lines_;
  Sleepers awake_;
  std::map<decide::Thing, ByAmount> asleep_;  ///< no empty one
  std::set<decide::Thing> freed_;             ///< since the last pass, which forgets those that serve nobody
  std::map<decide::Thing, std::map<Place, std::int64_t>> held_;
};

}  // namespace eider::engine
