// The checks of a whole pipeline (assemble.h).
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "workspace/assemble.h"
#include "workspace/words.h"

namespace eider::workspace {
namespace {

using model::Pipeline;
using model::Publish;

constexpr std::size_t kMostSteps = 1000;

class Checker {
 public:
  Checker(const Pipeline& pipeline, const Surroundings& around) : pipeline_(pipeline), around_(around) {}

  void all() {
    unique_ids("schedules", pipeline_.schedules);
    unique_ids("triggers", pipeline_.triggers);
    unique_ids("steps", pipeline_.steps);
    triggers();
    partitions();
    for (std::size_t i = 0; i < pipeline_.schedules.size(); ++i) check_schedule(pipeline_, i, around_);
    if (pipeline_.steps.empty()) complain("steps", "is empty; a pipeline needs at least one step");
    if (pipeline_.steps.size() > kMostSteps) complain("steps", fmt::format("has more than {} steps", kMostSteps));
    if (needs_exist()) no_cycle();
    publishes();
    output_names();
    database();
    freshness();
    check_limits(pipeline_, around_);
  }

 private:
  void complain(const std::string& key, std::string message, std::string suggestion = "") {
    around_.complaints.add(Severity::error, mark_of(key), key, std::move(message), std::move(suggestion));
  }
  void warn(const std::string& key, std::string message) {
    around_.complaints.add(Severity::warning, mark_of(key), key, std::move(message));
  }
  /// Walking to the n-th item takes n steps: not done for what is not shown.
  Mark mark_of(const std::string& key) const { return around_.complaints.full() ? Mark{} : locate(around_.root, key); }

  std::vector<std::string_view> step_ids() const {
    std::vector<std::string_view> ids;
    for (const model::Step& step : pipeline_.steps) ids.push_back(step.id);
    return ids;
  }

  template <typename T>
  void unique_ids(std::string_view list, const std::vector<T>& items) {
    std::unordered_map<std::string_view, std::size_t> first;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto [found, is_new] = first.emplace(items[i].id, i);
      if (is_new) continue;
      const Mark mark = mark_of(fmt::format("{}[{}].id", list, found->second));
      complain(
          fmt::format("{}[{}].id", list, i),
          fmt::format("\"{}\" is used already, on line {}; ids are unique in their pipeline", items[i].id, mark.line));
    }
  }

  void triggers() {
    if (pipeline_.triggers.empty()) return;
    std::unordered_map<std::string_view, std::size_t> schedules;
    for (std::size_t i = 0; i < pipeline_.schedules.size(); ++i) schedules.emplace(pipeline_.schedules[i].id, i);
    YamlValue written = around_.root.find("triggers").first();
    for (std::size_t i = 0; i < pipeline_.triggers.size(); ++i, written = written.next()) {
      const model::Trigger& trigger = pipeline_.triggers[i];
      const auto key = [&](std::string_view name) { return fmt::format("triggers[{}].{}", i, name); };
      if (const auto same = schedules.find(trigger.id); same != schedules.end()) {
        complain(key("id"), fmt::format("\"{}\" is the id of a schedule, on line {}; both would be called {}",
                                        trigger.id, mark_of(fmt::format("schedules[{}].id", same->second)).line,
                                        model::schedule_key(pipeline_.name, trigger.id)));
      }
      if (trigger.assets.empty()) complain(key("assets"), "is empty; a trigger needs at least one asset to wait for");
      if (trigger.max_wait && !trigger.debounce) {
        complain(key("max_wait"), "goes with debounce only: it says how long debounce may wait for quiet");
      }
      if (trigger.debounce && *trigger.max_wait < *trigger.debounce) {
        complain(key("max_wait"),
                 fmt::format("is shorter than debounce ({}): it could never have been quiet for so long",
                             format_duration(*trigger.debounce)));
      }
      if (!written.find("batch") || !trigger.batch) continue;
      if (trigger.match == model::Trigger::Match::all) {
        warn(key("batch"), "has no effect with match: all, which takes all that is pending");
      } else if (trigger.debounce) {
        warn(key("batch"), "has no effect with debounce, which implies it");
      }
    }
  }

  void freshness() {
    if (!pipeline_.freshness) return;
    const auto& [warn_after, error_after] = *pipeline_.freshness;
    if (!warn_after && !error_after) complain("freshness", "says nothing; expected warn_after, error_after or both");
    if (warn_after && error_after && *error_after < *warn_after) {
      complain("freshness.error_after", fmt::format("is less than warn_after ({})", format_duration(*warn_after)));
    }
  }

  void partitions() {
    if (!pipeline_.partitions) return;
    const model::Partitions& partitions = *pipeline_.partitions;
    const bool series = partitions.every != model::Partitions::Every::none;
    const model::Partitions any{{}, partitions.every, "", ""};
    for (const auto& [name, bound] : {std::pair("start", &partitions.start), std::pair("end", &partitions.end)}) {
      const std::string key = fmt::format("partitions.{}", name);
      if (!bound->empty() && !series) complain(key, "goes with every only: it bounds the series");
      if (series && !bound->empty() && !model::has_partition(any, *bound)) {
        complain(key, fmt::format("\"{}\" is not {}", *bound, model::describe(any)));
      }
    }
    if (series && !partitions.start.empty() && !partitions.end.empty() && partitions.end < partitions.start) {
      complain("partitions.end", fmt::format("lies before start ({})", partitions.start));
    }
    if (!series && partitions.names.empty()) complain("partitions.names", "is empty; name at least one partition");
    std::unordered_map<std::string_view, std::size_t> first;
    for (std::size_t i = 0; i < partitions.names.size(); ++i) {
      if (first.emplace(partitions.names[i], i).second) continue;
      complain(fmt::format("partitions.names[{}]", i), fmt::format("\"{}\" is here twice", partitions.names[i]));
    }
  }

  bool needs_exist() {
    bool good = true;
    const std::vector<std::string_view> ids = step_ids();
    for (const auto& id : ids) index_.emplace(id, index_.size());
    for (std::size_t i = 0; i < pipeline_.steps.size(); ++i) {
      const auto& needs = pipeline_.steps[i].needs;
      for (std::size_t j = 0; j < needs.size(); ++j) {
        if (index_.contains(needs[j])) continue;
        good = false;
        complain(fmt::format("steps[{}].needs[{}]", i, j), fmt::format("there is no step \"{}\"", shown(needs[j])),
                 std::string(closest(needs[j], ids)));
      }
    }
    return good && index_.size() == pipeline_.steps.size();
  }

  /// Takes away steps that need nothing that is left, until none can be: what stays is in a cycle or needs one.
  void no_cycle() {
    const std::size_t count = pipeline_.steps.size();
    std::vector<std::size_t> open(count, 0);
    std::vector<std::vector<std::size_t>> needed_by(count);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::string& need : pipeline_.steps[i].needs) needed_by[index_.at(need)].push_back(i);
      open[i] = pipeline_.steps[i].needs.size();
      if (open[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const std::size_t done = ready.back();
      ready.pop_back();
      for (const std::size_t i : needed_by[done]) {
        if (--open[i] == 0) ready.push_back(i);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (open[i] > 0) return complain_cycle(i, open);
    }
  }

  void complain_cycle(std::size_t step, const std::vector<std::size_t>& open) {
    std::vector<std::size_t> way;
    std::vector<bool> seen(open.size(), false);
    while (!seen[step]) {
      seen[step] = true;
      way.push_back(step);
      for (const std::string& need : pipeline_.steps[step].needs) {
        if (const std::size_t next = index_.at(need); open[next] > 0) {
          step = next;
          break;
        }
      }
    }
    std::string words;
    for (auto i = std::find(way.begin(), way.end(), step); i != way.end(); ++i) {
      words += pipeline_.steps[*i].id + " needs ";
    }
    complain(fmt::format("steps[{}].needs", step),
             fmt::format("the steps wait for each other: {}{}", words, pipeline_.steps[step].id));
  }

  void publishes() {
    for (std::size_t i = 0; i < pipeline_.publishes.size(); ++i) {
      const Publish& publish = pipeline_.publishes[i];
      const std::string key = fmt::format("publishes[{}]", i);
      if (!publish.after.empty() && !index_.contains(publish.after)) {
        complain(key + ".after", fmt::format("there is no step \"{}\"", publish.after),
                 std::string(closest(publish.after, step_ids())));
      }
      if (!publish.table.empty()) published_table(key);
      if (!publish.path.empty()) published_path(publish, key);
      for (std::size_t j = 0; j < i; ++j) publish_twice(publish, pipeline_.publishes[j], key, j);
    }
  }

  void published_table(const std::string& key) {
    if (!pipeline_.database) {
      complain(key + ".table", "is a table of the pipeline's database, and it names none; add database: FILE.duckdb");
    } else if (pipeline_.database->read_only) {
      complain(key + ".table", "can't be published: the database is opened to read only");
    }
  }

  void published_path(const Publish& publish, const std::string& key) {
    for (const char* own : {".eider", "pipelines", "eider.yaml"}) {
      if (is_within(publish.path, own)) complain(key + ".path", fmt::format("\"{}\" belongs to Eider", publish.path));
    }
    if (pipeline_.database &&
        (is_within(publish.path, pipeline_.database->file) || is_within(pipeline_.database->file, publish.path))) {
      complain(key + ".path", "is where the pipeline's database lies");
    }
    not_over_sql(publish, key);
  }

  /// A file that a step's SQL is read from must not be replaced by what the step makes.
  void not_over_sql(const Publish& publish, const std::string& key) {
    for (const model::Step& step : pipeline_.steps) {
      if (step.kind != model::Step::Kind::sql || step.sql_origin.file == pipeline_.file) continue;
      if (!is_within(step.sql_origin.file, publish.path)) continue;
      complain(key + ".path", fmt::format("would replace {}, the SQL of step \"{}\"", step.sql_origin.file, step.id));
    }
  }

  void publish_twice(const Publish& publish, const Publish& before, const std::string& key, std::size_t before_index) {
    if (publish.asset == before.asset) {
      complain(key + ".asset",
               fmt::format("\"{}\" is published already by publishes[{}]", publish.asset, before_index));
    }
    if (publish.path.empty() || before.path.empty()) return;
    if (is_within(publish.path, before.path) || is_within(before.path, publish.path)) {
      complain(key + ".path", fmt::format("\"{}\" and \"{}\" (publishes[{}]) would overwrite each other", publish.path,
                                          before.path, before_index));
    }
  }

  /// By which names steps write what is published (model::output_names).
  void output_names() {
    std::vector<std::string> assets;
    for (const Publish& publish : pipeline_.publishes) {
      if (!publish.path.empty()) assets.push_back(publish.asset);
    }
    std::map<std::string, std::size_t> wholes;
    std::map<std::string, std::size_t> last_parts;
    for (std::size_t i = 0; i < pipeline_.publishes.size(); ++i) {
      const Publish& publish = pipeline_.publishes[i];
      if (publish.path.empty()) continue;
      const std::string key = fmt::format("publishes[{}].asset", i);
      const auto [same, is_new] = wholes.emplace(model::identifier(publish.asset), i);
      if (!is_new && pipeline_.publishes[same->second].asset != publish.asset) {
        complain(key, fmt::format("\"{}\" and \"{}\" have the same name in steps, out_{}", publish.asset,
                                  pipeline_.publishes[same->second].asset, same->first));
      }
      const std::string last = publish.asset.substr(publish.asset.rfind('.') + 1);
      const auto [other, is_first] = last_parts.emplace(model::identifier(last), i);
      if (is_first) continue;
      const std::string& before = pipeline_.publishes[other->second].asset;
      if (before == publish.asset || model::output_names(assets).contains(other->first))
        continue;  // it is the whole name of a third
      warn(key,
           fmt::format("{} and {} both end in {}, so out_{} means neither: use out_{} and out_{}", before,
                       publish.asset, last, other->first, model::identifier(before), model::identifier(publish.asset)));
    }
  }

  void database() {
    if (pipeline_.database && is_within(pipeline_.database->file, ".eider")) {
      complain("database", fmt::format("\"{}\" lies in Eider's own folder", pipeline_.database->file));
    }
    if (pipeline_.database && pipeline_.database->file.find('?') != std::string::npos) {
      complain("database", "holds a \"?\"; DuckDB takes what follows it for no part of the path");
    }
  }

  const Pipeline& pipeline_;
  const Surroundings& around_;
  std::unordered_map<std::string_view, std::size_t> index_;  ///< of steps, by id
};

}  // namespace

void check(const Pipeline& pipeline, const Surroundings& around) { Checker(pipeline, around).all(); }

void check(const model::Settings& settings, YamlValue root, Complaints& complaints) {
  if (settings.assets.empty()) return;
  for (YamlValue asset = root.find("assets").first(); asset; asset = asset.next()) {
    const auto complain = [&](Severity severity, std::string_view key, std::string message) {
      complaints.add(severity, asset.find(key).mark(), fmt::format("assets.\"{}\".{}", asset.key(), key),
                     std::move(message));
    };
    const std::string& folder = settings.assets.at(std::string(asset.key())).watch;
    if (is_within(folder, ".eider")) complain(Severity::error, "watch", fmt::format("\"{}\" belongs to Eider", folder));
    if (!folder.empty()) continue;
    for (const char* key : {"files", "settle"}) {
      if (asset.find(key)) complain(Severity::warning, key, "has no effect without watch");
    }
  }
}

}  // namespace eider::workspace
