#include "cli/arguments.h"

#include <gtest/gtest.h>

namespace eider::cli {
namespace {

using Words = std::vector<std::string>;

Options good(const Words& words) {
  const Parsed parsed = parse_arguments(words, "1.2.3");
  EXPECT_TRUE(parsed.options.has_value()) << parsed.error << parsed.output;
  return parsed.options.value_or(Options{});
}

std::string wrong(const Words& words) {
  const Parsed parsed = parse_arguments(words, "1.2.3");
  EXPECT_FALSE(parsed.options.has_value());
  return parsed.error;
}

TEST(Arguments, EveryVerb) {
  const std::pair<Words, Verb> lines[] = {
      {{"init"}, Verb::init},
      {{"init", "dir"}, Verb::init},
      {{"validate", "--json"}, Verb::validate},
      {{"schema"}, Verb::schema},
      {{"schema", "workspace"}, Verb::schema},
      {{"run", "daily"}, Verb::run},
      {{"serve", "--test-clock", "2026-03-29T01:00:00Z"}, Verb::serve},
      {{"stop", "--now"}, Verb::stop},
      {{"status"}, Verb::status},
      {{"pipelines", "list"}, Verb::pipelines_list},
      {{"schedule", "list"}, Verb::schedule_list},
      {{"schedule", "describe", "daily/nightly"}, Verb::schedule_describe},
      {{"schedule", "preview", "--cron", "* * * * *", "--timezone", "UTC"}, Verb::schedule_preview},
      {{"schedule", "pause", "daily/nightly", "--note", "why"}, Verb::schedule_pause},
      {{"schedule", "resume", "daily/nightly"}, Verb::schedule_resume},
      {{"occurrences", "daily/nightly", "--decision", "missed"}, Verb::occurrences},
      {{"runs", "list", "--state", "failed", "--limit", "5"}, Verb::runs_list},
      {{"runs", "show", "0192"}, Verb::runs_show},
      {{"logs", "-f", "0192", "--attempt", "2", "--step", "build"}, Verb::logs},
      {{"cancel", "0192"}, Verb::cancel},
      {{"retry", "0192", "--from-failed"}, Verb::retry},
      {{"doctor", "--json"}, Verb::doctor},
      {{"pools"}, Verb::pools},
      {{"reload"}, Verb::reload},
      {{"completion", "zsh"}, Verb::completion},
      {{"version"}, Verb::version},
      {{"worker"}, Verb::worker},
      {{"__complete", "bash", ""}, Verb::complete},
  };
  for (const auto& [words, verb] : lines) EXPECT_EQ(good(words).verb, verb) << words.front();
}

TEST(Arguments, ReadsOptionsWhereverTheyStand) {
  EXPECT_EQ(good({"-w", "a", "runs", "list", "--json"}).workspace, "a");
  EXPECT_EQ(good({"runs", "list", "--workspace=a"}).workspace, "a");
  EXPECT_EQ(good({"status", "--color", "never"}).color, "never");
  const Options run = good({"run", "-p", "a=1", "daily", "-p", "b:=2", "--queue", "--idempotency-key", "k"});
  EXPECT_EQ(run.target, "daily");
  EXPECT_EQ(run.pairs, (Words{"a=1", "b:=2"}));
  EXPECT_TRUE(run.queue);
  EXPECT_EQ(run.idempotency_key, "k");
}

TEST(Arguments, AValueMayLookLikeAVerb) {
  EXPECT_EQ(good({"run", "status"}).target, "status");
  EXPECT_EQ(good({"cancel", "list"}).target, "list");
  EXPECT_EQ(good({"schedule", "describe", "list"}).target, "list");
}

TEST(Arguments, MistypedWordsAreExplained) {
  EXPECT_NE(wrong({"statsu"}).find("did you mean `status`?"), std::string::npos);
  EXPECT_NE(wrong({"runs", "lst"}).find("did you mean `list`?"), std::string::npos);
  EXPECT_NE(wrong({"run", "x", "--qeue"}).find("did you mean `--queue`?"), std::string::npos);
  EXPECT_NE(wrong({"runs"}).find("needs a verb: list or show"), std::string::npos);
  EXPECT_NE(wrong({}).find("needs a verb: init"), std::string::npos);
  EXPECT_NE(wrong({"run"}).find("PIPELINE is required"), std::string::npos);
  EXPECT_NE(wrong({"logs", "x", "--step"}).find("`--step` needs a value"), std::string::npos);
  EXPECT_NE(wrong({"stop", "--now", "--leave-running"}).find("--leave-running"), std::string::npos);
  EXPECT_NE(wrong({"schedule", "preview", "a/b", "--cron", "* * * * *"}).find("excludes"), std::string::npos);
  EXPECT_NE(wrong({"runs", "show", "a", "b"}).find("`eider runs show --help`"), std::string::npos);
  EXPECT_NE(wrong({"\x1b[31m"}).find("\\x1B[31m"), std::string::npos) << "a word is foreign text, too";
}

TEST(Arguments, HelpOfEachVerbHasExamples) {
  for (const Words& words : {Words{"init"},
                             {"validate"},
                             {"schema"},
                             {"run"},
                             {"serve"},
                             {"stop"},
                             {"status"},
                             {"schedule"},
                             {"pipelines"},
                             {"pipelines", "list"},
                             {"schedule", "list"},
                             {"schedule", "preview"},
                             {"occurrences"},
                             {"runs"},
                             {"runs", "show"},
                             {"logs"},
                             {"cancel"},
                             {"retry"},
                             {"doctor"},
                             {"assets"},
                             {"assets", "list"},
                             {"assets", "graph"},
                             {"assets", "materialize"},
                             {"materializations"},
                             {"materializations", "show"},
                             {"deliveries"},
                             {"deliveries", "list"},
                             {"deliveries", "retry"},
                             {"deliveries", "skip"},
                             {"explain"},
                             {"simulate"},
                             {"pools"},
                             {"reload"},
                             {"completion"},
                             {"version"}}) {
    Words asked = words;
    asked.push_back("--help");
    const Parsed parsed = parse_arguments(asked, "1.2.3");
    EXPECT_NE(parsed.output.find("Examples:\n"), std::string::npos) << words.back() << ": " << parsed.output;
    EXPECT_EQ(parsed.output.find("eider worker"), std::string::npos) << "only the server starts it";
    EXPECT_EQ(parsed.output.find("\n\n\n"), std::string::npos) << words.back() << ": " << parsed.output;
    Words other = words;
    other.insert(other.begin(), "help");
    EXPECT_EQ(parse_arguments(other, "1.2.3").output, parsed.output);
  }
  const Parsed all = parse_arguments({"--help"}, "1.2.3");
  EXPECT_NE(all.output.find("130 `eider run` was interrupted"), std::string::npos);
  EXPECT_EQ(all.output.find("__complete"), std::string::npos);
  EXPECT_EQ(all.output.find("\n  worker"), std::string::npos);
  EXPECT_EQ(parse_arguments({"help"}, "1.2.3").output, all.output);
  EXPECT_NE(wrong({"help", "statsu"}).find("did you mean `status`?"), std::string::npos);
  const std::string stop = parse_arguments({"stop", "--help"}, "1.2.3").output;
  EXPECT_EQ(stop.find("Excludes"), std::string::npos) << stop;
  EXPECT_NE(parse_arguments({"schedule", "list", "--help"}, "1.2.3").output.find("by name"), std::string::npos);
  const std::string run = parse_arguments({"run", "--help"}, "1.2.3").output;
  EXPECT_NE(run.find("PIPELINE REQUIRED"), std::string::npos) << run;
  EXPECT_NE(run.find("--partition P "), std::string::npos) << run;
  EXPECT_EQ(parse_arguments({"--version"}, "1.2.3").output, "eider 1.2.3\n");
}

TEST(Completion, Verbs) {
  EXPECT_EQ(complete_arguments({"sta"}).words, (Words{"status"}));
  EXPECT_EQ(complete_arguments({"pipelines", ""}).words, (Words{"list"}));
  EXPECT_EQ(complete_arguments({"schedule", "p"}).words, (Words{"preview", "pause"}));
  EXPECT_EQ(complete_arguments({"-w", "x", "runs", ""}).words, (Words{"list", "show"}));
  EXPECT_TRUE(complete_arguments({"nonsense", ""}).words.empty());
}

TEST(Arguments, AVerbThatListsHasOneThatShows) {
  EXPECT_EQ(parse_arguments({"materializations", "--asset", "raw.x"}, "").options->verb, Verb::materializations);
  const Parsed one = parse_arguments({"materializations", "show", "5f0c"}, "");
  EXPECT_EQ(one.options->verb, Verb::materializations_show);
  EXPECT_EQ(one.options->target, "5f0c");
  EXPECT_NE(wrong({"materializations", "shwo"}).find("did you mean `show`?"), std::string::npos);
  EXPECT_NE(wrong({"materializations", "--asset"}).find("`--asset` needs a value"), std::string::npos);
  EXPECT_NE(wrong({"materializations", "--aset", "x"}).find("did you mean `--asset`?"), std::string::npos);
  EXPECT_NE(wrong({"assets"}).find("needs a verb: list, show, graph or materialize"), std::string::npos);
  EXPECT_FALSE(wrong({"materializations", "--asset", "a", "--run", "b"}).empty());
  EXPECT_FALSE(wrong({"deliveries", "retry", "2b1e", "--state", "failed"}).empty());
}

TEST(Completion, OptionsOfTheVerbAndOfAll) {
  EXPECT_EQ(complete_arguments({"runs", "list", "--s"}).words, (Words{"--state"}));
  const Words all = complete_arguments({"runs", "list", "--"}).words;
  EXPECT_NE(std::find(all.begin(), all.end(), "--workspace"), all.end());
  EXPECT_EQ(std::find(all.begin(), all.end(), "--version"), all.end());
  EXPECT_TRUE(complete_arguments({"serve", "--test"}).words.empty()) << "a hidden option";
}

TEST(Completion, KindsOfValues) {
  EXPECT_EQ(complete_arguments({"run", "da"}).kind, "PIPELINE");
  EXPECT_EQ(complete_arguments({"run", "daily", ""}).kind, "") << "one pipeline is enough";
  EXPECT_EQ(complete_arguments({"schedule", "pause", ""}).kind, "SCHEDULE");
  EXPECT_EQ(complete_arguments({"logs", "-f", ""}).kind, "RUN");
  EXPECT_EQ(complete_arguments({"runs", "list", "--state", ""}).kind, "STATE");
  EXPECT_EQ(complete_arguments({"--color", ""}).kind, "WHEN");
  EXPECT_EQ(complete_arguments({"assets", "show", ""}).kind, "ASSET");
  EXPECT_EQ(complete_arguments({"deliveries", "retry", ""}).kind, "DELIVERY");
  EXPECT_EQ(complete_arguments({"deliveries", "list", "--trigger", ""}).kind, "TRIGGER");
  EXPECT_EQ(complete_arguments({"deliveries", "list", "--state", ""}).verb, "eider deliveries list");
  EXPECT_EQ(complete_arguments({"materializations", "show", ""}).kind, "MATERIALIZATION");
  EXPECT_EQ(complete_arguments({"explain", ""}).kind, "ID");
  const Completion joined = complete_arguments({"-w", "here", "runs", "list", "--pipeline=da"});
  EXPECT_EQ(joined.kind, "PIPELINE");
  EXPECT_EQ(joined.typed, "da");
  EXPECT_EQ(joined.before, "--pipeline=");
  EXPECT_EQ(joined.workspace, "here");
}

}  // namespace
}  // namespace eider::cli
