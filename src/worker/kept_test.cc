// Steps that are kept from an earlier attempt (`retry --from-failed`): they are over before the attempt begins, and
// what they have told is there.
#include "model/pipeline.h"
#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;
using wire::StepOutcome;

model::Publish file(const std::string& name, const std::string& path, const std::string& after = "") {
  return {name, path, "", after, false};
}

/// The steps of a failed attempt that succeeded, as the engine would keep them.
std::vector<wire::StepResult> kept_of(const wire::AttemptResult& result) {
  std::vector<wire::StepResult> out;
  for (const wire::StepResult& step : result.steps) {
    if (!wire::went_well(step.outcome) || !step.unpublished || !step.unpublished->empty()) continue;
    out.push_back(step);
    if (out.back().kept_from == 0) out.back().kept_from = result.attempt;
  }
  return out;
}

class Kept : public testing::Test {
 protected:
  /// The pipeline's next attempt, with what the last one left.
  wire::AttemptResult run(const model::Pipeline& pipeline) {
    last_.emplace(workspace, pipeline, ++attempt_);
    last_->job.kept = kept_;
    wire::AttemptResult result = last_->run_on(worker);
    kept_ = kept_of(result);
    return result;
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> out;
    for (const wire::StepResult& step : kept_) out.push_back(step.step);
    return out;
  }

  Workspace workspace;
  TestWorker worker{workspace};
  std::optional<TestRun> last_;
  std::vector<wire::StepResult> kept_;
  int attempt_ = 0;
};
using Names = std::vector<std::string>;

TEST_F(Kept, AStepIsNotDoneAgainAndItsFactsAreThere) {
  const auto steps = pipeline({shell("load", "echo x >> loaded; echo '{\"rows\": 7}' > \"$EIDER_OUTPUT\""),
                               shell("check", "cat \"$EIDER_FACTS\" >> facts; test -e go", {"load"}),
                               shell("last", "touch done", {"check"})});
  const auto first = run(steps);
  EXPECT_EQ(first.outcome, Outcome::failed);
  EXPECT_EQ(step_of(first, "load").content, model::step_hash(steps, steps.steps[0]));
  ASSERT_EQ(kept(), Names{"load"});
  workspace.write("go", "");
  const auto second = run(steps);
  EXPECT_EQ(second.outcome, Outcome::succeeded) << second.error;
  EXPECT_EQ(workspace.read("loaded"), "x\n");
  EXPECT_EQ(workspace.read("facts"), "{\"load\":{\"rows\":7}}\n{\"load\":{\"rows\":7}}\n");
  EXPECT_TRUE(workspace.has("done"));
  EXPECT_EQ(step_of(second, "load").kept_from, 1);
  EXPECT_EQ(step_of(second, "load").rows, 7);
  EXPECT_EQ(step_of(second, "check").kept_from, 0);
  EXPECT_EQ(last_->log_text("eider"), "kept: attempt 1 has done it\n");
  // Whoever follows the attempt is told of it like of any other step.
  const auto& seen = worker.server->seen;
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const wire::ToServer& message) {
    const auto* ended = std::get_if<wire::StepEnded>(&message);
    return ended && ended->attempt == 2 && ended->result.step == "load";
  }));
}

TEST_F(Kept, WhatAStepSaidOfAnAssetIsPublishedWithTheRun) {
  auto steps = pipeline({shell("load", "echo '{\"materialized\": \"raw.x\", \"rows\": 3}' > \"$EIDER_OUTPUT\""),
                         shell("check", "test -e go", {"load"})});
  steps.publishes = {{"raw.x", "", "", "", false}};
  EXPECT_EQ(run(steps).outcome, Outcome::failed);
  ASSERT_EQ(kept(), Names{"load"});
  workspace.write("go", "");
  const auto second = run(steps);
  ASSERT_EQ(second.publications.size(), 1u) << second.error;
  EXPECT_EQ(second.publications[0].rows, 3);
}

TEST_F(Kept, WhatIsStagedGoesWithItsAttempt) {
  auto steps =
      pipeline({shell("load", "touch loaded"), shell("read", "cat loaded", {"load"}),
                shell("export", "echo 1 > \"$EIDER_OUT_X\"", {"read"}),
                shell("more", "echo 2 >> \"$EIDER_OUT_X\"", {"export"}), shell("check", "test -e go", {"more"})});
  steps.publishes = {file("out.x", "out/x")};
  const auto first = run(steps);
  EXPECT_EQ(step_of(first, "export").unpublished, Names{"out.x"});
  EXPECT_EQ(step_of(first, "more").unpublished, Names{"out.x"});
  EXPECT_EQ(kept(), (Names{"load", "read"}));
  workspace.write("go", "");
  EXPECT_EQ(run(steps).outcome, Outcome::succeeded);
  EXPECT_EQ(workspace.read("out/x"), "1\n2\n");
}

TEST_F(Kept, ASqlStepBesideOneThatStagesIsKept) {
  auto steps =
      pipeline({shell("export", "echo 1 > \"$EIDER_OUT_X\"; touch staged; until test -e built; do sleep 0.01; done"),
                shell("wait", "until test -e staged; do sleep 0.01; done"),
                sql("build", "CREATE TABLE t AS SELECT 1 AS i", {"wait"}), shell("built", "touch built", {"build"}),
                shell("check", "test -e go", {"export", "built"})});
  steps.database = model::Database{"w.duckdb", false};
  steps.publishes = {file("out.x", "out/x")};
  const auto first = run(steps);
  EXPECT_EQ(step_of(first, "build").unpublished, Names());
  EXPECT_EQ(step_of(first, "export").unpublished, Names{"out.x"});
}

TEST_F(Kept, WhatIsPublishedAfterAStepStaysPublished) {
  auto steps =
      pipeline({shell("make", "echo x >> made; echo 1 > \"$EIDER_OUT_X\""), shell("check", "test -e go", {"make"})});
  steps.publishes = {file("out.x", "out/x", "make")};
  const auto first = run(steps);
  EXPECT_EQ(first.outcome, Outcome::failed);
  EXPECT_EQ(workspace.read("out/x"), "1\n");
  EXPECT_EQ(step_of(first, "make").unpublished, Names());
  ASSERT_EQ(kept(), Names{"make"});
  workspace.write("go", "");
  const auto second = run(steps);
  EXPECT_EQ(second.outcome, Outcome::succeeded) << second.error;
  EXPECT_EQ(workspace.read("made"), "x\n");
  EXPECT_EQ(second.publications.size(), 0u) << "it has been told";
}

TEST_F(Kept, WhatCouldNotBePublishedAfterAStepIsMadeAgain) {
  auto steps = pipeline({shell("make", "test ! -e go || echo 1 > \"$EIDER_OUT_X\"")});
  steps.publishes = {file("out.x", "out/x", "make")};
  const auto first = run(steps);
  EXPECT_EQ(first.outcome, Outcome::failed);
  EXPECT_EQ(step_of(first, "make").outcome, StepOutcome::succeeded);
  EXPECT_EQ(step_of(first, "make").unpublished, Names{"out.x"});
  EXPECT_EQ(kept(), Names());
}

TEST_F(Kept, AStepOfAnotherPipelineIsRefused) {
  wire::StepResult stranger;
  stranger.step = "nobody";
  stranger.kept_from = 1;
  kept_ = {stranger};
  const auto result = run(pipeline({program("a", {"true"})}));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.error, "step nobody is to be kept, and is not there");
}

}  // namespace
}  // namespace eider::worker
