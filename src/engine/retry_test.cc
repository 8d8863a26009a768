// A run that has ended is tried again: by a person, all of it or from what failed; and what is not tried again.
#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using namespace std::chrono_literals;
using model::Outcome;
using model::RunState;

/// load -> build -> report, programs.
void three_steps(model::Pipeline& p) {
  p.steps.clear();
  for (const char* id : {"load", "build", "report"}) {
    model::Step step;
    step.id = id;
    step.argv = {"true"};
    if (!p.steps.empty()) step.needs = {p.steps.back().id};
    p.steps.push_back(step);
  }
}

Result<RetryRun::Answer> retry(TestBench& bench, const std::string& id, bool from_failed = false) {
  std::optional<Result<RetryRun::Answer>> answer;
  RetryRun command{id, from_failed, "test", [&](const Result<RetryRun::Answer>& given) { answer.emplace(given); }};
  EXPECT_TRUE(bench.inbox->post(std::move(command)));
  bench.settle();
  return answer ? *answer : Result<RetryRun::Answer>(Error{ErrorCode::unavailable, "no answer"});
}

/// The newest attempt of the run ends with these steps; the first that failed is the outcome.
void end_with(TestBench& bench, const std::string& id, const std::vector<std::pair<std::string, bool>>& steps) {
  const auto& loaded = bench.workspace_value.pipelines.at(bench.row(id).pipeline);
  supervise::AttemptOver over;
  over.run_id = id;
  over.attempt = bench.workers->busy.at(id);
  over.result.emplace();
  over.result->run_id = id;
  over.result->attempt = over.attempt;
  const auto handed = bench.workers->handed_off.back();
  over.result->steps = handed.kept;
  for (const auto& [name, well] : steps) {
    wire::StepResult step;
    step.step = name;
    step.outcome = well ? wire::StepOutcome::succeeded : wire::StepOutcome::failed;
    step.facts = "{\"by\":\"" + name + "\"}";
    step.said = "{\"materialized\":\"x\"}\n";
    for (const model::Step& each : loaded.pipeline->steps) {
      if (each.id == name) step.content = model::step_hash(*loaded.pipeline, each);
    }
    step.unpublished.emplace();
    over.result->steps.push_back(step);
    if (!well) over.result->outcome = Outcome::failed;
  }
  bench.workers->busy.erase(id);
  bench.workers->events.emplace_back(std::move(over));
  bench.settle();
}

std::vector<std::string> names(const std::vector<wire::StepResult>& steps) {
  std::vector<std::string> out;
  for (const wire::StepResult& step : steps) out.push_back(step.step);
  return out;
}
using Names = std::vector<std::string>;

TEST(Retry, AFailedRunIsQueuedAgainWithAFreshBudget) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.retry.max_attempts = 2; });
  bench.boot();
  const std::string id = bench.start("p").value();
  EXPECT_EQ(retry(bench, id).error().message,
            "run " + id + " is running; a failed or cancelled one can be tried again");
  bench.workers->over(id, Outcome::failed);
  bench.settle();
  EXPECT_EQ(retry(bench, id).error().message, "run " + id + " is queued; a failed or cancelled one can be tried again");
  bench.advance(20s);
  bench.workers->over(id, Outcome::failed);
  bench.settle();
  ASSERT_EQ(bench.row(id).state, RunState::failed);
  ASSERT_TRUE(retry(bench, id).ok());
  EXPECT_EQ(bench.row(id).state, RunState::running);
  EXPECT_EQ(bench.row(id).attempt, 3) << "the fence goes on";
  EXPECT_EQ(bench.row(id).failures, 0);
  bench.workers->over(id, Outcome::failed);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::queued) << "it has two attempts again";
  bench.advance(20s);
  bench.workers->over(id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(retry(bench, id).error().code, ErrorCode::conflict);
  EXPECT_EQ(retry(bench, "01890a5d-ac96-774b-bcce-b302099a8057").error().code, ErrorCode::not_found);
}

TEST(Retry, ACancelledRunAsWell) {
  TestBench bench;
  bench.add_pipeline("p");
  bench.boot();
  const std::string id = bench.start("p").value();
  ASSERT_TRUE(bench.cancel(id).ok());
  ASSERT_EQ(bench.row(id).state, RunState::cancelled);
  ASSERT_TRUE(retry(bench, id).ok());
  EXPECT_EQ(bench.row(id).state, RunState::running);
  EXPECT_FALSE(bench.row(id).cancel_asked_at.has_value());
  bench.workers->over(id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::succeeded);
}

TEST(Retry, FromWhatFailedKeepsTheRest) {
  TestBench bench;
  bench.add_pipeline("p", three_steps);
  bench.boot();
  const std::string id = bench.start("p").value();
  end_with(bench, id, {{"load", true}, {"build", false}});
  const auto answer = retry(bench, id, true);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->steps,
            (std::vector<decide::StepVerdict>{
                {"load", true, ""}, {"build", false, "it did not succeed"}, {"report", false, "it did not succeed"}}));
  const auto& kept = bench.workers->handed_off.back().kept;
  ASSERT_EQ(names(kept), Names{"load"});
  EXPECT_EQ(kept[0].kept_from, 1);
  EXPECT_EQ(kept[0].facts, R"({"by":"load"})");
  EXPECT_EQ(kept[0].said, "{\"materialized\":\"x\"}\n");
  // Each further retry keeps more; who did it is not forgotten.
  end_with(bench, id, {{"build", true}, {"report", false}});
  ASSERT_TRUE(retry(bench, id, true).ok());
  const auto more = bench.workers->handed_off.back().kept;
  ASSERT_EQ(names(more), (Names{"load", "build"}));
  EXPECT_EQ(more[0].kept_from, 1);
  EXPECT_EQ(more[1].kept_from, 2);
  // All of it: nothing is kept.
  end_with(bench, id, {{"report", false}});
  ASSERT_TRUE(retry(bench, id).ok());
  EXPECT_TRUE(bench.workers->handed_off.back().kept.empty());
  EXPECT_EQ(bench.row(id).kept, "");
}

TEST(Retry, WhatIsKeptOutlivesCrashesAndRetriesOfItsOwn) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    three_steps(p);
    p.retry.max_attempts = 2;
  });
  bench.boot();
  const std::string id = bench.start("p").value();
  end_with(bench, id, {{"load", true}, {"build", false}});
  bench.advance(20s);
  EXPECT_TRUE(bench.workers->handed_off.back().kept.empty()) << "a retry of the policy's does all of it";
  end_with(bench, id, {{"load", true}, {"build", false}});
  ASSERT_TRUE(retry(bench, id, true).ok());
  ASSERT_EQ(names(bench.workers->handed_off.back().kept), Names{"load"});
  bench.crash_and_boot();
  ASSERT_EQ(bench.row(id).attempt, 4);
  EXPECT_EQ(names(bench.workers->handed_off.back().kept), Names{"load"}) << "interrupted, and done again";
  // Its worker dies without a word: what was kept before is all that is known.
  bench.workers->die(id, 9);
  bench.settle();
  bench.advance(20s);
  bench.workers->die(id, 9);
  bench.settle();
  ASSERT_EQ(bench.row(id).state, RunState::failed);
  ASSERT_TRUE(retry(bench, id, true).ok());
  EXPECT_EQ(names(bench.workers->handed_off.back().kept), Names{"load"});
}

TEST(Retry, WhatADeadWorkersStepsHaveToldIsKept) {
  TestBench bench;
  bench.add_pipeline("p", three_steps);
  bench.boot();
  const std::string id = bench.start("p").value();
  wire::StepResult load;
  load.step = "load";
  const auto& pipeline = *bench.workspace_value.pipelines.at("p").pipeline;
  load.content = model::step_hash(pipeline, pipeline.steps[0]);
  bench.workers->events.emplace_back(supervise::AttemptStepEnded{{id, 1, load}});
  bench.settle();
  bench.workers->die(id, 9);
  bench.settle();
  ASSERT_EQ(bench.row(id).state, RunState::failed);
  EXPECT_NE(bench.attempts(id)[0].steps, "") << "history shows them as well";
  ASSERT_TRUE(retry(bench, id, true).ok());
  EXPECT_EQ(names(bench.workers->handed_off.back().kept), Names{"load"});
}

TEST(Retry, AStepThatWasChangedWhileTheRunWaitedIsDoneAgain) {
  TestBench bench;
  bench.workspace_value.settings.pools["one"] = {"one", 1};
  const auto in_pool = [](model::Pipeline& p) {
    three_steps(p);
    p.pools["one"] = 1;
  };
  bench.add_pipeline("p", in_pool);
  bench.add_pipeline("other", in_pool);
  bench.boot();
  const std::string id = bench.start("p").value();
  end_with(bench, id, {{"load", true}, {"build", true}, {"report", false}});
  const std::string other = bench.start("other").value();
  ASSERT_TRUE(retry(bench, id, true).ok());
  ASSERT_EQ(bench.row(id).state, RunState::queued);
  bench.add_pipeline("p", [&](model::Pipeline& p) {
    in_pool(p);
    p.steps[1].argv = {"something", "else"};
  });
  Reload reload;
  reload.reply = [](const auto&) {};
  bench.inbox->post(std::move(reload));
  bench.settle();
  bench.workers->over(other, Outcome::succeeded);
  bench.settle();
  ASSERT_EQ(bench.row(id).state, RunState::running);
  EXPECT_EQ(names(bench.workers->handed_off.back().kept), Names{"load"});
}

TEST(Retry, ByCauseAndExitCode) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.retry.max_attempts = 5;
    p.retry.on = {model::RetryCause::crash, model::RetryCause::timeout};
    p.retry.final_exit_codes = {64};
  });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.workers->die(id, 11);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::queued);
  bench.advance(1min);
  bench.workers->over(id, Outcome::timed_out);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::queued);
  bench.advance(1min);
  bench.workers->over(id, Outcome::failed);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::failed);
  EXPECT_EQ(bench.row(id).reason, model::reason::cause_not_retried);
}

TEST(Retry, AnInterruptedRunThatMayNotBeginAgainFails) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.on_interrupt = model::OnInterrupt::fail; });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.crash_and_boot();
  EXPECT_EQ(bench.row(id).state, RunState::failed);
  EXPECT_EQ(bench.row(id).reason, model::reason::interrupted_final);
  EXPECT_EQ(bench.attempts(id)[0].outcome, Outcome::interrupted);
  ASSERT_TRUE(retry(bench, id).ok()) << "a person may";
  EXPECT_EQ(bench.row(id).state, RunState::running);
}

TEST(Retry, WhatTheServersEndInterruptsFailsOnlyWhenItHadBegun) {
  for (const bool begun : {false, true}) {
    TestBench bench;
    bench.add_pipeline("p", [](model::Pipeline& p) { p.on_interrupt = model::OnInterrupt::fail; });
    bench.boot();
    const std::string id = bench.start("p").value();
    bench.workers->obeys_cancel = false;
    Stop stop;
    stop.now = true;
    bench.inbox->post(std::move(stop));
    bench.settle();
    ASSERT_EQ(bench.workers->cancelled.size(), 1u);
    supervise::AttemptOver over;
    over.run_id = id;
    over.attempt = 1;
    over.result.emplace();
    over.result->outcome = Outcome::cancelled;
    over.result->finished_at = bench.clock.now();
    if (begun) over.result->started_at = bench.clock.now();
    bench.workers->events.emplace_back(std::move(over));
    bench.settle();
    EXPECT_EQ(bench.row(id).state, begun ? RunState::failed : RunState::queued);
    EXPECT_EQ(bench.row(id).reason, begun ? model::reason::interrupted_final : model::reason::server_stopped);
    EXPECT_EQ(bench.attempts(id)[0].outcome, Outcome::interrupted);
  }
}

TEST(Retry, WaitsAsLongWhenTheClockIsSetBackToBeforeTheRunWasMade) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.retry.max_attempts = 3;
    p.retry.backoff = 10s;
    p.retry.factor = 1;
    p.retry.jitter = 0;
  });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.clock.step_to(bench.clock.now() - 1h);
  bench.settle();
  for (const bool crash : {false, true}) {
    bench.workers->over(id, Outcome::failed);
    bench.settle();
    if (crash) bench.crash_and_boot();
    EXPECT_EQ(bench.row(id).state, RunState::queued);
    bench.advance(9s);
    EXPECT_EQ(bench.row(id).state, RunState::queued);
    bench.advance(1s);
    EXPECT_EQ(bench.row(id).state, RunState::running);
  }
}

/// A worker that does not end when its server stops is killed by it: that is no crash of the run's.
TEST(Retry, WhatIsKilledByAServerThatStopsWasInterrupted) {
  for (const auto policy : {model::OnInterrupt::retry, model::OnInterrupt::fail}) {
    TestBench bench;
    bench.add_pipeline("p", [&](model::Pipeline& p) { p.on_interrupt = policy; });
    bench.boot();
    const std::string id = bench.start("p").value();
    bench.workers->obeys_cancel = false;
    Stop stop;
    stop.now = true;
    bench.inbox->post(std::move(stop));
    bench.settle();
    bench.workers->die(id, 9);
    bench.settle();
    const bool again = policy == model::OnInterrupt::retry;
    EXPECT_EQ(bench.row(id).state, again ? RunState::queued : RunState::failed);
    EXPECT_EQ(bench.row(id).reason, again ? model::reason::server_stopped : model::reason::interrupted_final);
    EXPECT_EQ(bench.row(id).failures, again ? 0 : 1);
    EXPECT_EQ(bench.attempts(id)[0].outcome, Outcome::interrupted);
  }
}

TEST(Retry, WhatDiesBeforeAServerThatStopsHasInterruptedItHasCrashed) {
  TestBench bench;
  bench.workspace_value.settings.drain_timeout = 30s;
  bench.add_pipeline("p");
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.inbox->post(Stop{});
  bench.settle();
  bench.workers->die(id, 9);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::failed);
  EXPECT_EQ(bench.row(id).reason, model::reason::budget_spent);
}

TEST(Retry, WhatAPersonHasCancelledAndAServerThatStopsKillsIsCancelled) {
  TestBench bench;
  bench.add_pipeline("p");
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.workers->obeys_cancel = false;
  ASSERT_TRUE(bench.cancel(id).ok());
  Stop stop;
  stop.now = true;
  bench.inbox->post(std::move(stop));
  bench.settle();
  bench.workers->die(id, 9);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::cancelled);
}

}  // namespace
}  // namespace eider::engine
