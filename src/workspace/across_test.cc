// What is said of pipelines that are right by themselves and wrong together.
#include "workspace/across.h"

#include <rapidcheck/gtest.h>

#include "model/glob.h"
#include "workspace/catalog.h"
#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

using Lines = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

constexpr const char* kOneStep = "steps: [{id: s, run: [\"true\"]}]\n";

/// `pipelines/NAME.yaml` of each; line 1 names it, line 2 is its step.
Workspace load_files(const Files& pipelines, const std::string& settings = "") {
  const TestFolder folder;
  folder.write("eider.yaml", settings);
  for (const auto& [name, rest] : pipelines) {
    folder.write(fmt::format("pipelines/{}.yaml", name), fmt::format("pipeline: {}\n{}{}", name, kOneStep, rest));
  }
  auto loaded = load_workspace(folder.path());
  EXPECT_TRUE(loaded.ok());
  return *std::move(loaded);
}
Lines said(const Files& pipelines, const std::string& settings = "") {
  Lines lines = lines_of(load_files(pipelines, settings).diagnostics);
  for (std::string& line : lines) line.erase(0, std::string("pipelines/").size());
  return lines;
}
std::string names_in(const Workspace& workspace) {
  std::string out;
  for (const auto& [name, loaded] : workspace.pipelines) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string one_trigger(const std::string& rest) { return "triggers: [{id: t, " + rest + "}]\n"; }
std::string publishes(const std::string& assets) { return "publishes: [" + assets + "]\n"; }

TEST(Across, AnAssetThatNothingPublishes) {
  const Files base = {{"a", publishes("{asset: raw.flights}, {asset: raw.weather}")}};
  const auto with = [&](const std::string& rest, const std::string& settings = "") {
    Files all = base;
    all["x"] = one_trigger(rest);
    return said(all, settings);
  };
  EXPECT_EQ(with("assets: raw.flights"), Lines{});
  EXPECT_EQ(with("assets: [raw.*]"), Lines{});
  EXPECT_EQ(with("assets: raw.up", "assets: {raw.up: }\n"), Lines{});
  EXPECT_EQ(with("assets: raw.fligths"),
            Lines{"x.yaml:3:28: error: triggers[0].assets[0]: no pipeline publishes \"raw.fligths\", and eider.yaml "
                  "does not declare it (assets: {raw.fligths: }); did you mean \"raw.flights\"?"});
  EXPECT_EQ(with("assets: [rwa.*]"),
            Lines{"x.yaml:3:29: error: triggers[0].assets[0]: \"rwa.*\" matches no asset that a pipeline publishes or "
                  "eider.yaml declares; did you mean \"raw.*\"?"});
  EXPECT_EQ(
      with("assets: [raw.flights, other]"),
      Lines{"x.yaml:3:42: warning: triggers[0].assets[1]: no pipeline publishes \"other\", and eider.yaml does not "
            "declare it (assets: {other: }); the trigger waits for the others only"});
  EXPECT_EQ(with("match: all, assets: [raw.flights, other]"),
            Lines{"x.yaml:3:54: error: triggers[0].assets[1]: no pipeline publishes \"other\", and eider.yaml does not "
                  "declare it (assets: {other: })"});
  EXPECT_EQ(with("match: all, assets: [\"*.none\"]"),
            Lines{"x.yaml:3:41: error: triggers[0].assets[0]: \"*.none\" matches no asset that a pipeline publishes or "
                  "eider.yaml declares"});
}

TEST(Across, WhatABrokenFileMayDeclareIsNotHeldAgainstOthers) {
  const Files all = {{"a", "publishes: [{asset: raw.x, pth: out}]\n"},
                     {"x", one_trigger("match: all, assets: [raw.x, ext.y]")}};
  const Workspace loaded = load_files(all, "assets: {ext.y: }\n");
  EXPECT_EQ(names_in(loaded), "x");
  EXPECT_EQ(
      format(loaded.diagnostics.back()),
      "pipelines/x.yaml:3:41: warning: triggers[0].assets[0]: no pipeline publishes \"raw.x\", and eider.yaml does "
      "not declare it (assets: {raw.x: }); it may stand in a file that is not loaded now");
  const Catalog catalog = make_catalog(loaded.settings, loaded.pipelines);
  const model::Trigger& waits = loaded.pipelines.at("x").pipeline->triggers[0];
  EXPECT_EQ(matched_assets(catalog, waits), (Lines{"ext.y", "raw.x"})) << "it does not run without raw.x";
}

TEST(Across, From) {
  const Files base = {{"make", publishes("{asset: raw.x, shared: true}")},
                      {"made", publishes("{asset: raw.x, shared: true}, {asset: raw.y}")},
                      {"idle", ""}};
  const auto with = [&](const std::string& rest) {
    Files all = base;
    all["x"] = one_trigger(rest);
    return said(all, "assets: {ext.a: }\n");
  };
  EXPECT_EQ(with("assets: raw.x, from: make"), Lines{});
  EXPECT_EQ(with("assets: raw.x, from: maek"),
            Lines{"x.yaml:3:41: error: triggers[0].from: there is no pipeline \"maek\"; did you mean \"make\"?"});
  EXPECT_EQ(
      with("assets: raw.y, from: make"),
      Lines{"x.yaml:3:28: error: triggers[0].assets[0]: the pipeline make, which from names, publishes nothing like "
            "\"raw.y\", but raw.x; did you mean \"raw.x\"?"});
  EXPECT_EQ(
      with("assets: \"ext.*\", from: idle"),
      Lines{"x.yaml:3:28: error: triggers[0].assets[0]: the pipeline idle, which from names, publishes nothing at "
            "all"});
  EXPECT_EQ(with("assets: [\"raw.*\", ext.a], from: make"),
            Lines{"x.yaml:3:38: warning: triggers[0].assets[1]: the pipeline make, which from names, publishes nothing "
                  "like \"ext.a\", but raw.x; the trigger waits for the others only"});
  Files broken = base;
  broken["make"] = "nonsense: 1\n";
  broken["x"] = one_trigger("assets: raw.x, from: make");
  EXPECT_EQ(said(broken).back(), "x.yaml:3:41: warning: triggers[0].from: the pipeline \"make\" is not loaded now");
}

TEST(Across, TwoThatPublishTheSameAsset) {
  const Files all = {{"a", publishes("{asset: raw.x}")},
                     {"b", publishes("{asset: raw.y}, {asset: raw.x, shared: true}")},
                     {"c", publishes("{asset: raw.z, shared: true}")},
                     {"d", publishes("{asset: raw.z, shared: true}")}};
  const Workspace loaded = load_files(all);
  EXPECT_EQ(names_in(loaded), "c d");
  EXPECT_EQ(
      lines_of(loaded.diagnostics),
      (Lines{"pipelines/a.yaml:3:21: error: publishes[0].asset: \"raw.x\" is published by b as well, and a does not "
             "say shared: true; where that is meant, each of them says it",
             "pipelines/b.yaml:3:37: error: publishes[1].asset: \"raw.x\" is published by a as well, and a does not "
             "say shared: true; where that is meant, each of them says it"}));
  EXPECT_EQ(loaded.broken.at("pipelines/a.yaml").pipeline, "a");
}

TEST(Across, APipelineThatStartsItself) {
  EXPECT_EQ(said({{"a", publishes("{asset: raw.x}") + one_trigger("assets: raw.*")}}),
            Lines{"a.yaml:4:12: error: triggers[0]: the pipeline would start itself for ever: a publishes raw.x, which "
                  "starts a (trigger t)"});
  EXPECT_EQ(said({{"a", publishes("{asset: raw.x, shared: true}") + one_trigger("assets: raw.*, from: b")},
                  {"b", publishes("{asset: raw.x, shared: true}")}}),
            Lines{})
      << "only what b publishes starts it";
}

TEST(Across, PipelinesThatStartEachOther) {
  const Files all = {
      {"a", publishes("{asset: raw.x}") + one_trigger("assets: \"end.*\"")},
      {"b", publishes("{asset: mid.x}") + "triggers: [{id: other, assets: ext}, {id: on_raw, assets: raw.x}]\n"},
      {"c", publishes("{asset: end.x}") + one_trigger("assets: [mid.x, raw.x], match: all")},
      {"after", one_trigger("assets: end.x")},
      {"before", publishes("{asset: ext}")}};
  const Workspace loaded = load_files(all);
  EXPECT_EQ(names_in(loaded), "after before");
  EXPECT_EQ(
      lines_of(loaded.diagnostics),
      (Lines{"pipelines/a.yaml:4:12: error: triggers[0]: the pipeline would start itself for ever: a publishes raw.x, "
             "which starts c (trigger t); c publishes end.x, which starts a (trigger t)",
             "pipelines/b.yaml:4:38: error: triggers[1]: the pipeline would start itself for ever: b publishes mid.x, "
             "which starts c (trigger t); c publishes end.x, which starts a (trigger t); a publishes raw.x, which "
             "starts b (trigger on_raw)",
             "pipelines/c.yaml:4:12: error: triggers[0]: the pipeline would start itself for ever: c publishes end.x, "
             "which starts a (trigger t); a publishes raw.x, which starts c (trigger t)"}));
}

TEST(Across, AFileThatLandsInAWatchedFolderIsAPublicationToo) {
  const std::string settings = "assets: {up: {watch: in, files: \"*.csv\"}}\n";
  const auto with = [&](const std::string& path, const std::string& rest = "") {
    return said({{"a", publishes("{asset: raw.x, path: " + path + "}") + one_trigger("assets: up" + rest)}}, settings);
  };
  EXPECT_EQ(
      with("in/x.csv"),
      Lines{"a.yaml:4:12: error: triggers[0]: the pipeline would start itself for ever: a writes in/x.csv, which is "
            "data of up and starts a (trigger t)"});
  EXPECT_EQ(with("in").size(), 1u) << "the folder itself";
  EXPECT_EQ(with("in/x.parquet"), Lines{});
  EXPECT_EQ(with("in/deeper/x.csv"), Lines{});
  EXPECT_EQ(with("out/x.csv"), Lines{});
}

TEST(Across, PartitionsThatNeverAgree) {
  const auto with = [](const std::string& made, const std::string& taken,
                       const std::string& rest = ", partition: same") {
    return said({{"a", publishes("{asset: raw.x}") + (made.empty() ? "" : "partitions: {" + made + "}\n")},
                 {"x", one_trigger("assets: raw.x" + rest) + (taken.empty() ? "" : "partitions: {" + taken + "}\n")}});
  };
  EXPECT_EQ(
      with("every: day", "every: month"),
      Lines{"x.yaml:3:46: warning: triggers[0].partition: same hands on what a publishes (a day, like 2026-03-29), "
            "and this pipeline's partitions are a month, like 2026-03: each such delivery is skipped"});
  const std::pair<const char*, const char*> apart[] = {
      {"names: [a, b]", "names: [c]"},
      {"names: [a]", "every: hour"},
      {"every: day", "names: [2026-02-30]"},
      {"every: day, end: 2026-01-01", "every: day, start: 2026-01-02"},
      {"every: day, start: 2026-01-02", "every: day, end: 2026-01-01"}};
  for (const auto& [made, taken] : apart) {
    EXPECT_EQ(with(made, taken).size(), 1u) << made << " " << taken;
    EXPECT_EQ(with(made, taken, ""), Lines{}) << "without partition: same";
  }
  const std::pair<const char*, const char*> together[] = {
      {"", "names: [c]"},
      {"names: [a]", ""},
      {"names: [a, b]", "names: [b, c]"},
      {"every: day", "names: [x, 2026-02-28]"},
      {"every: day, end: 2026-01-01", "every: day, start: 2026-01-01"}};
  for (const auto& [made, taken] : together) EXPECT_EQ(with(made, taken), Lines{}) << made << " " << taken;
}

TEST(Catalog, HoldsWhatIsDeclared) {
  const Workspace loaded =
      load_files({{"b", publishes("{asset: raw.x, path: out/x, shared: true}")},
                  {"a", publishes("{asset: raw.x, path: out/x, shared: true}, {asset: free}")},
                  {"z", "triggers: [{id: one, assets: raw.x, from: b}, {id: all, assets: \"*\"}]\n"}},
                 "assets: {raw.up: {description: Uploads, watch: in}}\n");
  ASSERT_TRUE(loaded.diagnostics.empty()) << format(loaded.diagnostics[0]);
  const Catalog catalog = make_catalog(loaded.settings, loaded.pipelines);
  ASSERT_EQ(catalog.assets.size(), 3u);
  const AssetEntry& x = catalog.assets.at("raw.x");
  EXPECT_EQ(x.producers, (Lines{"a", "b"}));
  EXPECT_EQ(x.consumers, (Lines{"z/one", "z/all"}));
  EXPECT_EQ(x.path, "out/x");
  EXPECT_FALSE(x.external);
  const AssetEntry& up = catalog.assets.at("raw.up");
  EXPECT_TRUE(up.external);
  EXPECT_EQ(up.description + " " + up.watch, "Uploads in");
  EXPECT_EQ(up.consumers, Lines{"z/all"});
  const auto& triggers = loaded.pipelines.at("z").pipeline->triggers;
  EXPECT_TRUE(asks_for(triggers[0], "raw.x", "b"));
  EXPECT_FALSE(asks_for(triggers[0], "raw.x", "a"));
  EXPECT_FALSE(asks_for(triggers[0], "raw.x", "")) << "from outside";
  EXPECT_FALSE(asks_for(triggers[0], "free", "b"));
  EXPECT_TRUE(asks_for(triggers[1], "anything", ""));
}

std::map<std::string, LoadedPipeline> pipelines_of(const std::vector<model::Pipeline>& all) {
  std::map<std::string, LoadedPipeline> out;
  for (const model::Pipeline& pipeline : all) out[pipeline.name] = make_loaded(pipeline);
  return out;
}

RC_GTEST_PROP(CatalogProperty, MatchesWhatTheGlobMatches, ()) {
  const auto piece = rc::gen::elementOf(Lines{"a", "b", ".", "ab", "*", "?", "[ab]", "[!a]", "-"});
  const auto text = [&] {
    std::string out;
    for (const std::string& part : *rc::gen::container<Lines>(piece)) out += part;
    return out;
  };
  model::Pipeline maker;
  maker.name = "maker";
  std::set<std::string> names;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    std::string name;
    for (const char c : *rc::gen::container<std::string>(rc::gen::element('a', 'b', '.', '-'))) name += c;
    if (!name.empty() && names.insert(name).second) maker.publishes.push_back({name, "", "", ""});
  }
  model::Trigger waits;
  waits.id = "t";
  for (int i = 0; i < 2; ++i) waits.assets.push_back(text());
  model::Pipeline taker;
  taker.name = "taker";
  taker.triggers = {waits};
  const Catalog catalog = make_catalog({}, pipelines_of({maker, taker}));
  Lines expected;
  for (const std::string& name : names) {
    const bool matches = model::glob_matches(waits.assets[0], name) || model::glob_matches(waits.assets[1], name);
    RC_ASSERT(asks_for(waits, name, "maker") == matches);
    RC_ASSERT(catalog.assets.at(name).consumers == (matches ? Lines{"taker/t"} : Lines{}));
    if (matches) expected.push_back(name);
  }
  RC_ASSERT(matched_assets(catalog, waits) == expected);
}

/// Time grows with what there is, else this takes minutes. 500 pipelines in layers: each publishes 20 assets, and has
/// triggers by name, by pattern and for the layer below.
TEST(Across, ALargeWorkspace) {
  std::vector<model::Pipeline> all(500);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = fmt::format("p{:03}", i);
    for (int j = 0; j < 20; ++j) all[i].publishes.push_back({fmt::format("l{:03}.a{}", i, j), "", "", ""});
    if (i == 0) continue;
    for (const std::string& item :
         {fmt::format("l{:03}.*", i - 1), fmt::format("l{:03}.a3", i / 2), std::string("l000.?1")}) {
      model::Trigger trigger;
      trigger.id = item.substr(1, 3) + std::to_string(all[i].triggers.size());
      trigger.assets = {item};
      all[i].triggers.push_back(trigger);
    }
  }
  Workspace workspace;
  workspace.pipelines = pipelines_of(all);
  EXPECT_TRUE(check_across(workspace).empty());
  all[0].triggers.push_back(all[499].triggers[0]);
  all[0].triggers[0].assets = {"l499.a0"};
  workspace.pipelines = pipelines_of(all);
  const auto found = check_across(workspace);
  ASSERT_EQ(found.size(), all.size());
  EXPECT_LT(found[250].message.size(), 1000u) << found[250].message;
  EXPECT_NE(found[250].message.find("and so on through"), std::string::npos);
}

}  // namespace
}  // namespace eider::workspace
