// What the loop does when the store does not simply say yes: a commit that holds although it was answered with an
// error, and decisions that the store refuses by themselves.
#include <gtest/gtest.h>

#include "engine/loop.h"
#include "engine/test_bench.h"
#include "store/forwarding.h"

namespace eider::engine {
namespace {

using model::Outcome;
using model::RunState;
using namespace std::chrono_literals;

/// A real store whose answers are a test's to choose.
class Moody final : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  /// The next commit answers with an error; it holds all the same, or not.
  enum class Commit { honest, lost_answer, failed } commit_is = Commit::honest;
  /// Sets that hold such a change are refused, by themselves.
  std::function<bool(const model::Change&)> refuses;
  int refused = 0;

  Result<bool> apply(const model::ChangeSet& changes) override {
    if (refuses && std::any_of(changes.begin(), changes.end(), refuses)) {
      ++refused;
      return Error{ErrorCode::conflict, "no such row, says the test"};
    }
    return behind().apply(changes);
  }
  Result<void> commit() override {
    const Error error{ErrorCode::io, "the answer is lost, says the test"};
    switch (std::exchange(commit_is, Commit::honest)) {
      case Commit::honest:
        return behind().commit();
      case Commit::failed:
        behind().rollback();
        return error;
      case Commit::lost_answer:
        if (auto done = behind().commit(); !done) return done;
        return error;
    }
    return error;
  }
};

struct MoodyBench : TestBench {
  MoodyBench() {
    wrap_store = [this](std::unique_ptr<store::Store> real) {
      auto moody = std::make_unique<Moody>(std::move(real));
      mood = moody.get();
      return moody;
    };
  }
  std::string health() { return ask<AskStatus, StatusView>({}).health; }
  Moody* mood = nullptr;
};

template <typename Kind>
bool is(const model::Change& change) {
  return std::holds_alternative<Kind>(change);
}

TEST(LostAnswer, AClaimThatHoldsIsHandedOffOnceAndACommandDecidedOnce) {
  MoodyBench bench;
  bench.add_pipeline("p");
  bench.boot();
  bench.mood->commit_is = Moody::Commit::lost_answer;
  const auto id = bench.start("p");
  ASSERT_TRUE(id.ok()) << "it is answered: " << id.error().message;
  ASSERT_EQ(bench.workers->handed_off.size(), 1u);
  EXPECT_EQ(bench.workers->handed_off[0].run_id, *id);
  EXPECT_EQ(bench.runs().size(), 1u);
  EXPECT_EQ(bench.health(), "ok");
  bench.mood->commit_is = Moody::Commit::lost_answer;
  bench.workers->over(*id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.row(*id).state, RunState::succeeded);
  EXPECT_EQ(bench.workers->forgotten.size(), 1u);
}

/// Each decision alone in its turn, whose commit is answered with an error: told once when it holds, decided again when
/// it does not.
class InDoubt : public ::testing::TestWithParam<Moody::Commit> {
 protected:
  InDoubt() {
    bench.add_pipeline("p", [](model::Pipeline& p) {
      p.publishes.resize(1);
      p.publishes[0].asset = "a";
    });
    bench.add_pipeline("q", [](model::Pipeline& p) {
      p.triggers.resize(1);
      p.triggers[0].id = "t";
      p.triggers[0].assets = {"a"};
    });
    bench.boot();
  }
  void decide(const std::function<void()>& what) {
    bench.mood->commit_is = GetParam();
    what();
    bench.settle();
    bench.clock.advance(200ms);
    bench.settle();
    EXPECT_EQ(bench.mood->commit_is, Moody::Commit::honest) << "something was committed";
  }
  void post(Command command) {
    decide([&] { bench.inbox->post(std::move(command)); });
  }

  MoodyBench bench;
  int answers = 0;
};

TEST_P(InDoubt, WhatPeopleAskForIsAnsweredOnce) {
  const std::string first = bench.start("p").value();
  std::string waiting;
  StartRun start;
  start.pipeline = "p";
  start.queue = true;
  start.reply = [&](const Result<std::string>& id) {
    ++answers;
    waiting = id.value();
  };
  post(std::move(start));
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(bench.runs().size(), 2u);
  post(CancelRun{waiting, "test", [&](const auto&) { ++answers; }});
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(bench.row(waiting).state, RunState::cancelled);
  post(RetryRun{waiting, false, "test", [&](const auto& done) { answers += done ? 1 : 100; }});
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(bench.row(waiting).state, RunState::queued);
  bench.workers->obeys_cancel = false;
  post(CancelRun{first, "test", [&](const auto&) { ++answers; }});
  EXPECT_EQ(answers, 4);
  EXPECT_EQ(bench.workers->cancelled.size(), 1u);
}

TEST_P(InDoubt, WhatIsPublishedIsOwedOnce) {
  const std::string first = bench.start("p").value();
  decide([&] { bench.workers->publish(first, {"a"}); });
  EXPECT_EQ(bench.row(first).state, RunState::succeeded);
  EXPECT_EQ(bench.reader()->deliveries({}, 10, "")->items.size(), 1u);
  EXPECT_EQ(bench.workers->busy.size(), 1u) << "what data has caused";
  Materialize made;
  made.asset = "a";
  made.reply = [&](const Result<Materialize::Answer>& answer) { answers += answer && !answer->repeated ? 1 : 100; };
  post(std::move(made));
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(bench.reader()->materializations({}, 10, "")->items.size(), 2u);
  SkipDeliveries skip;
  skip.which.state = model::DeliveryState::pending;
  skip.reply = [&](const Result<std::vector<std::string>>& ids) { answers += static_cast<int>(ids->size()); };
  post(std::move(skip));
  EXPECT_EQ(answers, 2);
}

INSTANTIATE_TEST_SUITE_P(Commits, InDoubt, ::testing::Values(Moody::Commit::lost_answer, Moody::Commit::failed));

TEST(LostAnswer, AClockSetBackIsNoticedAlthoughItsTurnDidNotHold) {
  MoodyBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  bench.advance(2h);
  bench.clock.step_to(at("2026-01-01T10:00:30Z"));
  bench.mood->commit_is = Moody::Commit::failed;
  bench.loop->turn();
  bench.clock.advance(200ms);
  EXPECT_EQ(bench.settle().wake_at, at("2026-01-01T10:01:00Z")) << "not in two hours";
}

TEST(Refused, AResultIsTakenLaterAndTheTroubleIsShown) {
  MoodyBench bench;
  bench.add_pipeline("p");
  bench.add_pipeline("q");
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.mood->refuses = [&](const model::Change& change) {
    const auto* ended = std::get_if<model::AttemptEnded>(&change);
    return ended && ended->attempt.run_id == id;
  };
  bench.workers->over(id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::running);
  EXPECT_EQ(bench.health(), "degraded");
  const std::string other = bench.start("q").value();
  bench.workers->over(other, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.row(other).state, RunState::succeeded) << "nobody else waits";
  bench.live(12);
  EXPECT_EQ(bench.mood->refused, 3) << "every five seconds";
  bench.mood->refuses = {};
  bench.live(5);
  EXPECT_EQ(bench.row(id).state, RunState::succeeded);
  EXPECT_EQ(bench.health(), "ok");
}

TEST(Refused, AClaimIsTriedAgain) {
  MoodyBench bench;
  bench.add_pipeline("p");
  bench.boot();
  bench.mood->refuses = is<model::RunClaimed>;
  const std::string id = bench.start("p").value();
  EXPECT_EQ(bench.row(id).state, RunState::queued);
  EXPECT_TRUE(bench.workers->handed_off.empty());
  bench.mood->refuses = {};
  bench.live(5);
  EXPECT_EQ(bench.row(id).state, RunState::running);
}

/// Also by a clock that is behind the one by which the run was made.
TEST(Refused, AClaimIsTriedAgainWhenTheClockIsSetBack) {
  MoodyBench bench;
  bench.add_pipeline("p");
  bench.boot();
  bench.mood->refuses = is<model::RunClaimed>;
  const std::string id = bench.start("p").value();
  bench.clock.step_to(bench.clock.now() - std::chrono::hours(1));
  bench.live(5);
  EXPECT_EQ(bench.mood->refused, 2);
  bench.mood->refuses = {};
  bench.live(5);
  EXPECT_EQ(bench.row(id).state, RunState::running);
}

TEST(Refused, ARefusedCursorKeepsNoOtherScheduleWaiting) {
  MoodyBench bench;
  bench.boot();
  for (const char* name : {"p", "q"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  }
  bench.mood->refuses = [](const model::Change& change) {
    const auto* placed = std::get_if<model::CursorPlaced>(&change);
    return placed && placed->cursor.schedule == "p/s";
  };
  bench.inbox->post(Reload{[](const auto&) {}});
  bench.settle();
  bool refused = false;
  bench.inbox->post(PauseSchedule{"p/s", true, {}, [&](const Result<void>& done) { refused = !done; }});
  bench.settle();
  EXPECT_TRUE(refused);
  bench.advance(1min);
  EXPECT_EQ(bench.workers->busy.size(), 1u);
  bench.mood->refuses = {};
  bench.live(65);
  EXPECT_EQ(bench.workers->busy.size(), 2u);
}

TEST(Refused, APublicationAndAReplayAreTriedAgainWithoutSpinning) {
  MoodyBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.publishes.resize(1);
    p.publishes[0].asset = "a";
  });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.mood->refuses = is<model::AssetMaterialized>;
  wire::Published published;
  published.run_id = id;
  published.attempt = 1;
  published.publication.asset = "a";
  bench.workers->events.emplace_back(supervise::AttemptPublished{published});
  bench.settle();
  EXPECT_TRUE(bench.reader()->materializations({}, 10, "")->items.empty());
  bench.mood->refuses = {};
  bench.live(5);
  EXPECT_EQ(bench.reader()->materializations({}, 10, "")->items.size(), 1u);

  bench.add_pipeline("q", [](model::Pipeline& p) {
    p.triggers.resize(1);
    p.triggers[0].id = "t";
    p.triggers[0].assets = {"a"};
    p.triggers[0].start = model::Trigger::Start::earliest;
  });
  bench.mood->refuses = is<model::TriggerReplayed>;
  bench.inbox->post(Reload{[](const auto&) {}});
  const auto next = bench.settle();
  EXPECT_FALSE(next.wake_at);
  EXPECT_TRUE(next.retry_in);
  bench.mood->refuses = {};
  bench.live(5);
  EXPECT_EQ(bench.reader()->deliveries({}, 10, "")->items.size(), 1u);
}

}  // namespace
}  // namespace eider::engine
