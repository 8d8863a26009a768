// More than one process, and processes that die: what is committed stays, what is not never was, nobody waits for
// anybody, and no run is claimed twice.
#include <sys/resource.h>
#include <array>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include "store/conformance/fixture.h"

namespace eider::store::conformance {
namespace {

class ProcessTest : public ConformanceTest {
 protected:
  /// What a process that is about to die does: a first turn that is committed, a second that stops `where`.
  enum class Stop { after_begin, after_apply, after_commit };
  int die(Stop where) {
    OtherProcess doomed([&](OtherProcess&) {
      auto store = open();
      if (!apply_one(*store, {model::RunQueued{queued_run(1)}})) return 1;
      if (!store->begin()) return 2;
      if (where == Stop::after_begin) ::raise(SIGKILL);
      if (!store->apply({claim(1, 1)}) || !store->apply({model::RunQueued{queued_run(2)}})) return 3;
      if (where == Stop::after_apply) ::raise(SIGKILL);
      if (!store->commit()) return 4;
      ::raise(SIGKILL);
      return 5;
    });
    return doomed.wait();
  }
};
EIDER_FOR_EVERY_BACKEND(ProcessTest);

TEST_P(ProcessTest, AProcessKilledBeforeItsCommitLeavesNothingOfTheTurn) {
  for (const Stop where : {Stop::after_begin, Stop::after_apply}) {
    ASSERT_EQ(die(where), -SIGKILL);
    {
      auto store = open();
      const auto open_state = store->load_open().value();
      EXPECT_EQ(open_state.runs, std::vector{queued_run(1)});
      EXPECT_TRUE(open_state.live_attempts.empty());
    }
    std::filesystem::remove(path());
  }
}

TEST_P(ProcessTest, AProcessKilledAfterItsCommitLeavesAllOfTheTurn) {
  ASSERT_EQ(die(Stop::after_commit), -SIGKILL);
  auto store = open();
  const auto open_state = store->load_open().value();
  ASSERT_EQ(open_state.runs.size(), 2u);
  EXPECT_EQ(open_state.runs[0].state, model::RunState::running);
  EXPECT_EQ(open_state.runs[1], queued_run(2));
  ASSERT_EQ(open_state.live_attempts.size(), 1u);
  EXPECT_EQ(open_state.live_attempts[0].run_id, run_id(1));
}

/// Claims one run a turn, as a process that knows nothing of the other; the numbers of those it got.
std::vector<std::string> claim_runs(Store& store, int wanted) {
  auto reader = store.reader().value();
  std::vector<std::string> got;
  while (got.size() < static_cast<std::size_t>(wanted)) {
    if (auto begun = store.begin(); !begun) {
      EIDER_CHECK(begun.error().code == ErrorCode::unavailable, begun.error().message);
      std::this_thread::yield();
      continue;
    }
    const auto next =
        reader->runs({.pipeline = {}, .state = model::RunState::queued, .open_only = false}, 1, "").value();
    EIDER_CHECK(next.items.size() == 1, "a run is left for each claim");
    model::RunClaimed change = claim(0, 1);
    change.run_id = next.items[0].id;
    EIDER_CHECK(store.apply({change}).value(), "what was just read as queued can be claimed in the same transaction");
    auto committed = store.commit();
    EIDER_CHECK(committed.ok(), committed ? "" : committed.error().message);
    got.push_back(change.run_id);
  }
  return got;
}

TEST_P(ProcessTest, TwoProcessesClaimTwoThousandRunsOnceEachWhileAThirdReads) {
  const std::string path = this->path();
  OtherProcess fill([&](OtherProcess&) {
    auto store = open();
    std::vector<model::ChangeSet> sets;
    for (int n = 0; n < 2000; ++n) sets.push_back({model::RunQueued{queued_run(n)}});
    turn(*store, sets);
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  ASSERT_EQ(fill.wait(), 0);
  const auto claimer = [&](const std::string& name) {
    return [this, name](OtherProcess& self) {
      auto store = open();
      self.say_ready();
      self.wait_for_go();
      std::ofstream out(folder().file(name));
      for (const auto& id : claim_runs(*store, 1000)) out << id << "\n";
      return 0;
    };
  };
  OtherProcess first(claimer("first"));
  OtherProcess second(claimer("second"));
  OtherProcess polling([&](OtherProcess& self) {
    auto reader = this->reader();
    self.say_ready();
    // A reader is never refused. It ends when nothing is queued any more.
    while (true) {
      auto page = reader->runs({.pipeline = {}, .state = model::RunState::queued, .open_only = false}, 50, "");
      EIDER_CHECK(page.ok(), page ? "" : page.error().message);
      if (page->items.empty()) return 0;
      std::this_thread::yield();
    }
  });
  for (auto* process : {&first, &second, &polling}) process->wait_ready();
  first.go();
  second.go();
  ASSERT_EQ(first.wait(), 0);
  ASSERT_EQ(second.wait(), 0);
  ASSERT_EQ(polling.wait(), 0);
  std::set<std::string> ids;
  int lines = 0;
  for (const char* name : {"first", "second"}) {
    std::ifstream in(folder().file(name));
    for (std::string id; std::getline(in, id); ++lines) ids.insert(id);
  }
  EXPECT_EQ(lines, 2000);
  EXPECT_EQ(ids.size(), 2000u);
  EXPECT_EQ(open()->load_open()->live_attempts.size(), 2000u);
}

TEST_P(ProcessTest, NobodyIsRefusedWhereAllOpenAtOnceWhatAKilledProcessLeft) {
  // The first puts the log of the killed one in order and the last to leave takes it away, both under locks that the
  // others wait for.
  const auto opener = [&](bool writes) {
    return [this, writes](OtherProcess& self) {
      self.say_ready();
      self.wait_for_go();
      if (writes) return GetParam().open(path()).ok() ? 0 : 1;
      return GetParam().reader(path()).ok() ? 0 : 1;
    };
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(die(Stop::after_commit), -SIGKILL);
    OtherProcess writer(opener(true));
    OtherProcess other_writer(opener(true));
    OtherProcess reader(opener(false));
    OtherProcess other_reader(opener(false));
    const std::array<OtherProcess*, 4> all{&writer, &reader, &other_writer, &other_reader};
    for (auto* process : all) process->wait_ready();
    for (auto* process : all) process->go();
    for (auto* process : all) EXPECT_EQ(process->wait(), 0) << round;
    std::filesystem::remove(path());
  }
}

TEST_P(ProcessTest, AStoreHeldByAnotherProcessIsUnavailableAndLaterWorks) {
  OtherProcess holder([&](OtherProcess& self) {
    auto store = open();
    if (!store->begin()) return 1;
    self.say_ready();
    self.wait_for_go();
    if (!store->apply({model::RunQueued{queued_run(1)}}).value()) return 2;
    return store->commit() ? 0 : 3;
  });
  holder.wait_ready();
  auto store = open();
  for (int i = 0; i < 3; ++i) {
    auto begun = store->begin();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::unavailable);
    EXPECT_NE(begun.error().message.find("locked by another process"), std::string::npos) << begun.error().message;
  }
  EXPECT_TRUE(store->load_open()->runs.empty()) << "reading goes on";
  holder.go();
  ASSERT_EQ(holder.wait(), 0);
  EXPECT_TRUE(apply_one(*store, {model::RunQueued{queued_run(2)}}));
  EXPECT_EQ(store->load_open()->runs, (std::vector{queued_run(1), queued_run(2)}));
}

TEST_P(ProcessTest, AFullDiskIsAnErrorThatLosesNothing) {
  // A limit on the size of files stands for the full disk; it is of a process of its own, as nothing else takes it
  // off again.
  OtherProcess writer([&](OtherProcess&) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = open();
    turn(*store, {{model::RunQueued{queued_run(1)}}});
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small = limit;
    small.rlim_cur = 256 * 1024;
    ::setrlimit(RLIMIT_FSIZE, &small);
    bool failed = false;
    for (int n = 2; n < 200 && !failed; ++n) {
      auto big = queued_run(n);
      big.params = std::string(100'000, 'x');
      auto begun = store->begin();
      if (!begun) return 1;
      auto applied = store->apply({model::RunQueued{big}});
      auto committed = applied ? store->commit() : Result<void>(applied.error());
      if (!applied) store->rollback();
      failed = !committed;
      if (failed && committed.error().code != ErrorCode::unavailable && committed.error().code != ErrorCode::io)
        return 2;
      const auto runs = store->load_open();
      if (!runs || runs->runs.size() != static_cast<std::size_t>(failed ? n - 1 : n)) return 3;
    }
    if (!failed) return 4;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return apply_one(*store, {model::RunQueued{queued_run(500)}}) ? 0 : 5;
  });
  ASSERT_EQ(writer.wait(), 0);
  auto store = open();
  const auto runs = store->load_open().value().runs;
  ASSERT_GE(runs.size(), 2u);
  EXPECT_EQ(runs.front(), queued_run(1));
  EXPECT_EQ(runs.back(), queued_run(500));
}

}  // namespace
}  // namespace eider::store::conformance
