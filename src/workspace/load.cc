#include "workspace/load.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "base/ids.h"
#include "workspace/across.h"
#include "workspace/assemble.h"
#include "workspace/ceiling.h"
#include "workspace/rule.h"

namespace eider::workspace {
namespace {

constexpr const char* kSettingsFile = "eider.yaml";
constexpr const char* kPipelinesFolder = "pipelines";
constexpr const char* kCalendarsFolder = "calendars";

std::optional<std::string> process_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// A pipeline that could be read, with the place where its name stands.
struct Candidate {
  LoadedPipeline loaded;
  Diagnostic place;  ///< of the name; message and severity unset
  std::string text;  ///< of the file
};

/// What one pipeline file says, whatever the others say.
struct PipelineFile {
  bool good = false;
  std::vector<Diagnostic> found;
  std::string text;
  std::string pipeline;  ///< its name, as far as it could be read
  std::optional<Candidate> candidate;
};

/// From so many files on, reading them is worth a thread for each processor.
constexpr std::size_t kFilesOfOneThread = 200;

/// `read(i)` for each i below `count`, in this order; on several threads when there are many.
template <typename Read>
auto read_all(std::size_t count, const Read& read) {
  using Item = decltype(read(std::size_t{}));
  const auto read_range = [&](std::size_t from, std::size_t until) {
    std::vector<Item> items;
    for (std::size_t i = from; i < until; ++i) items.push_back(read(i));
    return items;
  };
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = std::clamp<std::size_t>(count / kFilesOfOneThread, 1, processors);
  std::vector<std::future<std::vector<Item>>> parts;
  for (std::size_t i = 1; i < threads; ++i) {
    parts.push_back(std::async(std::launch::async, read_range, count * i / threads, count * (i + 1) / threads));
  }
  std::vector<Item> all = read_range(0, count / threads);
  for (auto& part : parts) {
    std::vector<Item> items = part.get();
    all.insert(all.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  }
  return all;
}

class Loader {
 public:
  Loader(Folder folder, const LoadOptions& options)
      : folder_(std::move(folder)),
        options_(options),
        environment_(options.environment ? options.environment : Environment(process_variable)) {
    out_.root = folder_.root();
  }

  Result<Workspace> load() {
    auto text = folder_.read(kSettingsFile, options_.file_limit_bytes);
    if (!text && text.error().code == ErrorCode::not_found) {
      return Error{
          ErrorCode::not_found,
          fmt::format("{}: no eider.yaml here, so this is no workspace; `eider init` makes one", folder_.root())};
    }
    out_.usable = text ? read_settings(*text) : report(kSettingsFile, text.error().message);
    if (out_.usable) read_calendars();
    if (out_.usable) read_pipelines();
    return std::move(out_);
  }

 private:
  static Complaints unreadable(const std::string& file, const std::string& message) {
    Complaints complaints(file, "");
    // Messages of the file system begin with the file.
    const bool named = message.starts_with(file + ": ");
    complaints.add(Severity::error, {}, "", named ? message.substr(file.size() + 2) : message);
    return complaints;
  }

  /// Always false: the file is broken.
  bool report(const std::string& file, const std::string& message) {
    Complaints complaints = unreadable(file, message);
    return finish(file, "", "", complaints);
  }

  /// Keeps what was complained about; true when the file holds.
  bool finish(const std::string& file, const std::string& pipeline, std::string_view content, Complaints& complaints) {
    const bool good = !complaints.has_errors();
    return keep(file, pipeline, content, good, complaints.take());
  }

  bool keep(const std::string& file, const std::string& pipeline, std::string_view content, bool good,
            const std::vector<Diagnostic>& found) {
    if (!good) mark_broken(out_.broken, file, pipeline, content_hash(content), found);
    out_.diagnostics.insert(out_.diagnostics.end(), found.begin(), found.end());
    return good;
  }

  static void mark_broken(std::map<std::string, BrokenFile>& broken, const std::string& file,
                          const std::string& pipeline, const std::string& hash, const std::vector<Diagnostic>& found) {
    std::string all = hash;
    for (const Diagnostic& diagnostic : found) all += format(diagnostic) + "\n";
    broken[file] = BrokenFile{pipeline, content_hash(all)};
  }

  static std::optional<YamlTree> parse(std::string_view text, Complaints& complaints) {
    auto parsed = YamlTree::parse(text);
    if (auto* tree = std::get_if<YamlTree>(&parsed)) return std::move(*tree);
    auto& problem = std::get<YamlProblem>(parsed);
    complaints.add(Severity::error, problem.mark, "", std::move(problem.message));
    return std::nullopt;
  }

  bool read_settings(const std::string& text) {
    const auto ceiling = load_ceiling(options_.ceiling, environment_, out_.diagnostics);
    Complaints complaints(kSettingsFile, text);
    if (const auto tree = parse(text, complaints)) {
      Reader(environment_, complaints).read(workspace_section(), tree->root(), &out_.settings);
      if (!complaints.has_errors()) {
        settle_pools(tree->root(), out_.settings, complaints);
        check(out_.settings, tree->root(), complaints);
        if (ceiling) apply_ceiling(*ceiling, tree->root(), out_.settings, complaints);
      }
    }
    return finish(kSettingsFile, "", text, complaints) && ceiling.has_value();
  }

  void read_calendars() {
    const auto names = folder_.names(kCalendarsFolder, {".yaml", ".yml"});
    if (!names) {
      out_.usable = report(kCalendarsFolder, names.error().message);
      return;
    }
    for (const std::string& name : *names) read_calendar(name);
  }

  /// A wrong one takes the pipelines that name it with it, and no other.
  void read_calendar(const std::string& file_name) {
    const std::string file = fmt::format("{}/{}", kCalendarsFolder, file_name);
    const std::string name = file_name.substr(0, file_name.rfind('.'));
    const auto text = folder_.read(file, options_.file_limit_bytes);
    Complaints complaints(file, text ? std::string_view(*text) : std::string_view());
    const auto complain = [&](std::string message) { complaints.add(Severity::error, {}, "", std::move(message)); };
    CalendarDraft draft;
    if (!text) {
      complain(text.error().message);
    } else if (const auto named = model::check_name("calendar", name); !named) {
      complain(named.error().message);
    } else if (out_.calendars.contains(name) || broken_calendars_.contains(name)) {
      complain(
          fmt::format("\"{}\" is the name of another file in {}, too; the other one is taken", name, kCalendarsFolder));
    } else if (const auto tree = parse(*text, complaints)) {
      Reader(environment_, complaints).read(calendar_section(), tree->root(), &draft);
      check_ranges(draft, tree->root(), complaints);
      if (!complaints.has_errors()) {
        out_.calendars[name] = std::make_shared<const timing::Calendar>(assemble_calendar(draft, complaints));
      }
    }
    const bool good = !complaints.has_errors();
    const std::vector<Diagnostic> found = complaints.take();
    out_.diagnostics.insert(out_.diagnostics.end(), found.begin(), found.end());
    if (good) return;
    broken_calendars_.emplace(name, file);
    mark_broken(out_.broken_calendars, file, "", content_hash(text ? *text : std::string()), found);
  }

  static void check_ranges(const CalendarDraft& draft, YamlValue root, Complaints& complaints) {
    if (!draft.ranges) return;
    for (std::size_t i = 0; i < draft.ranges->size(); ++i) {
      if (draft.ranges->at(i).first <= draft.ranges->at(i).last) continue;
      const std::string key = fmt::format("ranges[{}].to", i);
      complaints.add(Severity::error, locate(root, key), key, "lies before from");
    }
  }

  void read_pipelines() {
    const auto names = folder_.names(kPipelinesFolder, {".yaml", ".yml"});
    if (!names) {
      out_.usable = report(kPipelinesFolder, names.error().message);
      return;
    }
    const auto path = [&](std::size_t i) { return fmt::format("{}/{}", kPipelinesFolder, names->at(i)); };
    std::vector<PipelineFile> files = read_all(names->size(), [&](std::size_t i) { return read_pipeline(path(i)); });
    for (std::size_t i = 0; i < files.size(); ++i) {
      PipelineFile& file = files[i];
      keep(path(i), file.pipeline, file.text, file.good, file.found);
      if (file.candidate) candidates_[file.pipeline].push_back(*std::move(file.candidate));
    }
    for (auto& [name, found] : candidates_) settle_name(name, found);
    settle_together();
    warn_shared_paths();
    std::stable_sort(out_.diagnostics.begin(), out_.diagnostics.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.file < b.file; });
  }

  /// Depends on no other pipeline file, and changes nothing here: files are read on several threads.
  PipelineFile read_pipeline(const std::string& file) const {
    auto text = folder_.read(file, options_.file_limit_bytes);
    if (!text) return {false, unreadable(file, text.error().message).take(), {}, {}, {}};
    Complaints complaints(file, *text);
    std::optional<Candidate> candidate;
    const auto tree = parse(*text, complaints);
    PipelineDraft draft;
    if (tree) {
      draft.pipeline.retry = out_.settings.retry;
      draft.pipeline.timezone.clear();
      Reader(environment_, complaints).read(pipeline_section(), tree->root(), &draft);
    }
    draft.pipeline.file = file;
    std::string name = draft.pipeline.name;
    Mark name_mark;
    // What does not fit together is worth saying only when each part was understood.
    if (!complaints.has_errors()) {
      const Surroundings around{out_.settings, folder_,    options_.sql_limit_bytes, options_.now,
                                tree->root(),  complaints, out_.calendars,           broken_calendars_};
      model::Pipeline pipeline = assemble(std::move(draft), around);
      if (!complaints.has_errors()) check(pipeline, around);
      name_mark = tree->root().find("pipeline").mark();
      if (!complaints.has_errors()) candidate = make_candidate(std::move(pipeline), name_mark, *text);
    }
    const bool good = !complaints.has_errors();
    return {good, complaints.take(), *std::move(text), std::move(name), std::move(candidate)};
  }

  static Candidate make_candidate(model::Pipeline pipeline, Mark mark, const std::string& text) {
    Complaints place(pipeline.file, text);
    place.add(Severity::error, mark, "pipeline", "");
    return Candidate{make_loaded(std::move(pipeline)), place.take().front(), text};
  }

  /// One file has the name: it is loaded. Several: none of them is, since nobody can say which was meant.
  void settle_name(const std::string& name, std::vector<Candidate>& found) {
    if (found.size() == 1) {
      out_.pipelines.emplace(name, found.front().loaded);
      return;
    }
    for (const Candidate& candidate : found) {
      std::string others;
      for (const Candidate& other : found) {
        if (&other == &candidate) continue;
        others += fmt::format("{}{}:{}:{}", others.empty() ? "" : ", ", other.place.file, other.place.line,
                              other.place.column);
      }
      Diagnostic diagnostic = candidate.place;
      diagnostic.message =
          fmt::format("\"{}\" is also the name of the pipeline in {}; neither is loaded", name, others);
      mark_broken(out_.broken, diagnostic.file, name, content_hash(candidate.text), {diagnostic});
      out_.diagnostics.push_back(std::move(diagnostic));
    }
  }

  /// What is wrong between pipelines is said where each of them says it.
  void settle_together() {
    const std::vector<CrossFinding> found = check_across(out_);
    for (auto finding = found.begin(); finding != found.end();) {
      const Candidate& candidate = candidates_.at(finding->pipeline).front();
      const std::string& file = candidate.place.file;
      Complaints complaints(file, candidate.text);
      const auto tree = parse(candidate.text, complaints);
      for (; finding != found.end() && finding->pipeline == candidate.loaded.pipeline->name; ++finding) {
        const Mark mark = complaints.full() || !tree ? Mark{} : locate(tree->root(), finding->key);
        complaints.add(finding->severity, mark, finding->key, finding->message, finding->suggestion);
      }
      const std::string& name = candidate.loaded.pipeline->name;
      if (!finish(file, name, candidate.text, complaints)) out_.pipelines.erase(name);
    }
  }

  /// Two pipelines may write the same file; it is rarely what was meant, and no reason to stop either.
  void warn_shared_paths() {
    std::map<std::string, std::pair<std::string, std::string>> writers;  // path -> pipeline, asset
    for (const auto& [name, loaded] : out_.pipelines) {
      for (const model::Publish& publish : loaded.pipeline->publishes) {
        if (publish.path.empty()) continue;
        const auto [found, is_new] = writers.emplace(publish.path, std::pair(name, publish.asset));
        // Who publishes the same asset has said `shared`.
        if (is_new || found->second.second == publish.asset) continue;
        Complaints complaints(loaded.pipeline->file, "");
        complaints.add(
            Severity::warning, {}, "publishes",
            fmt::format("\"{}\" is published by the pipeline {} as well", publish.path, found->second.first));
        finish(loaded.pipeline->file, name, "", complaints);
      }
    }
  }

  Folder folder_;
  const LoadOptions& options_;
  const Environment environment_;
  Workspace out_;
  std::map<std::string, std::vector<Candidate>> candidates_;
  std::map<std::string, std::string, std::less<>> broken_calendars_;  ///< by name: its file
};

}  // namespace

LoadedPipeline make_loaded(model::Pipeline pipeline) {
  LoadedPipeline loaded;
  loaded.definition = std::make_shared<const std::string>(model::definition_json(pipeline));
  loaded.hash = model::definition_hash(*loaded.definition);
  loaded.rules.reserve(pipeline.schedules.size());
  for (const model::Schedule& schedule : pipeline.schedules) {
    auto rule = make_rule(schedule.timing);
    loaded.rules.push_back({rule_hash(schedule.timing), rule ? std::optional(*std::move(rule)) : std::nullopt});
  }
  loaded.pipeline = std::make_shared<const model::Pipeline>(std::move(pipeline));
  return loaded;
}

Result<Workspace> load_workspace(const std::string& root, const LoadOptions& options) {
  auto folder = Folder::open(root);
  if (!folder) return folder.error();
  return Loader(*std::move(folder), options).load();
}

}  // namespace eider::workspace
