// What a run publishes, as facts: what Eider finds out, what steps say, when it is told, and what stays when the run
// goes wrong afterwards.
#include "worker/publication.h"

#include <sys/stat.h>

#include "base/ids.h"
#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;
using wire::Publication;
using wire::StepOutcome;

model::Publish asset(const std::string& name, const std::string& after = "") { return {name, "", "", after}; }
model::Publish table(const std::string& name, const std::string& of, const std::string& after = "") {
  return {name, "", of, after};
}
model::Pipeline publishing(std::vector<model::Step> steps, std::vector<model::Publish> publishes) {
  auto out = pipeline(std::move(steps));
  out.publishes = std::move(publishes);
  out.database = model::Database{"w.duckdb", false};
  return out;
}
/// A step that writes these lines to $EIDER_OUTPUT.
model::Step says(const std::string& id, const std::string& lines, std::vector<std::string> needs = {}) {
  return shell(id, "cat > \"$EIDER_OUTPUT\" <<'EOF'\n" + lines + "\nEOF\n", std::move(needs));
}

class Publications : public testing::Test {
 protected:
  wire::AttemptResult run(const model::Pipeline& one) {
    last_.emplace(workspace, one, 1, fmt::format("run-{}", ++runs_));
    last_->job.facts = facts;
    return last_->run_on(worker);
  }
  std::vector<Publication> published(const model::Pipeline& one) {
    auto result = run(one);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
    return result.publications;
  }
  /// The frames Published that came before the last frame that was waited for.
  std::vector<Publication> told() {
    std::vector<Publication> out;
    for (const auto& message : worker.server->seen) {
      if (const auto* one = std::get_if<wire::Published>(&message)) out.push_back(one->publication);
    }
    return out;
  }
  wire::PublishedSoFar record() const {
    const auto text = read_file(wire::Layout::attempt_published(last_->job.folder, 1), 1 << 20);
    return text ? *wire::decode_published(*text) : wire::PublishedSoFar{};
  }

  Workspace workspace;
  TestWorker worker{workspace, patient_limits(std::chrono::seconds(60))};
  std::map<std::string, std::string> facts;
  std::optional<TestRun> last_;
  int runs_ = 0;
};

// ---- facts ---------------------------------------------------------------------------------------------------------

TEST_F(Publications, OneOfEachAssetWithThePartitionOfTheRun) {
  facts = {{"partition", "2026-03"}};
  const auto got = published(publishing({program("a", {"true"})}, {asset("raw.x"), asset("raw.y")}));
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].asset, "raw.x");
  EXPECT_EQ(got[1].asset, "raw.y");
  EXPECT_EQ(got[0].partition, "2026-03");
  EXPECT_EQ(got[0].fingerprint, "");
  EXPECT_FALSE(got[0].rows.has_value());
  EXPECT_EQ(last_->result_file().publications.size(), 2U);
}

TEST_F(Publications, AFailedRunPublishesNothing) {
  const auto result = run(publishing({shell("a", "echo x > \"$EIDER_OUT_X\""), shell("b", "exit 1", {"a"})},
                                     {asset("raw.y"), file("raw.x", "out/x")}));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_TRUE(result.publications.empty());
}

TEST_F(Publications, AFileTellsItsBytesAndContent) {
  const auto one = publishing({shell("a", "printf hello > \"$EIDER_OUT_X\"")}, {file("raw.x", "out/x.bin")});
  const auto got = published(one);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes, 5);
  EXPECT_EQ(got[0].fingerprint, content_hash("hello"));
  EXPECT_FALSE(got[0].rows.has_value());
  EXPECT_EQ(got[0].columns, "");
}

TEST_F(Publications, RowsAndColumnsOfParquetCsvAndJson) {
  auto one = publishing(
      {sql("a",
           "COPY (SELECT range AS n, 'x' AS \"odd \"\"name\" FROM range(1000)) TO (getvariable('out_p')) (FORMAT "
           "parquet);"
           "COPY (SELECT range AS n FROM range(20)) TO (getvariable('out_c')) (FORMAT csv, COMPRESSION gzip);"
           "COPY (SELECT range AS n FROM range(30)) TO (getvariable('out_j')) (FORMAT json)")},
      {file("p", "out [1]/P*.PARQUET"), file("c", "out [1]/c.csv.gz"), file("j", "out [1]/j.jsonl")});
  const auto got = published(one);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].rows, 1000);
  EXPECT_EQ(boost::json::parse(got[0].columns),
            boost::json::parse(R"([{"name":"n","type":"BIGINT"},{"name":"odd \"name","type":"VARCHAR"}])"));
  EXPECT_EQ(got[1].rows, 20);
  EXPECT_EQ(boost::json::parse(got[1].columns), boost::json::parse(R"([{"name":"n","type":"BIGINT"}])"));
  EXPECT_EQ(got[2].rows, 30);
  EXPECT_EQ(last_->log_text("eider"), "");
}

TEST_F(Publications, AFoldersParquetFilesAreOneDataset) {
  auto one = publishing({sql("a",
                             "COPY (SELECT range % 3 AS part, range AS n FROM range(90)) TO (getvariable('out_x')) "
                             "(FORMAT parquet, PARTITION_BY (part))"),
                         shell("b", "echo ok > \"$EIDER_OUT_X/_SUCCESS\"", {"a"})},
                        {file("raw.x", "out/x")});
  const auto got = published(one);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].rows, 90);
  EXPECT_NE(got[0].columns.find("part"), std::string::npos) << got[0].columns;
  EXPECT_GT(got[0].bytes, 90);
  EXPECT_EQ(got[0].fingerprint.size(), 32U);
}

TEST_F(Publications, AFileThatIsNotWhatItsNameSaysHasUnknownRows) {
  const auto got =
      published(publishing({shell("a", "printf junk > \"$EIDER_OUT_X\"")}, {file("raw.x", "out/x.parquet")}));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].rows.has_value());
  EXPECT_EQ(got[0].columns, "");
  EXPECT_EQ(got[0].bytes, 4);
  EXPECT_NE(last_->log_text("eider").find("raw.x is published with an unknown number of rows: "), std::string::npos)
      << last_->log_text("eider");
}

TEST_F(Publications, ATableTellsRowsColumnsAndContentInWhateverOrderTheyCame) {
  const auto fingerprint = [&](const std::string& script, const std::string& name) {
    auto one = publishing({sql("a", "CREATE SCHEMA IF NOT EXISTS s;" + script)}, {table("raw.x", "s." + name)});
    const auto got = published(one);
    EXPECT_EQ(got.size(), 1U);
    return got.empty() ? Publication() : got[0];
  };
  const auto one = fingerprint("CREATE TABLE s.\"a b\" AS SELECT range AS n, NULL::TEXT AS t FROM range(5000)", "a b");
  EXPECT_EQ(one.rows, 5000);
  EXPECT_FALSE(one.bytes.has_value());
  EXPECT_EQ(boost::json::parse(one.columns),
            boost::json::parse(R"([{"name":"n","type":"BIGINT"},{"name":"t","type":"VARCHAR"}])"));
  EXPECT_EQ(one.fingerprint.size(), 32U);
  const auto reversed = fingerprint(
      "CREATE TABLE s.r (n BIGINT, t TEXT); INSERT INTO s.r SELECT 4999 - range, 'x' FROM range(5000);"
      "UPDATE s.r SET t = NULL",
      "r");
  EXPECT_EQ(reversed.fingerprint, one.fingerprint);
  const auto other = fingerprint("CREATE TABLE s.o AS SELECT range AS n, NULL::TEXT AS t FROM range(1, 5001)", "o");
  EXPECT_NE(other.fingerprint, one.fingerprint);
}

TEST_F(Publications, ATableThatIsNotThereSaysWhichAndWhatToDo) {
  auto one = publishing({program("a", {"true"})}, {table("raw.x", "nothing", "a")});
  const auto result = run(one);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("the table nothing, which the pipeline publishes as raw.x"), std::string::npos)
      << result.error;
  EXPECT_FALSE(workspace.has("w.duckdb")) << "to look makes no file";
  EXPECT_TRUE(told().empty());

  one.database->read_only = true;
  EXPECT_NE(run(one).error.find("can't publish raw.x: w.duckdb is opened to read only"), std::string::npos);
}

TEST_F(Publications, AFingerprintIsOfNoLink) {
  const auto got = published(
      publishing({shell("a", "mkdir \"$EIDER_OUT_X\"; ln -s /dev/null \"$EIDER_OUT_X/l\"")}, {file("raw.x", "out/x")}));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].fingerprint, "");
  EXPECT_NE(last_->log_text("eider").find("raw.x is published without a fingerprint"), std::string::npos);
}

// ---- what steps say ------------------------------------------------------------------------------------------------

TEST_F(Publications, LinesAboutAnAssetAreNoFactsOfTheStep) {
  facts = {{"partition", "2026-01"}};
  const auto result = run(publishing(
      {says(
           "a",
           R"({"rows": 3})"
           "\n"
           R"({"materialized": "raw.x", "partition": "2026-03", "rows": 10, "bytes": 5, "fingerprint": "f", "metadata": {"a": 1, "b": 1}})"
           "\n"
           R"({"materialized": "raw.x", "partition": "2026-04", "rows": 20})"
           "\n"
           R"({"metadata": {"of": "the step"}})"),
       says("b",
            R"({"materialized": "raw.x", "partition": "2026-03", "metadata": {"b": 2}})"
            "\n"
            R"({"materialized": "raw.y", "partition": ""})",
            {"a"})},
      {asset("raw.x"), asset("raw.y"), asset("raw.z")}));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(boost::json::parse(step_of(result, "a").facts),
            boost::json::parse(R"({"rows": 3, "metadata": {"of": "the step"}})"));
  EXPECT_EQ(step_of(result, "a").rows, 3);
  EXPECT_EQ(step_of(result, "b").facts, "");
  const auto& got = result.publications;
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[0].partition, "2026-03");
  EXPECT_EQ(got[0].rows, 10);
  EXPECT_EQ(got[0].bytes, 5);
  EXPECT_EQ(got[0].fingerprint, "f");
  EXPECT_EQ(boost::json::parse(got[0].metadata), boost::json::parse(R"({"a": 1, "b": 2})"));
  EXPECT_EQ(got[1].partition, "2026-04");
  EXPECT_EQ(got[1].rows, 20);
  EXPECT_EQ(got[1].metadata, "");
  EXPECT_EQ(got[2].asset, "raw.y");
  EXPECT_EQ(got[2].partition, "") << "the whole asset, though the run has a partition";
  EXPECT_EQ(got[3].asset, "raw.z");
  EXPECT_EQ(got[3].partition, "2026-01");
}

TEST_F(Publications, WhatAStepSaysIsAddedToWhatEiderFindsOut) {
  const auto got = published(publishing({shell("a",
                                               "printf hello > \"$EIDER_OUT_X\"; echo '{\"materialized\": \"raw.x\", "
                                               "\"rows\": 4, \"metadata\": {}}' > \"$EIDER_OUTPUT\"")},
                                        {file("raw.x", "out/x.bin")}));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].rows, 4);
  EXPECT_EQ(got[0].metadata, "{}");
  EXPECT_EQ(got[0].bytes, 5);
  EXPECT_EQ(got[0].fingerprint, content_hash("hello"));
}

struct BadLine {
  const char* line;
  const char* says;
};
TEST_F(Publications, ALineThatCantBeFailsItsStepInWords) {
  const BadLine cases[] = {
      {R"({"materialized": "raw.q"})",
       "about the asset \"raw.q\", which the pipeline does not publish; it publishes raw.x"},
      {R"({"materialized": 7})", "its `materialized` must be a text"},
      {R"({"materialized": null})", "its `materialized` must be a text"},
      {R"({"materialized": "raw.x", "partition": "../x"})", "its `partition` is no name of a partition: "},
      {R"({"materialized": "raw.x", "rows": -1})", "its `rows` must be a whole number from 0 on"},
      {R"({"materialized": "raw.x", "bytes": 1.5})", "its `bytes` must be a whole number from 0 on"},
      {R"({"materialized": "raw.x", "metadata": []})", "its `metadata` must be a JSON object"},
      {R"({"materialized": "raw.x", "row": 1})", "its `row` is not known; a line about an asset has "},
  };
  for (const BadLine& bad : cases) {
    const auto result = run(publishing({says("a", std::string("{}\n") + bad.line)}, {asset("raw.x")}));
    EXPECT_EQ(step_of(result, "a").outcome, StepOutcome::failed);
    EXPECT_NE(result.error.find("line 2 of the file $EIDER_OUTPUT is"), std::string::npos) << result.error;
    EXPECT_NE(result.error.find(bad.says), std::string::npos) << result.error;
    EXPECT_TRUE(result.publications.empty());
  }
}

TEST_F(Publications, NobodySpeaksOfWhatIsPublishedAlready) {
  const auto one = publishing({says("first", R"({"materialized": "raw.x", "rows": 1})"),
                               says("load", R"({"materialized": "raw.x", "bytes": 2})", {"first"}),
                               says("beside", R"({"materialized": "raw.x", "rows": 3})")},
                              {asset("raw.x", "load")});
  const auto result = run(one);
  EXPECT_EQ(step_of(result, "first").outcome, StepOutcome::succeeded);
  EXPECT_EQ(step_of(result, "load").outcome, StepOutcome::succeeded);
  EXPECT_NE(step_of(result, "beside").error.find("is about raw.x, which is published after step load; only that step"),
            std::string::npos)
      << step_of(result, "beside").error;
  const auto got = told();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].rows, 1);
  EXPECT_EQ(got[0].bytes, 2);
}

// ---- `after: STEP` -------------------------------------------------------------------------------------------------

TEST_F(Publications, AfterAStepItIsThereForTheNextAndTold) {
  const auto one = publishing({shell("load", "printf hello > \"$EIDER_OUT_X\""),
                               shell("use", "cp out/x seen; test ! -e out/y; ls .eider/runs/*/ > files", {"load"}),
                               shell("last", "printf y > \"$EIDER_OUT_Y\"", {"use"})},
                              {file("raw.y", "out/y"), file("raw.x", "out/x", "load"), asset("raw.z", "load")});
  const auto result = run(one);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(workspace.read("seen"), "hello");
  EXPECT_NE(workspace.read("files").find("1.published.json"), std::string::npos);
  EXPECT_EQ(result.steps.size(), 3U) << "what is well is not shown";
  const auto got = told();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].asset, "raw.x");
  EXPECT_EQ(got[0].step, "load");
  EXPECT_EQ(got[0].bytes, 5);
  EXPECT_EQ(got[0].fingerprint, content_hash("hello"));
  EXPECT_EQ(got[1].asset, "raw.z");
  // All of them in the result, and the renames of the others.
  ASSERT_EQ(result.publications.size(), 3U);
  EXPECT_EQ(result.publications[2].asset, "raw.y");
  EXPECT_EQ(result.publications[2].step, "");
  ASSERT_EQ(result.renames.size(), 1U);
  EXPECT_EQ(result.renames[0].asset, "raw.y");
  EXPECT_EQ(record().publications.size(), 2U);
  ASSERT_EQ(record().renames.size(), 1U);
  EXPECT_EQ(record().renames[0].target, workspace.path("out/x"));
}

TEST_F(Publications, TheRecordHoldsAllSoFar) {
  const auto one = publishing({program("a", {"true"}), program("b", {"true"}, {"a"}), program("c", {"true"})},
                              {asset("raw.a", "a"), asset("raw.b", "b"), asset("raw.c", "c")});
  ASSERT_EQ(published(one).size(), 3U);
  EXPECT_EQ(record().publications.size(), 3U);
  EXPECT_EQ(told().size(), 3U);
}

TEST_F(Publications, AFailureAfterwardsTakesNothingBack) {
  const auto one = publishing({shell("load", "printf hello > \"$EIDER_OUT_X\""), shell("bad", "exit 1", {"load"})},
                              {file("raw.x", "out/x", "load"), asset("raw.y")});
  const auto result = run(one);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_TRUE(result.publications.empty());
  EXPECT_EQ(workspace.read("out/x"), "hello");
  EXPECT_EQ(told().size(), 1U);
  EXPECT_EQ(record().publications.size(), 1U);
}

TEST_F(Publications, ACancelAfterwardsTakesNothingBack) {
  const auto one =
      publishing({program("load", {"true"}), shell("wait", "sleep 1000", {"load"})}, {asset("raw.x", "load")});
  TestRun waiting(workspace, one);
  waiting.hand_to(worker);
  worker.server->wait_for_start("wait");
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::cancelled);
  EXPECT_EQ(told().size(), 1U);
}

TEST_F(Publications, AfterASqlStepWhoseReceiptIsFoundItIsPublishedAgain) {
  auto one = publishing({sql("load", "CREATE TABLE t AS SELECT 7 AS n"),
                         shell("fail_once", "test -e again || { touch again; exit 1; }", {"load"}),
                         sql("use", "INSERT INTO t VALUES (8)", {"fail_once"})},
                        {table("raw.t", "t", "load")});
  const auto first = TestRun(workspace, one).run_on(worker);
  EXPECT_EQ(first.outcome, Outcome::failed);
  const auto second = TestRun(workspace, one, 2).run_on(worker);
  EXPECT_EQ(second.outcome, Outcome::succeeded) << second.error;
  EXPECT_EQ(step_of(second, "load").outcome, StepOutcome::receipt_found);
  const auto got = told();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].rows, 1);
  EXPECT_EQ(got[0].fingerprint, got[1].fingerprint);
}

TEST_F(Publications, ATableIsLookedAtWhileAnotherStepWrites) {
  // The pipe tells that the other step has the file open; then it goes on for ever.
  auto one = publishing({sql("load", "CREATE TABLE t AS SELECT 7 AS n"), shell("pipe", "mkfifo open", {"load"}),
                         sql("beside",
                             "COPY (SELECT 1 AS x) TO 'open' (FORMAT csv, USE_TMP_FILE false); CREATE TABLE u AS "
                             "SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
                             {"pipe"}),
                         shell("late", "cat open", {"pipe"})},
                        {table("raw.t", "t", "late")});
  TestRun run(workspace, one);
  run.hand_to(worker);
  EXPECT_EQ(worker.server->wait_for<wire::Published>().publication.rows, 1);
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  const auto result = worker.server->wait_for<wire::Finished>().result;
  EXPECT_EQ(step_of(result, "beside").outcome, StepOutcome::cancelled) << step_of(result, "beside").error;
}

TEST_F(Publications, WhatNeedsAStepWaitsForItsPublicationAndFailsWithIt) {
  const auto result = run(
      publishing({program("load", {"true"}), shell("use", "touch ran", {"load"})}, {file("raw.x", "out/x", "load")}));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_TRUE(result.error.starts_with("no step up to load wrote " + workspace.path("out/x"))) << result.error;
  EXPECT_EQ(step_of(result, "use").outcome, StepOutcome::skipped);
  EXPECT_FALSE(workspace.has("ran"));
  EXPECT_TRUE(told().empty());
}

TEST_F(Publications, WhatCantBePutInPlaceIsNotPublishedAndTheRestIs) {
  // The first target is where the second file is staged: after that rename, the second can't be done.
  const auto one = publishing({shell("load", "echo 1 > \"$EIDER_OUT_ONE\"; echo 2 > \"$EIDER_OUT_TWO\"")},
                              {file("one", "out/.y.run-1.1.tmp", "load"), file("two", "out/y", "load")});
  const auto result = run(one);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("can't publish " + workspace.path("out/y")), std::string::npos) << result.error;
  const auto got = told();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].asset, "one");
  ASSERT_EQ(record().publications.size(), 1U);
  EXPECT_EQ(record().publications[0].asset, "one");
  EXPECT_EQ(record().renames.size(), 1U);
}

TEST_F(Publications, WithoutARecordNothingIsPublished) {
  const auto one = publishing({shell("load", "echo 1 > \"$EIDER_OUT_X\"")}, {file("raw.x", "out/x", "load")});
  TestRun blocked(workspace, one);
  std::filesystem::create_directories(wire::Layout::attempt_published(blocked.job.folder, 1) + ".tmp");
  const auto result = blocked.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_TRUE(result.error.starts_with("nothing was published after load, because ")) << result.error;
  EXPECT_FALSE(workspace.has("out/x"));
  EXPECT_TRUE(told().empty());
}

TEST_F(Publications, ACancelEndsTheReadingOfALargeTable) {
  auto one =
      publishing({sql("load", "CREATE VIEW v AS SELECT count(*) AS n FROM range(1000000000) a, range(1000000000) b"),
                  shell("mark", "touch looked", {"load"})},
                 {table("raw.v", "v", "load")});
  TestRun run(workspace, one);
  run.hand_to(worker);
  worker.server->wait_for<wire::StepEnded>();
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::cancelled);
  EXPECT_FALSE(workspace.has("looked"));
  EXPECT_TRUE(told().empty());
}

struct Death {
  const char* place;
  bool visible;
  bool recorded;
};
TEST(PublicationsFault, WhatADeathLeaves) {
  for (const Death& death : {Death{"publish.before_commit", false, false}, Death{"publish.after_commit", false, true},
                             Death{"publish.after_renames", true, true}}) {
    const Workspace workspace;
    ::setenv("EIDER_FAULT", death.place, 1);
    TestWorker worker(workspace);
    ::unsetenv("EIDER_FAULT");
    TestRun run(workspace, publishing({shell("load", "echo 1 > \"$EIDER_OUT_X\"")}, {file("raw.x", "out/x", "load")}));
    run.hand_to(worker);
    EXPECT_TRUE(worker.server->at_end());
    const int status = worker.wait_for_exit();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << death.place;
    EXPECT_EQ(workspace.has("out/x"), death.visible) << death.place;
    EXPECT_EQ(std::filesystem::exists(wire::Layout::attempt_published(run.job.folder, 1)), death.recorded)
        << death.place;
  }
}

// ---- what a data run knows -----------------------------------------------------------------------------------------

TEST_F(Publications, ARunKnowsWhatItIsFor) {
  const std::string events = R"([{"id":"e1","asset":"raw.x"},{"id":"e2","asset":"raw.x"}])";
  facts = {
      {"event_asset", "raw.x"}, {"event_partition", ""}, {"event_run", "r"}, {"event_id", "e2"}, {"events", events}};
  const std::string show =
      "SELECT concat_ws('|', getvariable('event_asset'), getvariable('event_id'), getvariable('events')->1->>'id', "
      "getvariable('event_run') IS NULL) AS shown";
  auto one = pipeline({shell("a",
                             "echo \"$EIDER_EVENT_ASSET $EIDER_EVENT_RUN $EIDER_EVENT_ID\" > env; cp \"$EIDER_EVENTS\" "
                             "events"),
                       sql("b", show)});
  EXPECT_EQ(run(one).outcome, Outcome::succeeded);
  EXPECT_EQ(workspace.read("env"), "raw.x r e2\n");
  EXPECT_EQ(workspace.read("events"), events + "\n");
  EXPECT_NE(last_->log_text("stdout").find("raw.x|e2|e2|false"), std::string::npos) << last_->log_text("stdout");

  facts.clear();
  one.steps[0] = shell("a", "env | grep -c ^EIDER_EVENT; true");
  EXPECT_EQ(run(one).outcome, Outcome::succeeded);
  EXPECT_NE(last_->log_text("stdout").find("true"), std::string::npos) << last_->log_text("stdout");
  EXPECT_NE(last_->log_text("stdout").find("0\n"), std::string::npos) << last_->log_text("stdout");
}

}  // namespace
}  // namespace eider::worker
