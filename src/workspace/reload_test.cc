#include "workspace/reload.h"

#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

using Lines = std::vector<std::string>;

std::string pipeline(const std::string& name, const std::string& cron = "0 * * * *") {
  return fmt::format("pipeline: {}\nschedules:\n  - id: s\n    cron: \"{}\"\nsteps:\n  - id: a\n    run: [\"true\"]\n",
                     name, cron);
}

class Reload : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("eider.yaml", "workers: { max: 4 }\n");
    for (const char* name : {"a", "b", "c"}) folder_.write(fmt::format("pipelines/{}.yaml", name), pipeline(name));
    now_ = load();
    ASSERT_EQ(now_.pipelines.size(), 3u);
  }
  Workspace load() {
    auto loaded = load_workspace(folder_.path());
    EXPECT_TRUE(loaded.ok());
    return *std::move(loaded);
  }
  Reloaded reload() {
    Reloaded out = merge(now_, load());
    now_ = out.workspace;
    return out;
  }
  using Names = std::vector<std::string>;

  TestFolder folder_;
  Workspace now_;
};

TEST_F(Reload, NothingChanged) {
  const Reloaded out = reload();
  EXPECT_EQ(out.added.size() + out.changed.size() + out.removed.size() + out.kept.size() + out.news.size(), 0u);
  EXPECT_FALSE(out.settings_changed);
}

TEST_F(Reload, AddsChangesAndRemoves) {
  folder_.write("pipelines/a.yaml", pipeline("a", "5 * * * *"));
  std::filesystem::remove(folder_.path("pipelines/b.yaml"));
  folder_.write("pipelines/d.yml", pipeline("d"));
  folder_.write("eider.yaml", "workers: { max: 5 }\n");
  const Reloaded out = reload();
  EXPECT_EQ(out.added, Names{"d"});
  EXPECT_EQ(out.changed, Names{"a"});
  EXPECT_EQ(out.removed, Names{"b"});
  EXPECT_TRUE(out.settings_changed);
  EXPECT_EQ(now_.pipelines.at("a").pipeline->schedules[0].timing.cron, "5 * * * *");
}

TEST_F(Reload, ABrokenFileKeepsItsLastGoodVersionAndIsSaidOnceAChange) {
  folder_.write("pipelines/a.yaml", pipeline("a", "61 * * * *"));
  Reloaded out = reload();
  EXPECT_EQ(out.kept, Names{"a"});
  ASSERT_EQ(out.news.size(), 1u);
  EXPECT_EQ(format(out.news[0]),
            "pipelines/a.yaml:4:11: error: schedules[0].cron: cron field \"minute\": 61 is outside 0-59");
  EXPECT_EQ(now_.pipelines.at("a").pipeline->schedules[0].timing.cron, "0 * * * *");

  EXPECT_TRUE(reload().news.empty()) << "said already";
  EXPECT_EQ(reload().kept, Names{"a"});
  EXPECT_EQ(now_.diagnostics.size(), 1u) << "still shown on request";

  folder_.write("pipelines/a.yaml", pipeline("a", "") + "# edited\n");
  out = reload();
  EXPECT_EQ(out.news.size(), 1u) << "a change is news";
  EXPECT_EQ(out.kept, Names{"a"});

  folder_.write("pipelines/a.yaml", pipeline("a", "7 * * * *"));
  out = reload();
  EXPECT_EQ(out.changed, Names{"a"});
  EXPECT_TRUE(out.kept.empty());
  EXPECT_TRUE(now_.broken.empty());
}

TEST_F(Reload, AHalfWrittenFileLeavesTheLastGoodVersion) {
  const std::string whole = pipeline("a", "9 * * * *");
  // Wherever the write has come to. The last cuts drop no more than quotes of a line: then the file is whole in effect.
  for (std::size_t cut = 0; cut + 3 < whole.size() - std::string("[\"true\"]").size(); ++cut) {
    folder_.write("pipelines/a.yaml", whole.substr(0, cut));
    const Reloaded out = reload();
    EXPECT_EQ(out.kept, Names{"a"}) << whole.substr(0, cut);
    EXPECT_EQ(now_.pipelines.at("a").pipeline->schedules[0].timing.cron, "0 * * * *") << cut;
    EXPECT_EQ(now_.pipelines.size(), 3u);
  }
  folder_.write("pipelines/a.yaml", whole);
  EXPECT_EQ(reload().changed, Names{"a"});
}

TEST_F(Reload, ABrokenSettingsFileKeepsEverything) {
  folder_.write("eider.yaml", "workers: { max: none }\n");
  std::filesystem::remove(folder_.path("pipelines/b.yaml"));
  Reloaded out = reload();
  EXPECT_EQ(out.kept, (Names{"a", "b", "c"}));
  EXPECT_EQ(now_.settings.max_workers, 4);
  EXPECT_TRUE(now_.usable);
  EXPECT_EQ(lines_of(out.news), Names{"eider.yaml:1:17: error: workers.max: expected a whole number, found \"none\""});
  EXPECT_TRUE(reload().news.empty());
  folder_.write("eider.yaml", "workers: { max: 6 }\n");
  out = reload();
  EXPECT_EQ(out.removed, Names{"b"});
  EXPECT_TRUE(out.settings_changed);
}

TEST_F(Reload, ASecondFileWithTheNameKeepsTheFirstVersion) {
  folder_.write("pipelines/z.yaml", pipeline("a", "1 * * * *"));
  const Reloaded out = reload();
  EXPECT_EQ(out.kept, Names{"a"});
  EXPECT_EQ(now_.pipelines.at("a").pipeline->file, "pipelines/a.yaml");
  EXPECT_EQ(out.news.size(), 2u);
}

std::string linked(const std::string& name, const std::string& takes, const std::string& makes) {
  return fmt::format(
      "pipeline: {}\ntriggers: [{{id: t, assets: {}}}]\npublishes: [{{asset: {}}}]\nsteps: [{{id: a, run: "
      "[x]}}]\n",
      name, takes, makes);
}

TEST_F(Reload, EachOfACircleKeepsItsLastGoodVersion) {
  folder_.write("eider.yaml", "assets: {ext: }\n");
  folder_.write("pipelines/a.yaml", linked("a", "ext", "one"));
  folder_.write("pipelines/b.yaml", linked("b", "one", "two"));
  ASSERT_EQ(reload().changed, (Names{"a", "b"}));
  folder_.write("pipelines/a.yaml", linked("a", "two", "one"));
  folder_.write("pipelines/c.yaml", linked("c", "ext", "three"));
  const Reloaded out = reload();
  EXPECT_EQ(out.kept, (Names{"a", "b"}));
  EXPECT_EQ(out.changed, Names{"c"}) << "what is not in it takes effect";
  EXPECT_EQ(out.news.size(), 2u);
  EXPECT_EQ(now_.pipelines.at("a").pipeline->triggers[0].assets, Names{"ext"});
  EXPECT_TRUE(reload().news.empty());
  folder_.write("pipelines/b.yaml", linked("b", "ext", "two"));
  EXPECT_EQ(reload().changed, (Names{"a", "b"}));
}

TEST_F(Reload, AGoodFileThatWouldMakeACircleWithALastGoodVersionWaits) {
  folder_.write("eider.yaml", "assets: {ext: }\n");
  folder_.write("pipelines/a.yaml", linked("a", "ext", "one"));
  folder_.write("pipelines/b.yaml", linked("b", "one", "two"));
  reload();
  folder_.write("pipelines/b.yaml", "pipeline: b\nsteps: [");
  folder_.write("pipelines/a.yaml", linked("a", "two", "one"));
  folder_.write("pipelines/new.yaml", linked("new", "two", "one"));
  Reloaded out = reload();
  EXPECT_EQ(out.kept, (Names{"a", "b"}));
  EXPECT_TRUE(out.added.empty());
  EXPECT_EQ(now_.pipelines.at("a").pipeline->triggers[0].assets, Names{"ext"});
  EXPECT_TRUE(now_.broken.contains("pipelines/a.yaml"));
  EXPECT_TRUE(reload().news.empty());
  EXPECT_EQ(now_.diagnostics.front().file, "pipelines/a.yaml");

  folder_.write("pipelines/new.yaml", pipeline("new"));
  folder_.write("pipelines/a.yaml", linked("a", "two", "other"));
  out = reload();
  EXPECT_EQ(out.changed, Names{"a"}) << "no circle any more, though b is broken still";
  EXPECT_EQ(out.added, Names{"new"});
  EXPECT_EQ(out.kept, Names{"b"});
}

TEST_F(Reload, ACircleOfAGoodFileAndALastGoodVersionSaysWhy) {
  folder_.write("eider.yaml", "assets: {ext: }\n");
  folder_.write("pipelines/a.yaml", linked("a", "ext", "one"));
  folder_.write("pipelines/b.yaml", linked("b", "one", "two"));
  reload();
  folder_.write("pipelines/b.yaml", "pipeline: b\nsteps: [");
  folder_.write("pipelines/a.yaml", linked("a", "[ext, two]", "one"));
  const Lines said = lines_of(reload().news);
  ASSERT_EQ(said.size(), 3u) << "a's trigger, a's circle, b's error";
  EXPECT_EQ(
      said[1],
      "pipelines/a.yaml: error: triggers[0]: the pipeline would start itself for ever: a publishes one, which starts "
      "b (trigger t); b publishes two, which starts a (trigger t); so it is with the last good version of a pipeline "
      "whose file is wrong");
}

TEST_F(Reload, AWatchedFolderThatWouldMakeACircleOfLastGoodVersionsIsNotWatched) {
  const std::string text =
      "pipeline: a\ntriggers: [{id: t, assets: up}]\npublishes: [{asset: one, path: in/x}]\nsteps: [{id: a, run: "
      "[x]}]\n";
  folder_.write("eider.yaml", "assets: {up: }\n");
  folder_.write("pipelines/a.yaml", text);
  reload();
  folder_.write("eider.yaml", "assets: {up: {watch: in}}\nworkers: {max: 3}\n");
  Reloaded out = reload();
  EXPECT_EQ(out.kept, Names{"a"});
  EXPECT_EQ(now_.settings.assets.at("up").watch, "");
  EXPECT_EQ(now_.settings.max_workers, 3);
  ASSERT_EQ(out.news.size(), 2u);
  EXPECT_EQ(format(out.news[0]),
            "eider.yaml: error: assets: stay as they were: with these, pipelines would start themselves for ever");
  EXPECT_TRUE(reload().news.empty());
  folder_.write("eider.yaml", "assets: {up: {watch: elsewhere}}\n");
  out = reload();
  EXPECT_TRUE(out.kept.empty());
  EXPECT_EQ(now_.settings.assets.at("up").watch, "elsewhere");
}

TEST_F(Reload, AFileThatMovedAndIsWrongKeepsItsPipeline) {
  std::filesystem::remove(folder_.path("pipelines/a.yaml"));
  folder_.write("pipelines/moved.yaml", pipeline("a", "61 * * * *"));
  EXPECT_EQ(reload().kept, Names{"a"});
}

TEST_F(Reload, ARenamedPipelineIsRemovedAndAdded) {
  folder_.write("pipelines/a.yaml", pipeline("a2"));
  const Reloaded out = reload();
  EXPECT_EQ(out.added, Names{"a2"});
  EXPECT_EQ(out.removed, Names{"a"});
}

}  // namespace
}  // namespace eider::workspace
