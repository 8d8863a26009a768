// The queue of lines, against a world of runs that come, start and end: what must always hold of admission (I7).
#include "engine/queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/check.h"

namespace eider::engine {
namespace {

using decide::Kind;
using decide::Need;
using decide::Thing;
using namespace std::chrono_literals;

/// Runs of pipelines whose needs are values; no store, no loop.
struct World {
  Instant now = parse_rfc3339("2026-03-29T12:00:00Z").value();
  decide::Capacity capacity;
  std::map<std::string, model::Taken> taken;  ///< by pipeline
  Queue queue;
  std::map<std::string, std::pair<LineKey, Place>> waiting, running;  ///< by run
  std::vector<std::string> started;                                   ///< in order
  int looks = 0;
  int count = 0;

  std::vector<Need> needs(const LineKey& line) const {
    return decide::needs(line.pipeline, line.cause, taken.at(line.pipeline));
  }
  std::vector<Need> held(const LineKey& line) const {
    auto out = needs(line);
    std::erase_if(out, [](const Need& need) { return need.thing.kind == Kind::rate; });
    return out;
  }
  decide::Room room() const {
    decide::Room out(capacity);
    for (const auto& [id, run] : running) out.take(held(run.first));
    return out;
  }

  std::string add(const std::string& pipeline, int priority = 0) {
    model::Run run;
    run.id = fmt::format("r{:06}", count++);
    run.pipeline = pipeline;
    run.created_at = now;
    run.priority = priority;
    const LineKey key{pipeline, model::TriggerKind::manual, ""};
    const Place place{decide::rank(run), run.id, now};
    queue.add(key, place);
    waiting[run.id] = {key, place};
    return run.id;
  }
  void cancel(const std::string& id) {
    const auto [key, place] = waiting.at(id);
    queue.remove(key, place);
    waiting.erase(id);
  }
  void end(const std::string& id) {
    const LineKey key = running.at(id).first;
    running.erase(id);
    for (const Need& need : held(key)) queue.freed(need.thing);
  }
  /// One pass, as Loop::admit does it.
  void admit() {
    if (!queue.has_work()) return;
    decide::Room room = this->room();
    const auto needs_of = [this](const LineKey& line) { return needs(line); };
    queue.reserve(room, needs_of, now);
    while (const auto look = queue.next(room)) {
      ++looks;
      const auto wants = needs(look->key);
      if (queue.blocked(*look, needs_of, room, now)) continue;
      queue.remove(look->key, look->head);
      room.take(wants);
      queue.taken(room, needs_of, now);
      running[look->head.run_id] = {look->key, look->head};
      waiting.erase(look->head.run_id);
      started.push_back(look->head.run_id);
    }
  }
  bool is_running(const std::string& id) const { return running.contains(id); }
};

World pools_of(const std::map<std::string, int>& slots) {
  World world;
  world.capacity.workers = 100;
  for (const auto& [name, count] : slots) world.capacity.pools[name] = {name, count, {}};
  return world;
}

TEST(Queue, TheFirstTurnIsThatOfPriorityThenAge) {
  World world = pools_of({{"p", 1}});
  for (const char* name : {"a", "b", "c"}) world.taken[name].pools["p"] = 1;
  const std::string first = world.add("a");
  world.admit();
  const std::string old = world.add("b");
  world.now += 5min;
  const std::string young = world.add("c");
  const std::string urgent = world.add("c", 1);
  world.admit();
  for (const std::string& expected : {urgent, old, young}) {
    world.end(world.running.begin()->first);
    world.admit();
    ASSERT_EQ(world.running.size(), 1u);
    EXPECT_TRUE(world.is_running(expected)) << expected;
  }
}

TEST(Queue, WhatIsBlockedIsPassedOver) {
  World world = pools_of({{"full", 1}, {"free", 1}});
  world.taken["blocked"].pools["full"] = 1;
  world.taken["other"].pools["free"] = 1;
  world.add("blocked");
  for (int i = 0; i < 100; ++i) world.add("blocked", 10);
  world.admit();
  world.looks = 0;
  const std::string other = world.add("other");
  world.admit();
  EXPECT_TRUE(world.is_running(other));
  EXPECT_EQ(world.looks, 1) << "nobody looks at those who wait for the full pool";
}

TEST(Queue, AWideRequestReservesAfterFiveMinutes) {
  World world = pools_of({{"p", 4}});
  world.taken["narrow"].pools["p"] = 1;
  world.taken["wide"].pools["p"] = 4;
  std::vector<std::string> narrow;
  for (int i = 0; i < 4; ++i) narrow.push_back(world.add("narrow"));
  world.admit();
  const std::string wide = world.add("wide");
  world.now += 1min;
  world.end(narrow[0]);
  const std::string early = world.add("narrow");
  world.admit();
  EXPECT_TRUE(world.is_running(early)) << "it has not waited long";
  world.now += 4min;
  world.end(narrow[1]);
  const std::string late = world.add("narrow");
  const std::string urgent = world.add("narrow", 100);
  world.admit();
  EXPECT_TRUE(world.is_running(urgent)) << "its turn comes first all the same";
  world.end(narrow[2]);
  world.admit();
  EXPECT_FALSE(world.is_running(late)) << "what is free is kept";
  ASSERT_NE(world.queue.kept_for(world.waiting.at(late).second, {Kind::pool, "p"}), nullptr);
  for (const std::string& id : {narrow[3], early, urgent}) world.end(id);
  world.admit();
  EXPECT_TRUE(world.is_running(wide));
  EXPECT_FALSE(world.is_running(late));
  world.end(wide);
  world.admit();
  EXPECT_TRUE(world.is_running(late));
}

TEST(Queue, WhatIsKeptIsFreeAgainWhenItsRunIsCancelled) {
  World world = pools_of({{"p", 2}});
  world.taken["narrow"].pools["p"] = 1;
  world.taken["wide"].pools["p"] = 2;
  world.add("narrow");
  world.admit();
  const std::string wide = world.add("wide");
  world.admit();
  world.now += 6min;
  const std::string late = world.add("narrow");
  world.admit();
  EXPECT_FALSE(world.is_running(late));
  world.cancel(wide);
  EXPECT_TRUE(world.queue.has_work());
  world.admit();
  EXPECT_TRUE(world.is_running(late));
}

TEST(Queue, WhatWasGivenBackServesTheNextWhenTheFirstGivesUp) {
  World world = pools_of({{"heavy", 1}});
  world.taken["p"].pools["heavy"] = 1;
  const std::string runs = world.add("p");
  world.admit();
  const std::string gives_up = world.add("p");
  const std::string next = world.add("p");
  world.admit();
  world.end(runs);
  world.cancel(gives_up);  // in the same turn, before anybody looked
  world.admit();
  EXPECT_TRUE(world.is_running(next));
}

TEST(Queue, WhoCanNotStartAfterAllKeepsNoWorker) {
  World world = pools_of({{"heavy", 1}});
  world.capacity.workers = 2;
  world.taken["heavy"].pools["heavy"] = 1;
  world.taken["old"].pools["heavy"] = 1;
  world.taken["new"] = {};
  const std::string runs = world.add("heavy");
  const std::string first = world.add("heavy");
  world.now += 1s;
  const std::string waits = world.add("old");
  world.admit();
  world.now += 10min;
  world.end(runs);
  const std::string fresh = world.add("new");
  world.admit();  // the pool is free, and goes to the first: the other one has no use for a worker
  EXPECT_TRUE(world.is_running(first));
  EXPECT_FALSE(world.is_running(waits));
  EXPECT_TRUE(world.is_running(fresh));
}

TEST(Queue, WhoCanNeverStartKeepsNothing) {
  World world = pools_of({{"p", 4}});
  world.taken["narrow"].pools["p"] = 1;
  world.taken["wide"].pools["p"] = 4;
  const std::string holder = world.add("narrow");
  world.admit();
  world.add("wide");
  world.admit();
  world.capacity.pools["p"].slots = 2;  // the pool was made smaller since
  world.now += 10min;
  const std::string late = world.add("narrow");
  world.admit();
  EXPECT_TRUE(world.is_running(late));
}

// A gatherer that holds one thing and waits for another must not let go of the first to somebody who came later.
TEST(Queue, TwoThingsAreGatheredOneAfterTheOther) {
  World world = pools_of({{"a", 2}, {"b", 2}});
  world.taken["a"].pools["a"] = 1;
  world.taken["b"].pools["b"] = 1;
  world.taken["both"].pools = {{"a", 2}, {"b", 2}};
  std::vector<std::string> a{world.add("a"), world.add("a")}, b{world.add("b"), world.add("b")};
  world.admit();
  const std::string first = world.add("both");
  const std::string second = world.add("both");
  world.now += 6min;
  for (int i = 0; i < 2; ++i) {
    world.end(a[static_cast<std::size_t>(i)]);
    world.add("a");
    world.admit();
  }
  EXPECT_EQ(world.running.size(), 2u) << "a is kept, b is still in use";
  for (const std::string& id : b) world.end(id);
  world.add("b");
  world.admit();
  EXPECT_TRUE(world.is_running(first));
  world.end(first);
  world.admit();
  EXPECT_TRUE(world.is_running(second));
}

TEST(Queue, ADeepQueueIsLookedAtOnceAForEachStart) {
  World world = pools_of({{"p", 3}});
  for (int i = 0; i < 50; ++i) world.taken[fmt::format("p{}", i)].pools["p"] = 1;
  for (int i = 0; i < 500; ++i) world.add(fmt::format("p{}", i % 50));
  world.admit();
  world.looks = 0;
  for (int i = 0; i < 100; ++i) {
    world.end(world.running.begin()->first);
    world.admit();
  }
  EXPECT_LE(world.looks, 200) << "the run that starts, and its line's next";
}

// ---- laws ----------------------------------------------------------------------------------------------------------

struct RandomWorld {
  World world;
  std::vector<std::string> names;
};

RandomWorld random_world() {
  RandomWorld out;
  World& world = out.world;
  world.capacity.workers = *rc::gen::inRange(1, 6);
  world.capacity.memory_bytes = 10;
  for (const char* pool : {"x", "y"}) world.capacity.pools[pool] = {pool, *rc::gen::inRange(1, 4), {}};
  for (int i = 0; i < 6; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    model::Taken& taken = world.taken[name];
    for (const auto& [pool, slots] : world.capacity.pools) {
      if (*rc::gen::arbitrary<bool>()) taken.pools[pool] = *rc::gen::inRange(1, slots.slots + 1);
    }
    for (const char* lock : {"k", "l"}) {
      const int mode = *rc::gen::inRange(0, 3);
      if (mode > 0) taken.locks[lock] = mode == 1 ? model::LockMode::read : model::LockMode::write;
    }
    if (*rc::gen::arbitrary<bool>()) taken.files.push_back({"/f", *rc::gen::arbitrary<bool>()});
    taken.memory_bytes = *rc::gen::inRange(0, 11);
    world.capacity.max_active_runs[name] = *rc::gen::inRange(0, 3);
    out.names.push_back(name);
  }
  return out;
}

/// The sum over what runs, made without the code under test.
void assert_within_limits(const World& world, const std::set<Thing>& shrunk) {
  std::map<Thing, std::int64_t> used;
  for (const auto& [id, run] : world.running) {
    for (const Need& need : world.held(run.first)) used[need.thing] += need.amount;
  }
  for (const auto& [thing, amount] : used) {
    const auto limit = world.capacity.limit(thing);
    RC_ASSERT(!limit || amount <= *limit || shrunk.contains(thing));
  }
}

/// Whoever waits really can't start: nobody was forgotten.
void assert_nobody_forgotten(const World& world) {
  const decide::Room room = world.room();
  for (const auto& [key, line] : world.queue.lines()) {
    RC_ASSERT(line.asleep);
    RC_ASSERT(world.queue.first_lack(*line.runs.begin(), world.needs(key), room).has_value());
  }
}

// Whatever comes, starts, ends, is cancelled or made smaller, in whatever order.
RC_GTEST_PROP(Queue, NoLimitIsExceededNobodyIsForgottenNobodyEvicted, ()) {
  auto [world, names] = random_world();
  std::set<Thing> shrunk;
  for (int step = 0; step < 80; ++step) {
    const auto some = [&](const auto& from) {
      return std::next(from.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(from)))->first;
    };
    switch (*rc::gen::inRange(0, 7)) {
      case 0:
      case 1:
      case 2:
        world.add(*rc::gen::elementOf(names), *rc::gen::inRange(-1, 2));
        break;
      case 3:
      case 4:
        if (!world.running.empty()) world.end(some(world.running));
        break;
      case 5:
        if (!world.waiting.empty()) world.cancel(some(world.waiting));
        break;
      default: {
        // A reload: the limits are others, and every line is looked at.
        const std::size_t before = world.running.size();
        world.capacity.pools["x"].slots = *rc::gen::inRange(1, 4);
        shrunk.insert({Kind::pool, "x"});
        Queue fresh;
        for (const auto& [id, run] : world.waiting) fresh.add(run.first, run.second);
        fresh.inherit(world.queue);
        world.queue = std::move(fresh);
        RC_ASSERT(world.running.size() == before);
      }
    }
    world.now += Micros(*rc::gen::inRange<std::int64_t>(0, 200'000'000));
    const auto before = world.room();
    const std::size_t started = world.started.size();
    world.admit();
    // Nothing was claimed of what had too little before.
    for (std::size_t i = started; i < world.started.size(); ++i) {
      for (const Need& need : world.needs(world.running.at(world.started[i]).first)) {
        RC_ASSERT(before.free(need.thing) >= need.amount);
      }
    }
    assert_within_limits(world, shrunk);
    assert_nobody_forgotten(world);
  }
}

// Every run that could start alone does, however many narrow ones keep coming, and two wide ones never block each
// other.
RC_GTEST_PROP(Queue, WhoeverWaitsStartsInTheEnd, ()) {
  RandomWorld made = random_world();
  World& world = made.world;
  const std::vector<std::string>& names = made.names;
  std::vector<std::string> watched;
  for (const std::string& name : names) watched.push_back(world.add(name));
  world.admit();
  const auto unsettled = [&] {
    return std::any_of(watched.begin(), watched.end(), [&](const auto& id) { return world.waiting.contains(id); });
  };
  std::map<std::string, Instant> ends;
  for (int step = 0; unsettled(); ++step) {
    RC_ASSERT(step < 1000);
    world.now += 1min;
    for (const auto& [id, run] : world.running) {
      ends.try_emplace(id, world.now + Micros(std::chrono::minutes(*rc::gen::inRange(1, 4))));
    }
    // New ones come all the time, so that there is always somebody for what becomes free.
    for (int i = 0; i < 3; ++i) world.add(*rc::gen::elementOf(names));
    std::vector<std::string> over;
    for (const auto& [id, at] : ends) {
      if (at <= world.now && world.is_running(id)) over.push_back(id);
    }
    // One after the other, as results come: between two of them others may take what is free.
    for (const std::string& id : over) {
      world.end(id);
      world.admit();
    }
    world.admit();
  }
}

}  // namespace
}  // namespace eider::engine
