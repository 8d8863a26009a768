// Verbs on the workspace's files alone.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/shapes.h"
#include "base/fd.h"
#include "cli/session.h"
#include "cli/text.h"
#include "workspace/keys.h"
#include "workspace/load.h"
#include "workspace/scaffold.h"

namespace eider::cli {
namespace {

namespace json = boost::json;
using workspace::Diagnostic;
using workspace::Severity;

/// format_with_source() with colours: the severity, the caret.
std::string painted(const Diagnostic& diagnostic, const Stream& stream) {
  const bool wrong = diagnostic.severity == Severity::error;
  const Colour colour = wrong ? Colour::red : Colour::yellow;
  std::string text = safe_lines(workspace::format_with_source(diagnostic));
  if (!stream.colour()) return text;
  const std::string severity = wrong ? ": error: " : ": warning: ";
  if (text.ends_with('^')) text.replace(text.size() - 1, 1, stream.paint(colour, "^"));
  if (const auto at = text.find(severity); at != std::string::npos) {
    text.replace(at, severity.size(), ": " + stream.paint(colour, severity.substr(2, severity.size() - 4)) + ": ");
    text = stream.paint(Colour::bold, text.substr(0, at)) + text.substr(at);
  }
  return text;
}

struct Counts {
  std::int64_t errors = 0;
  std::int64_t warnings = 0;
  std::int64_t schedules = 0;
};

Counts count(const workspace::Workspace& loaded) {
  Counts counts;
  for (const Diagnostic& diagnostic : loaded.diagnostics) {
    ++(diagnostic.severity == Severity::error ? counts.errors : counts.warnings);
  }
  for (const auto& [name, pipeline] : loaded.pipelines) counts.schedules += std::ssize(pipeline.pipeline->schedules);
  return counts;
}

/// As a shell reads it back.
std::string as_word(const std::string& path) {
  std::string shown = (path.starts_with('-') ? "./" : "") + safe(path);
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,@%";
  if (shown.find_first_not_of(plain) == std::string::npos) return shown;
  std::string out = "'";
  for (const char c : shown) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool ignores_state(const std::filesystem::path& root) {
  const auto text = read_file((root / ".gitignore").string(), 1 << 20);
  return text && text->find(".eider") != std::string::npos;
}

}  // namespace

int init(Session& session) {
  const std::string& asked = session.options.target.empty() ? "." : session.options.target;
  const auto root = (std::filesystem::path(session.around.folder) / asked).lexically_normal();
  auto written = workspace::write_scaffold(root.string());
  if (!written) return session.fail(written.error());
  for (const std::string& file : *written) {
    session.out().line("made " + safe((std::filesystem::path(asked) / file).lexically_normal().string()));
  }
  if (std::find(written->begin(), written->end(), ".gitignore") == written->end() && !ignores_state(root)) {
    session.out().line("add `.eider/` to .gitignore: it is Eider's own state");
  }
  const std::string there = asked == "." ? "" : fmt::format("cd {} && ", as_word(asked));
  session.out().line(
      fmt::format("next: `{}eider run hello` runs its pipeline once, `eider serve` its schedules", there));
  return exit_done;
}

int validate(Session& session) {
  workspace::LoadOptions load;
  load.now = session.now();
  auto loaded = workspace::load_workspace(session.workspace, load);
  if (!loaded) return session.fail(loaded.error());
  const Counts counts = count(*loaded);
  const bool good = loaded->usable && counts.errors == 0;
  if (session.options.json) {
    session.print_json(
        json::serialize(json::object{{"ok", good},
                                     {"pipelines", loaded->pipelines.size()},
                                     {"schedules", counts.schedules},
                                     {"broken_files", loaded->broken.size() + loaded->broken_calendars.size()},
                                     {"diagnostics", api::shapes::diagnostics(loaded->diagnostics)}}));
    return good ? exit_done : exit_wrong;
  }
  for (const Diagnostic& diagnostic : loaded->diagnostics) session.out().line(painted(diagnostic, session.out()));
  std::string sum;
  if (!loaded->usable) {
    sum = "eider.yaml is wrong: nothing of this workspace can be used";
  } else {
    sum = fmt::format("{} and {} are good", counted(std::ssize(loaded->pipelines), "pipeline"),
                      counted(counts.schedules, "schedule"));
    const auto broken = std::ssize(loaded->broken) + std::ssize(loaded->broken_calendars);
    if (broken > 0) sum += fmt::format("; {} not loaded", counted(broken, "file"));
  }
  if (counts.errors > 0) sum += fmt::format("; {}", counted(counts.errors, "error"));
  if (counts.warnings > 0) sum += fmt::format("; {}", counted(counts.warnings, "warning"));
  session.out().line(session.out().paint(!good                 ? Colour::red
                                         : counts.warnings > 0 ? Colour::yellow
                                                               : Colour::green,
                                         sum));
  return good ? exit_done : exit_wrong;
}

int schema(Session& session) {
  const std::string& asked = session.options.target;
  const auto of = asked == "workspace"  ? workspace::SchemaOf::workspace
                  : asked == "calendar" ? workspace::SchemaOf::calendar
                  : asked == "ceiling"  ? workspace::SchemaOf::ceiling
                                        : workspace::SchemaOf::pipeline;
  session.out().print(workspace::schema_json(of));
  return exit_done;
}

int version(Session& session) {
  if (session.options.json)
    return session.print_json(json::serialize(json::object{{"version", session.hooks.version}}));
  session.out().line("eider " + session.hooks.version);
  return exit_done;
}

}  // namespace eider::cli
