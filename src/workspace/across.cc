#include "workspace/across.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "model/glob.h"
#include "workspace/catalog.h"
#include "workspace/cycle.h"
#include "workspace/files.h"
#include "workspace/words.h"

namespace eider::workspace {
namespace {

using model::Partitions;
using model::Pipeline;
using model::Publish;
using model::Trigger;
using Clash = CrossFinding::Kind;

constexpr std::size_t kMostSuggestions = 20;  // each looks at every name
constexpr std::size_t kMostNamed = 8;

/// Whether some partition is of both.
bool can_agree(const Partitions& a, const Partitions& b) {
  const auto has = [](const Partitions& in) {
    return [&in](const std::string& name) { return model::has_partition(in, name); };
  };
  if (a.every == Partitions::Every::none) return std::any_of(a.names.begin(), a.names.end(), has(b));
  if (b.every == Partitions::Every::none) return std::any_of(b.names.begin(), b.names.end(), has(a));
  const auto before = [](const std::string& end, const std::string& start) {
    return !end.empty() && !start.empty() && end < start;
  };
  return a.every == b.every && !before(a.end, b.start) && !before(b.end, a.start);
}

/// A trigger that waits for an asset.
struct Waiting {
  const Pipeline* pipeline;
  std::size_t trigger;
};
using WaitingFor = std::unordered_map<const AssetEntry*, std::vector<Waiting>>;

/// Who starts whom.
class Circles {
 public:
  Circles(const Workspace& workspace, const Catalog& catalog, const WaitingFor& waiting) : waiting_(waiting) {
    for (const auto& [name, loaded] : workspace.pipelines) {
      index_.emplace(loaded.pipeline.get(), pipelines_.size());
      pipelines_.push_back(loaded.pipeline.get());
    }
    watch(workspace);
    graph_.resize(pipelines_.size());
    links_.resize(pipelines_.size());
    seen_.resize(pipelines_.size(), pipelines_.size());
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
      for (const Publish& publish : pipelines_[i]->publishes) {
        link(i, catalog.assets.at(publish.asset), nullptr);
        for (const auto& [folder, external] : watched_) {
          if (lands_in(publish.path, folder, *external)) link(i, catalog.assets.at(external->name), &publish.path);
        }
      }
    }
  }

  /// Calls `say` with each pipeline that would start itself, by way of others perhaps, the trigger that it would come
  /// back to, and the way in words.
  template <typename Say>
  void find(const Say& say) const {
    const Cycles cycles(graph_);
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
      if (!cycles.through(i)) continue;
      const std::vector<std::size_t> path = cycles.path(i);
      std::string words;
      for (std::size_t hop = 0; hop < std::min(path.size(), kMostNamed); ++hop) {
        words += (hop == 0 ? "" : "; ") + step(path[hop], path[(hop + 1) % path.size()]);
      }
      if (path.size() > kMostNamed) {
        words += fmt::format("; and so on through {} more, back to {}", path.size() - kMostNamed, pipelines_[i]->name);
      }
      say(*pipelines_[i], link_of(path.back(), i).trigger, words);
    }
  }

 private:
  struct Link {
    std::size_t trigger;  ///< of the pipeline that is started
    const std::string* asset;
    const std::string* path;  ///< null, or the file that lands in the asset's folder
  };

  void watch(const Workspace& workspace) {
    for (const auto& [name, external] : workspace.settings.assets) {
      std::string_view folder = external.watch;
      const std::string inside = workspace.root + "/";
      if (folder.starts_with(inside)) folder.remove_prefix(inside.size());
      if (!folder.empty()) watched_.emplace_back(folder, &external);
    }
  }

  /// What a run publishes as a file there is seen like any other file.
  static bool lands_in(const std::string& path, const std::string& folder, const model::ExternalAsset& external) {
    if (path.empty()) return false;
    if (is_within(folder, path)) return true;
    const std::size_t slash = path.rfind('/');
    return slash != std::string::npos && path.substr(0, slash) == folder &&
           model::file_matches(external.files, path.substr(slash + 1));
  }

  void link(std::size_t from, const AssetEntry& entry, const std::string* path) {
    const auto waiting = waiting_.find(&entry);
    if (waiting == waiting_.end()) return;
    for (const Waiting& w : waiting->second) {
      const std::string& only = w.pipeline->triggers[w.trigger].from;
      if (!only.empty() && (path != nullptr || only != pipelines_[from]->name)) continue;
      const std::size_t to = index_.at(w.pipeline);
      if (std::exchange(seen_[to], from) == from) continue;  // one way from here to there is enough
      graph_[from].push_back(to);
      links_[from].push_back({w.trigger, &entry.name, path});
    }
  }

  const Link& link_of(std::size_t from, std::size_t to) const {
    const auto edge = std::find(graph_[from].begin(), graph_[from].end(), to);
    return links_[from][static_cast<std::size_t>(edge - graph_[from].begin())];
  }

  std::string step(std::size_t from, std::size_t to) const {
    const Link& link = link_of(from, to);
    const std::string made =
        link.path == nullptr
            ? fmt::format("{} publishes {}, which", pipelines_[from]->name, *link.asset)
            : fmt::format("{} writes {}, which is data of {} and", pipelines_[from]->name, *link.path, *link.asset);
    return fmt::format("{} starts {} (trigger {})", made, pipelines_[to]->name,
                       pipelines_[to]->triggers[link.trigger].id);
  }

  const WaitingFor& waiting_;
  std::vector<const Pipeline*> pipelines_;
  std::unordered_map<const Pipeline*, std::size_t> index_;
  std::vector<std::pair<std::string, const model::ExternalAsset*>> watched_;
  Graph graph_;
  std::vector<std::vector<Link>> links_;  ///< of the graph's edges
  std::vector<std::size_t> seen_;         ///< the pipeline from which the last edge to this one came
};

class Across {
 public:
  explicit Across(const Workspace& workspace)
      : workspace_(workspace), catalog_(make_catalog(workspace.settings, workspace.pipelines)) {}

  std::vector<CrossFinding> all() {
    for (const auto& [name, loaded] : workspace_.pipelines) {
      const Pipeline& pipeline = *loaded.pipeline;
      for (std::size_t i = 0; i < pipeline.publishes.size(); ++i) shared(pipeline, i);
      for (std::size_t i = 0; i < pipeline.triggers.size(); ++i) trigger(pipeline, i);
    }
    circles();
    for (CrossFinding& finding : check_locks(workspace_)) found_.push_back(std::move(finding));
    std::stable_sort(found_.begin(), found_.end(),
                     [](const CrossFinding& a, const CrossFinding& b) { return a.pipeline < b.pipeline; });
    return std::move(found_);
  }

 private:
  CrossFinding& add(Clash kind, Severity severity, const Pipeline& pipeline, std::string key, std::string message) {
    return found_.emplace_back(
        CrossFinding{kind, severity, pipeline.name, std::move(key), std::move(message), std::string()});
  }

  std::string suggestion(std::string_view word, const std::vector<std::string_view>& names) {
    return suggestions_++ < kMostSuggestions ? std::string(closest(word, names)) : std::string();
  }

  const Publish& publication(const std::string& pipeline, const std::string& asset) const {
    const auto& all = workspace_.pipelines.at(pipeline).pipeline->publishes;
    return *std::find_if(all.begin(), all.end(), [&](const Publish& publish) { return publish.asset == asset; });
  }

  /// Nobody can say which of several was meant to make it, unless all know of each other.
  void shared(const Pipeline& pipeline, std::size_t index) {
    const Publish& publish = pipeline.publishes[index];
    const std::vector<std::string>& producers = catalog_.assets.at(publish.asset).producers;
    if (producers.size() < 2) return;
    const auto [known, is_new] = unshared_.try_emplace(publish.asset);
    if (is_new) {
      for (const std::string& producer : producers) {
        if (!publication(producer, publish.asset).shared) known->second.push_back(producer);
      }
    }
    if (known->second.empty()) return;
    std::vector<std::string_view> others;
    for (const std::string& producer : producers) {
      if (producer != pipeline.name && others.size() < kMostNamed) others.push_back(producer);
    }
    const std::string& without = publish.shared ? known->second.front() : pipeline.name;
    add(Clash::conflict, Severity::error, pipeline, fmt::format("publishes[{}].asset", index),
        fmt::format("\"{}\" is published by {} as well, and {} does not say shared: true; where that is meant, each of "
                    "them says it",
                    publish.asset, join_words(others, " and "), without));
  }

  /// A file that is not loaded may hold the pipeline of that name (empty: any).
  bool may_be_broken(const std::string& pipeline) const {
    return std::any_of(workspace_.broken.begin(), workspace_.broken.end(), [&](const auto& broken) {
      return pipeline.empty() || broken.second.pipeline.empty() || broken.second.pipeline == pipeline;
    });
  }

  void trigger(const Pipeline& pipeline, std::size_t index) {
    const Trigger& trigger = pipeline.triggers[index];
    const std::string key = fmt::format("triggers[{}]", index);
    const bool excused = may_be_broken(trigger.from);
    if (!trigger.from.empty() && !workspace_.pipelines.contains(trigger.from)) {
      return unknown_pipeline(pipeline, trigger, key + ".from", excused);
    }
    std::set<const AssetEntry*> asked;
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < trigger.assets.size(); ++i) {
      bool matches = false;
      for (const AssetEntry* entry : matching(catalog_, trigger.assets[i])) {
        if (!is_made_by(*entry, trigger.from)) continue;
        matches = true;
        asked.insert(entry);
      }
      if (!matches) idle.push_back(i);
    }
    for (const AssetEntry* entry : asked) waiting_[entry].push_back({&pipeline, index});
    const bool goes_on = !asked.empty() && trigger.match == Trigger::Match::any;
    for (const std::size_t i : idle) {
      CrossFinding& finding = idle_item(pipeline, trigger, fmt::format("{}.assets[{}]", key, i), trigger.assets[i]);
      if (excused || goes_on) finding.severity = Severity::warning;
      if (excused) finding.message += "; it may stand in a file that is not loaded now";
      if (!excused && goes_on) finding.message += "; the trigger waits for the others only";
    }
    if (trigger.same_partition && pipeline.partitions) partitions(pipeline, trigger, key + ".partition", asked);
  }

  void unknown_pipeline(const Pipeline& pipeline, const Trigger& trigger, std::string key, bool excused) {
    if (excused) {
      add(Clash::unknown, Severity::warning, pipeline, std::move(key),
          fmt::format("the pipeline \"{}\" is not loaded now", trigger.from));
      return;
    }
    std::vector<std::string_view> names;
    for (const auto& [name, loaded] : workspace_.pipelines) names.push_back(name);
    add(Clash::unknown, Severity::error, pipeline, std::move(key),
        fmt::format("there is no pipeline \"{}\"", trigger.from))
        .suggestion = suggestion(trigger.from, names);
  }

  CrossFinding& idle_item(const Pipeline& pipeline, const Trigger& trigger, std::string key, const std::string& item) {
    if (!trigger.from.empty()) return never_from(pipeline, trigger, std::move(key), item);
    const bool glob = model::is_glob(item);
    CrossFinding& finding =
        add(Clash::unknown, Severity::error, pipeline, std::move(key),
            glob ? fmt::format("\"{}\" matches no asset that a pipeline publishes or eider.yaml declares", item)
                 : fmt::format("no pipeline publishes \"{}\", and eider.yaml does not declare it (assets: {{{}: }})",
                               item, item));
    finding.suggestion = suggestion(item, glob ? patterns() : names());
    return finding;
  }

  CrossFinding& never_from(const Pipeline& pipeline, const Trigger& trigger, std::string key, const std::string& item) {
    std::vector<std::string_view> published;
    const auto& publishes = workspace_.pipelines.at(trigger.from).pipeline->publishes;
    for (const Publish& publish : publishes) published.push_back(publish.asset);
    const std::string meant = model::is_glob(item) ? std::string() : suggestion(item, published);
    const bool more = published.size() > kMostNamed;
    if (more) published.resize(kMostNamed);
    CrossFinding& finding = add(
        Clash::unknown, Severity::error, pipeline, std::move(key),
        published.empty() ? fmt::format("the pipeline {}, which from names, publishes nothing at all", trigger.from)
                          : fmt::format("the pipeline {}, which from names, publishes nothing like \"{}\", but {}{}",
                                        trigger.from, item, join_words(published, ", "), more ? ", …" : ""));
    finding.suggestion = meant;
    return finding;
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (const auto& [name, entry] : catalog_.assets) out.push_back(name);
    return out;
  }

  /// `raw.*` of each `raw.flights`.
  const std::vector<std::string_view>& patterns() {
    if (patterns_.empty()) {
      for (const auto& [name, entry] : catalog_.assets) {
        const std::size_t dot = name.rfind('.');
        if (dot != std::string::npos) pattern_texts_.insert(name.substr(0, dot) + ".*");
      }
      patterns_.assign(pattern_texts_.begin(), pattern_texts_.end());
    }
    return patterns_;
  }

  void partitions(const Pipeline& pipeline, const Trigger& trigger, std::string key,
                  const std::set<const AssetEntry*>& asked) {
    std::set<std::string_view> producers;
    for (const AssetEntry* entry : asked) {
      for (const std::string& producer : entry->producers) {
        if (trigger.from.empty() || trigger.from == producer) producers.insert(producer);
      }
    }
    for (const std::string_view name : producers) {
      const std::optional<Partitions>& made = workspace_.pipelines.at(std::string(name)).pipeline->partitions;
      if (!made || can_agree(*made, *pipeline.partitions)) continue;
      add(Clash::partition, Severity::warning, pipeline, std::move(key),
          fmt::format("same hands on what {} publishes ({}), and this pipeline's partitions are {}: each such delivery "
                      "is skipped",
                      name, model::describe(*made), model::describe(*pipeline.partitions)));
      return;
    }
  }

  void circles() {
    Circles(workspace_, catalog_, waiting_)
        .find([&](const Pipeline& pipeline, std::size_t trigger, const std::string& way) {
          add(Clash::conflict, Severity::error, pipeline, fmt::format("triggers[{}]", trigger),
              "the pipeline would start itself for ever: " + way);
        });
  }

  const Workspace& workspace_;
  const Catalog catalog_;
  WaitingFor waiting_;
  std::vector<CrossFinding> found_;
  std::unordered_map<std::string_view, std::vector<std::string>> unshared_;  ///< asset -> who does not say `shared`
  std::set<std::string> pattern_texts_;
  std::vector<std::string_view> patterns_;
  std::size_t suggestions_ = 0;
};

}  // namespace

std::vector<CrossFinding> check_across(const Workspace& workspace) { return Across(workspace).all(); }

}  // namespace eider::workspace
