// What files may say of limits: pools, rates, locks, keys and sums; and the ceiling file above them.
#include <sys/stat.h>

#include "workspace/ceiling.h"
#include "workspace/load.h"
#include "workspace/reload.h"
#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

using Lines = std::vector<std::string>;

/// No variables, so that the tests' own environment says nothing; no ceiling unless a test names one.
LoadOptions options(const std::string& ceiling) {
  LoadOptions out;
  out.environment = [](const std::string&) { return std::nullopt; };
  out.ceiling = ceiling;
  return out;
}

class LimitsFiles : public ::testing::Test {
 protected:
  LimitsFiles() { write_ceiling("{}\n"); }

  void write_ceiling(const std::string& text, mode_t mode = 0644) {
    folder_.write("ceiling.yaml", text);
    ASSERT_EQ(::chmod(ceiling().c_str(), mode), 0);
  }
  std::string ceiling() const { return folder_.path() + "/ceiling.yaml"; }
  void settings(const std::string& text) { folder_.write("eider.yaml", text); }
  void pipeline(const std::string& name, const std::string& rest) {
    folder_.write("pipelines/" + name + ".yaml",
                  "pipeline: " + name + "\n" + rest + "steps: [{id: s, run: [\"true\"]}]\n");
  }
  Workspace load() {
    auto loaded = load_workspace(folder_.path(), options(ceiling()));
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *std::move(loaded);
  }
  /// The lines without the folder, which is another each time.
  Lines said() {
    Lines lines = lines_of(load().diagnostics);
    for (std::string& line : lines) {
      for (auto at = line.find(folder_.path() + "/"); at != std::string::npos; at = line.find(folder_.path() + "/")) {
        line.erase(at, folder_.path().size() + 1);
      }
    }
    return lines;
  }
  static Lines one(const char* line) { return {line}; }

  TestFolder folder_;
};

TEST_F(LimitsFiles, APoolWithARateNeedsNoSlots) {
  settings("pools: {a: 2, b: {slots: 3, rate: 5/10s}, c: {rate: 100/min}, d: {slots: 0, rate: 1/h}, e: {}}\n");
  const Workspace loaded = load();
  EXPECT_EQ(lines_of(loaded.diagnostics), Lines{});
  const auto& pools = loaded.settings.pools;
  const std::pair<const char*, int> slots[] = {{"a", 2}, {"b", 3}, {"c", 0}, {"d", 0}, {"e", 1}};
  for (const auto& [name, count] : slots) EXPECT_EQ(pools.at(name).slots, count) << name;
  EXPECT_EQ(pools.at("c").rate, (model::Rate{100, std::chrono::minutes(1)}));
}

TEST_F(LimitsFiles, APoolThatLimitsNothingIsRefused) {
  settings("pools: {a: {slots: 0}}\n");
  EXPECT_EQ(said(), one("eider.yaml:1:20: error: pools.a.slots: 0 is without a bound, which is for a pool with a rate; "
                        "without one it would limit nothing"));
  settings("pools: {a: 0}\n");
  EXPECT_EQ(said().size(), 1u);
}

TEST_F(LimitsFiles, WhatCouldNeverStartIsRefused) {
  settings("pools: {p: 2, free: {rate: 1/s}}\nresources: {memory: 1GB, temp: 1GB}\n");
  pipeline("x", "pools: {p: 3, free: 7}\n");
  EXPECT_EQ(said(),
            one("pipelines/x.yaml:2:12: error: pools.p: takes 3 slots of a pool that has 2: it could never start"));
  pipeline("x", "resources: {memory: 2GB, temp: 3GB}\n");
  EXPECT_EQ(said(), (Lines{"pipelines/x.yaml:2:21: error: resources.memory: 2000000000 bytes are more than "
                           "resources.memory of eider.yaml (1000000000 bytes): it could never start",
                           "pipelines/x.yaml:2:32: error: resources.temp: 3000000000 bytes are more than "
                           "resources.temp of eider.yaml (1000000000 bytes): it could never start"}));
}

TEST_F(LimitsFiles, AConcurrencyKeyNamesWhatARunHas) {
  settings("");
  pipeline("x", "max_active_runs: 0\nconcurrency_key: partition\n");
  EXPECT_EQ(said(), Lines{});
  pipeline("x", "max_active_runs: 0\nconcurrency_key: params.customer\n");
  EXPECT_EQ(said(), Lines{});
  pipeline("x", "max_active_runs: 0\nconcurrency_key: partitoin\n");
  EXPECT_EQ(said(), one("pipelines/x.yaml:3:18: error: concurrency_key: \"partitoin\" names nothing that a run has; "
                        "expected partition or params.NAME; did you mean \"partition\"?"));
  pipeline("x", "max_active_runs: 0\nconcurrency_key: params.\n");
  EXPECT_EQ(said().size(), 1u);
  pipeline("x", "concurrency_key: partition\n");
  EXPECT_EQ(said(), one("pipelines/x.yaml:2:18: warning: concurrency_key: has no effect with max_active_runs 1, which "
                        "lets one run at once; say max_active_runs: 0"));
}

TEST_F(LimitsFiles, ALockThatOnePipelineNamesIsProbablyASlip) {
  settings("");
  pipeline("a", "locks: {warehouse: write}\n");
  pipeline("b", "locks: {warehouse: read, warehuose: read}\n");
  EXPECT_EQ(said(), one("pipelines/b.yaml:2:37: warning: locks.warehuose: no other pipeline names the lock "
                        "\"warehuose\"; a lock is for what several share; did you mean \"warehouse\"?"));
  pipeline("c", "locks: {warehuose: write}\n");
  EXPECT_EQ(said(), Lines{});
  folder_.write("pipelines/c.yaml", "pipeline: [\n");
  EXPECT_EQ(said().size(), 1u) << "what a wrong file may name is not held against others";
}

// ---- the ceiling ---------------------------------------------------------------------------------------------------

TEST_F(LimitsFiles, AWorkspaceMayAskForLessNeverForMore) {
  write_ceiling("workers: {max: 8}\nresources: {memory: 1GB, temp: 2GB}\n");
  settings("");
  Workspace loaded = load();
  EXPECT_TRUE(loaded.usable);
  EXPECT_EQ(loaded.settings.max_workers, 8) << "who does not say asks for nothing in particular";
  EXPECT_EQ(loaded.settings.memory_bytes, 1'000'000'000);
  EXPECT_EQ(loaded.settings.temp_bytes, 2'000'000'000);
  settings("workers: {max: 4}\nresources: {memory: 500MB}\n");
  loaded = load();
  EXPECT_EQ(loaded.settings.max_workers, 4);
  EXPECT_EQ(loaded.settings.memory_bytes, 500'000'000);
  settings("workers: {max: 9}\nresources: {memory: 3GB}\n");
  EXPECT_EQ(said(),
            (Lines{"eider.yaml:1:16: error: workers.max: eider.yaml asks for 9, and ceiling.yaml allows 8 at most",
                   "eider.yaml:2:21: error: resources.memory: eider.yaml asks for 3000000000 bytes, and ceiling.yaml "
                   "allows 1000000000 bytes at most"}));
  EXPECT_FALSE(load().usable);
  settings("");
  pipeline("x", "resources: {memory: 2GB}\n");
  EXPECT_EQ(said().size(), 1u) << "a run that is larger than the ceiling could never start";
}

TEST_F(LimitsFiles, ACeilingThatOthersMayWriteHoldsNobody) {
  settings("");
  for (const mode_t mode : {0664, 0646}) {
    write_ceiling("workers: {max: 8}\n", mode);
    EXPECT_FALSE(load().usable);
    EXPECT_EQ(said(), one("ceiling.yaml: error: may be written by others than its owner, so it bounds nobody; `chmod "
                          "go-w ceiling.yaml`"));
  }
}

TEST_F(LimitsFiles, WhatIsWrongInTheCeilingRefusesTheWorkspace) {
  settings("");
  write_ceiling("workers: {maax: 8}\n");
  EXPECT_EQ(said(),
            one("ceiling.yaml:1:11: error: workers.maax: unknown key; expected one of max; did you mean \"max\"?"));
  const auto absent = load_workspace(folder_.path(), options(folder_.path() + "/nowhere.yaml")).value();
  EXPECT_FALSE(absent.usable) << "a file that somebody names must be there";
  EXPECT_EQ(absent.diagnostics.size(), 1u);
}

TEST_F(LimitsFiles, AReloadWithALowerCeilingKeepsWhatWasGood) {
  settings("workers: {max: 8}\n");
  const Workspace before = load();
  write_ceiling("workers: {max: 4}\n");
  const Reloaded merged = merge(before, load());
  EXPECT_EQ(merged.workspace.settings.max_workers, 8);
  EXPECT_EQ(merged.news.size(), 1u);
  EXPECT_TRUE(merge(merged.workspace, load()).news.empty()) << "it has been said";
}

TEST_F(LimitsFiles, TheEnvironmentNamesTheCeiling) {
  settings("");
  write_ceiling("workers: {max: 3}\n");
  LoadOptions named = options("");
  named.environment = [this](const std::string& name) {
    return name == "EIDER_CEILING" ? std::optional(ceiling()) : std::nullopt;
  };
  EXPECT_EQ(load_workspace(folder_.path(), named)->settings.max_workers, 3);
}

}  // namespace
}  // namespace eider::workspace
