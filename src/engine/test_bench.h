// What tests of the loop stand on: a loop on a clock that is turned by hand, workers that are values, and a real
// store. "Crash" throws loop, workers and connection away and starts again from the file.
#pragma once

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/loop.h"
#include "store/store.h"
#include "supervise/fake_workers.h"

namespace eider::engine {

inline Instant at(const char* text) { return parse_rfc3339(text).value(); }

class TestBench {
 public:
  explicit TestBench(const char* start = "2026-01-01T10:00:00Z") : clock(at(start)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "eider-engine-XXXXXX").string();
    EIDER_CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
    folder = pattern;
    workspace_value.root = folder;
    workspace_value.usable = true;
  }
  ~TestBench() {
    loop.reset();
    store.reset();
    std::filesystem::remove_all(folder);
  }

  /// One `run` step; `change` may add schedules, pools and so on.
  void add_pipeline(const std::string& name, const std::function<void(model::Pipeline&)>& change = {}) {
    model::Pipeline pipeline;
    pipeline.name = name;
    pipeline.file = "pipelines/" + name + ".yaml";
    pipeline.steps.resize(1);
    pipeline.steps[0].id = "step";
    pipeline.steps[0].argv = {"true"};
    if (change) change(pipeline);
    workspace_value.pipelines[name] = workspace::make_loaded(std::move(pipeline));
  }
  static model::Schedule every_minute(const std::string& id = "s") {
    model::Schedule schedule;
    schedule.id = id;
    schedule.timing.cron = "* * * * *";
    return schedule;
  }

  void boot() {
    auto opened = store::open_sqlite_store({folder + "/state.db", true});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store = wrap_store ? wrap_store(std::move(*opened)) : std::move(*opened);
    workers = std::make_unique<supervise::FakeWorkers>();
    workers->traces = traces;
    inbox = std::make_unique<Inbox>([] {});
    loop = std::make_unique<Loop>(LoopParts{clock,
                                            random,
                                            *store,
                                            *workers,
                                            *inbox,
                                            [this](const workspace::Workspace*) { return current(); },
                                            {},
                                            &clock},
                                  options);
    const auto booted = loop->boot(current().value());
    ASSERT_TRUE(booted.ok()) << booted.error().message;
    settle();
  }
  void crash_and_boot() {
    loop.reset();
    store.reset();
    boot();
  }

  /// Turns until nothing more is due at this instant.
  Loop::Next settle() {
    Loop::Next next;
    for (int i = 0; i < 1000; ++i) {
      next = loop->turn();
      const bool more = next.wake_at && *next.wake_at <= clock.now();
      if (next.ended || (!more && workers->events.empty())) return next;
    }
    ADD_FAILURE() << "the loop spins";
    return next;
  }
  void advance(Micros by) {
    clock.advance(by);
    settle();
  }
  /// Second by second, as a server that is awake lives through it.
  void live(std::int64_t seconds) {
    for (std::int64_t i = 0; i < seconds; ++i) advance(std::chrono::seconds(1));
  }

  Result<std::string> start(const std::string& pipeline, bool queue = false, const std::string& key = {}) {
    StartRun command;
    command.pipeline = pipeline;
    command.queue = queue;
    command.idempotency_key = key;
    return start(std::move(command));
  }
  Result<std::string> start(StartRun command) {
    std::optional<Result<std::string>> answer;
    command.asked_by = "test";
    command.reply = [&](const Result<std::string>& result) { answer.emplace(result); };
    EXPECT_TRUE(inbox->post(std::move(command)));
    settle();
    return answer ? *answer : Result<std::string>(Error{ErrorCode::unavailable, "no answer"});
  }
  Result<model::RunState> cancel(const std::string& id) {
    std::optional<Result<model::RunState>> answer;
    EXPECT_TRUE(
        inbox->post(CancelRun{id, "test", [&](const Result<model::RunState>& result) { answer.emplace(result); }}));
    settle();
    return answer ? *answer : Result<model::RunState>(Error{ErrorCode::unavailable, "no answer"});
  }
  template <typename Ask, typename Reply>
  Reply ask(Ask question) {
    Reply out;
    question.reply = [&](Reply reply) { out = std::move(reply); };
    EXPECT_TRUE(inbox->post(std::move(question)));
    settle();
    return out;
  }

  model::Run row(const std::string& id) {
    auto run = reader()->run(id);
    EXPECT_TRUE(run.ok() && run->has_value()) << id;
    return run.ok() && *run ? **run : model::Run{};
  }
  /// Oldest first.
  std::vector<model::Run> runs() {
    auto page = reader()->runs({}, 1000, "");
    EXPECT_TRUE(page.ok());
    std::reverse(page->items.begin(), page->items.end());
    return page->items;
  }
  std::vector<model::Occurrence> occurrences() {
    auto page = reader()->occurrences({}, 1000, "");
    EXPECT_TRUE(page.ok());
    std::reverse(page->items.begin(), page->items.end());
    return page->items;
  }
  std::vector<model::Attempt> attempts(const std::string& id) { return reader()->attempts(id).value(); }
  std::unique_ptr<store::Reader> reader() { return std::move(store->reader().value()); }

  std::string folder;
  FakeClock clock;
  SeededRandom random{7};
  workspace::Workspace workspace_value;
  LoopOptions options;
  std::map<std::string, supervise::AttemptTraces> traces;
  /// Puts something in front of the real store, at each boot. May be empty.
  std::function<std::unique_ptr<store::Store>(std::unique_ptr<store::Store>)> wrap_store;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<supervise::FakeWorkers> workers;
  std::unique_ptr<Inbox> inbox;
  std::unique_ptr<Loop> loop;

 private:
  Result<std::shared_ptr<const workspace::Workspace>> current() {
    return std::shared_ptr<const workspace::Workspace>(std::make_shared<workspace::Workspace>(workspace_value));
  }
};

}  // namespace eider::engine
