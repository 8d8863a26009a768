#include "decide/failure.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <functional>
#include <set>

namespace eider::decide {
namespace {

using Kind = model::Step::Kind;

model::Step step(const std::string& id, Kind kind = Kind::run, std::vector<std::string> needs = {}) {
  model::Step out;
  out.id = id;
  out.kind = kind;
  if (kind == Kind::sql) out.sql = "SELECT 1";
  if (kind == Kind::run) out.argv = {"true"};
  out.needs = std::move(needs);
  return out;
}

StepDone done(const model::Pipeline& pipeline, const model::Step& of) {
  return {of.id, true, model::step_hash(pipeline, of), std::vector<std::string>()};
}

/// load -> build -> report, on a DuckDB file.
model::Pipeline chain() {
  model::Pipeline out;
  out.database = model::Database{"w.duckdb", false};
  out.steps = {step("load"), step("build", Kind::sql, {"load"}), step("report", Kind::run, {"build"})};
  return out;
}

/// All but the last have succeeded.
std::vector<StepDone> all_but_last(const model::Pipeline& pipeline) {
  std::vector<StepDone> out;
  for (std::size_t i = 0; i + 1 < pipeline.steps.size(); ++i) out.push_back(done(pipeline, pipeline.steps[i]));
  out.push_back({pipeline.steps.back().id, false, model::step_hash(pipeline, pipeline.steps.back()), {}});
  return out;
}

TEST(KeptSteps, WhatSucceededIsKept) {
  const model::Pipeline pipeline = chain();
  EXPECT_EQ(
      kept_steps(pipeline, all_but_last(pipeline)),
      (std::vector<StepVerdict>{{"load", true, ""}, {"build", true, ""}, {"report", false, "it did not succeed"}}));
  EXPECT_EQ(kept_steps(pipeline, {})[0], (StepVerdict{"load", false, "it did not succeed"}));
}

TEST(KeptSteps, EachObstacleIsNamed) {
  struct Row {
    const char* what;
    std::function<void(model::Pipeline& now, std::vector<StepDone>& done)> change;
    const char* load;  ///< why it is done again
    const char* build;
  };
  const char* const memory = "it works in memory, which ended with its attempt";
  const Row rows[] = {
      {"nothing", [](auto&, auto&) {}, "", ""},
      {"another script", [](auto& now, auto&) { now.steps[1].sql = "SELECT 2"; }, "", "it has been changed since"},
      {"another program", [](auto& now, auto&) { now.steps[0].argv = {"false"}; }, "it has been changed since",
       "it needs load, which is done again"},
      {"another variable", [](auto& now, auto&) { now.steps[0].env["X"] = "1"; }, "it has been changed since",
       "it needs load, which is done again"},
      {"another line in its file", [](auto& now, auto&) { now.steps[1].sql_origin.first_line = 7; }, "", ""},
      {"more time", [](auto& now, auto&) { now.steps[0].timeout = std::chrono::hours(1); }, "", ""},
      {"another file", [](auto& now, auto&) { now.database->file = "x.duckdb"; }, "it has been changed since",
       "it has been changed since"},
      {"a step before the first",
       [](auto& now, auto&) {
         now.steps.push_back(step("first"));
         now.steps[0].needs = {"first"};
       },
       "it has been changed since", "it needs load, which is done again"},
      {"an older eider", [](auto&, auto& was) { was[1].content.clear(); }, "",
       "an earlier eider did it, and did not say what it was"},
      {"failed", [](auto&, auto& was) { was[0].succeeded = false; }, "it did not succeed",
       "it needs load, which is done again"},
      {"staged", [](auto&, auto& was) { was[0].unpublished = {"out.x"}; },
       "what it made of out.x was not published, and went with its attempt", "it needs load, which is done again"},
      {"cut short, publishes nothing", [](auto&, auto& was) { was[0].unpublished.reset(); }, "", ""},
      {"cut short, publishes a table",
       [](auto& now, auto& was) {
         was[0].unpublished.reset();
         now.publishes = {{"out.x", "", "x", "", false}};
       },
       "", ""},
      {"cut short, publishes a file",
       [](auto& now, auto& was) {
         was[1].unpublished.reset();
         now.publishes = {{"out.x", "out/x", "", "", false}};
       },
       "", "what it had published when its attempt was cut short is not known"},
      {"in memory",
       [](auto& now, auto& was) {
         now.database.reset();
         was = {done(now, now.steps[0]), done(now, now.steps[1])};
       },
       "", memory},
      {"to read only",
       [](auto& now, auto& was) {
         now.database->read_only = true;
         was = {done(now, now.steps[0]), done(now, now.steps[1])};
       },
       "", memory},
  };
  for (const Row& row : rows) {
    model::Pipeline now = chain();
    auto was = all_but_last(now);
    row.change(now, was);
    const auto verdicts = kept_steps(now, was);
    EXPECT_EQ(verdicts[0].why, row.load) << row.what;
    EXPECT_EQ(verdicts[1].why, row.build) << row.what;
    for (const StepVerdict& each : verdicts) EXPECT_EQ(each.kept, each.why.empty()) << row.what;
  }
}

TEST(KeptSteps, AStepThatIsGoneIsForgotten) {
  const model::Pipeline before = chain();
  model::Pipeline now = before;
  now.steps.erase(now.steps.begin());
  now.steps[0].needs.clear();
  EXPECT_EQ(kept_steps(now, all_but_last(before)).size(), 2u);
}

/// Whatever has succeeded: a step is kept only with all that it needs, and nothing fails that did not.
RC_GTEST_PROP(KeptSteps, NothingIsKeptOverAGap, ()) {
  model::Pipeline pipeline;
  const int count = *rc::gen::inRange(1, 12);
  std::vector<StepDone> was;
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> needs;
    for (int j = 0; j < i; ++j) {
      if (*rc::gen::inRange(0, 4) == 0) needs.push_back(std::to_string(j));
    }
    pipeline.steps.push_back(step(std::to_string(i), Kind::run, needs));
    if (*rc::gen::inRange(0, 3) == 0) continue;
    was.push_back(done(pipeline, pipeline.steps.back()));
    was.back().succeeded = *rc::gen::inRange(0, 4) != 0;
  }
  std::set<std::string> kept;
  for (const StepVerdict& each : kept_steps(pipeline, was)) {
    if (each.kept) kept.insert(each.step);
  }
  for (const model::Step& each : pipeline.steps) {
    const auto at = std::find_if(was.begin(), was.end(), [&](const auto& one) { return one.step == each.id; });
    bool all = at != was.end() && at->succeeded;
    for (const std::string& need : each.needs) all = all && kept.contains(need);
    RC_ASSERT(kept.contains(each.id) == all);
  }
}

}  // namespace
}  // namespace eider::decide
