#include "worker/environment.h"

#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "model/pipeline.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

/// Where programs are looked for when PATH is not set.
constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";
/// The one fact that may be long: what all publications say that a run is for.
constexpr const char* kEvents = "events";

std::string events_file(const RunContext& run) { return run.temp_folder + "/events.json"; }

bool belongs_to_the_server(std::string_view name) {
  static constexpr std::string_view of_the_service[] = {
      "NOTIFY_SOCKET", "LISTEN_FDS",     "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID",
      "INVOCATION_ID", "JOURNAL_STREAM", "MAINPID",    "MANAGERPID",     "OLDPWD",        "_"};
  if (name.starts_with("EIDER_")) return true;
  return std::find(std::begin(of_the_service), std::end(of_the_service), name) != std::end(of_the_service);
}

enum class Executable { yes, missing, is_folder, not_permitted };

Executable look_at(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return errno == EACCES ? Executable::not_permitted : Executable::missing;
  if (S_ISDIR(info.st_mode)) return Executable::is_folder;
  return ::access(file.c_str(), X_OK) == 0 ? Executable::yes : Executable::not_permitted;
}

Error not_executable(const std::string& file) {
  return Error{ErrorCode::invalid,
               fmt::format("{} is there but may not be executed; check its permissions (chmod +x)", file)};
}

}  // namespace

std::map<std::string, std::string> inherited_environment(const char* const* environment) {
  std::map<std::string, std::string> out;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0 || belongs_to_the_server(entry.substr(0, equals))) continue;
    out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

Result<void> write_events(const RunContext& run) {
  const auto events = run.facts.find(kEvents);
  return events == run.facts.end() ? Result<void>() : replace_file(events_file(run), events->second + "\n");
}

std::string output_file(const RunContext& run, const std::string& step) {
  return run.temp_folder + "/" + step + ".facts.jsonl";
}

std::vector<std::string> program_environment(const std::map<std::string, std::string>& inherited,
                                             const std::map<std::string, std::string>& of_step, const RunContext& run,
                                             const std::string& step, const std::string& facts_file) {
  std::map<std::string, std::string> all = inherited;
  all["PWD"] = run.workspace;
  for (const auto& [name, value] : of_step) all[name] = value;
  all["EIDER_SCHEDULED_FOR"] = all["EIDER_PARTITION"] = "";
  for (const auto& [name, value] : run.facts) {
    all["EIDER_" + upper(model::identifier(name))] = name == kEvents ? events_file(run) : value;
  }
  for (const auto& [name, path] : run.outputs) all["EIDER_OUT_" + upper(name)] = path;
  all["EIDER_RUN_ID"] = run.run_id;
  all["EIDER_ATTEMPT"] = std::to_string(run.attempt);
  all["EIDER_PIPELINE"] = run.pipeline;
  all["EIDER_STEP"] = step;
  all["EIDER_WORKSPACE"] = run.workspace;
  all["EIDER_TEMP"] = run.temp_folder;
  all["EIDER_OUTPUT"] = output_file(run, step);
  if (!facts_file.empty()) all["EIDER_FACTS"] = facts_file;
  std::vector<std::string> entries;
  entries.reserve(all.size());
  for (const auto& [name, value] : all) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

std::map<std::string, std::optional<std::string>> sql_variables(const RunContext& run, const std::string& step,
                                                                const std::string& facts_json) {
  std::map<std::string, std::optional<std::string>> out;
  for (const char* may_be_null : {"scheduled_for", "partition", "params", "trigger", "event_asset", "event_partition",
                                  "event_run", "event_id", kEvents}) {
    out[may_be_null] = std::nullopt;
  }
  for (const auto& [name, value] : run.facts) out[model::identifier(name)] = value;
  for (const auto& [name, path] : run.outputs) out["out_" + name] = path;
  out["run_id"] = run.run_id;
  out["attempt"] = std::to_string(run.attempt);
  out["pipeline"] = run.pipeline;
  out["step"] = step;
  out["workspace"] = run.workspace;
  out["temp"] = run.temp_folder;
  out["facts"] = facts_json;
  return out;
}

Result<std::string> find_program(const std::string& argv0, const std::string& path, const std::string& folder) {
  if (argv0.empty()) return Error{ErrorCode::invalid, "the program's name is empty"};
  if (argv0.find('/') != std::string::npos) {
    const std::string file = argv0.front() == '/' ? argv0 : folder + "/" + argv0;
    switch (look_at(file)) {
      case Executable::yes:
        return file;
      case Executable::is_folder:
        return Error{ErrorCode::invalid, file + " is a folder, not a program"};
      case Executable::not_permitted:
        return not_executable(file);
      case Executable::missing:
        break;
    }
    return Error{ErrorCode::not_found,
                 fmt::format("there is no program {}; paths in `run:` start at the workspace", file)};
  }
  const std::string folders = path.empty() ? kUsualPath : path;
  std::string not_permitted;
  for (std::size_t begin = 0; begin <= folders.size();) {
    std::size_t end = folders.find(':', begin);
    if (end == std::string::npos) end = folders.size();
    const std::string file = (begin == end ? folder : folders.substr(begin, end - begin)) + "/" + argv0;
    const Executable found = look_at(file);
    if (found == Executable::yes) return file;
    if (found == Executable::not_permitted && not_permitted.empty()) not_permitted = file;
    begin = end + 1;
  }
  if (!not_permitted.empty()) return not_executable(not_permitted);
  return Error{ErrorCode::not_found,
               fmt::format("there is no program `{}` in the PATH; install it, or write its path in `run:`", argv0)};
}

}  // namespace eider::worker
