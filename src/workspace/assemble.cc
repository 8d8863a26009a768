#include "workspace/assemble.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "workspace/words.h"

namespace eider::workspace {
namespace {

constexpr std::string_view kSqlEnding = ".sql";

/// `; did you mean "sql/daily.sql"?`, or nothing: the file in the same folder that has nearly that name.
std::string similar_script(const Folder& folder, const std::string& path) {
  const std::string place = path.substr(0, path.rfind('/') + 1);  // with its slash; empty for the root
  const auto stem = [](std::string_view name) { return name.substr(0, name.size() - kSqlEnding.size()); };
  const auto names = folder.names(place.empty() ? "." : place, {kSqlEnding});
  if (!names) return "";
  const std::vector<std::string_view> stems = [&] {
    std::vector<std::string_view> out;
    for (const std::string& name : *names) out.push_back(stem(name));
    return out;
  }();
  const std::string_view meant = closest(stem(std::string_view(path).substr(place.size())), stems);
  return meant.empty() ? "" : fmt::format("; did you mean \"{}{}{}\"?", place, meant, kSqlEnding);
}

class Assembler {
 public:
  explicit Assembler(const Surroundings& around) : around_(around) {}

  model::Pipeline put_together(PipelineDraft draft) {
    model::Pipeline pipeline = std::move(draft.pipeline);
    if (pipeline.timezone.empty()) pipeline.timezone = around_.settings.timezone;
    bool allows_overlap = false;
    for (model::Schedule& schedule : pipeline.schedules) {
      if (schedule.timing.timezone.empty()) schedule.timing.timezone = pipeline.timezone;
      allows_overlap = allows_overlap || schedule.overlap == model::Overlap::allow;
    }
    pipeline.max_active_runs = draft.max_active_runs.value_or(allows_overlap ? 0 : 1);
    if (draft.pool) {
      if (!pipeline.pools.empty()) complain("pool", "has pool and pools; keep one of them");
      pipeline.pools.emplace(*draft.pool, 1);
    }
    imply(pipeline.triggers);
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      pipeline.steps.push_back(step(std::move(draft.steps[i]), fmt::format("steps[{}]", i), pipeline.file));
    }
    return pipeline;
  }

 private:
  void complain(const std::string& key, std::string message) {
    around_.complaints.add(Severity::error, locate(around_.root, key), key, std::move(message));
  }

  /// Debounce folds what it waited for into one run, and does not wait for ever.
  void imply(std::vector<model::Trigger>& triggers) {
    constexpr int usual = 10;
    if (triggers.empty()) return;
    YamlValue written = around_.root.find("triggers").first();
    for (std::size_t i = 0; i < triggers.size(); ++i, written = written.next()) {
      model::Trigger& trigger = triggers[i];
      if (!trigger.debounce) continue;
      if (!trigger.batch && written.find("batch")) {
        complain(fmt::format("triggers[{}].batch", i),
                 "can't be false with debounce: what came while it waited for quiet goes into one run");
      }
      trigger.batch = true;
      if (!trigger.max_wait) trigger.max_wait = usual * *trigger.debounce;
    }
  }

  model::Step step(StepDraft draft, const std::string& key, const std::string& file) {
    model::Step step = std::move(draft.step);
    if (draft.sql) {
      step.kind = model::Step::Kind::sql;
      if (!step.env.empty()) complain(key + ".env", "is for programs; a SQL step reads run facts with getvariable()");
      if (draft.shell) complain(key + ".shell", "is for programs, not for SQL");
      put_sql(step, *draft.sql, key + ".sql", file);
    } else if (draft.command) {
      step.kind = model::Step::Kind::run;
      if (!step.transaction) complain(key + ".transaction", "is for SQL steps, not for programs");
      put_command(step, std::move(*draft.command), draft.shell, key);
    }
    return step;
  }

  void put_command(model::Step& step, Command command, bool shell, const std::string& key) {
    if (command.line.empty()) {
      if (shell) complain(key + ".shell", "needs a text in run, not a list");
      step.argv = std::move(command.arguments);
    } else if (shell) {
      step.argv = {"/bin/sh", "-c", std::move(command.line)};
    } else {
      complain(key + ".run",
               "is a text; write a list like [python3, report.py], or add shell: true to have /bin/sh read it");
    }
  }

  void put_sql(model::Step& step, const SqlText& sql, const std::string& key, const std::string& file) {
    const bool is_path = sql.text.ends_with(kSqlEnding) && sql.text.find('\n') == std::string::npos;
    if (!is_path) {
      step.sql = sql.text;
      step.sql_origin = {file, sql.first_line};
      return;
    }
    if (const auto inside = check_inside(sql.text); !inside) return complain(key, inside.error().message);
    const std::string path = normal_path(sql.text);
    auto script = around_.folder.read(path, around_.sql_limit_bytes);
    if (!script) {
      if (script.error().code != ErrorCode::not_found) return complain(key, script.error().message);
      return complain(key, fmt::format("{}; expected a path relative to the workspace, or the SQL itself{}",
                                       script.error().message, similar_script(around_.folder, path)));
    }
    if (!is_utf8_text(*script)) return complain(key, path + ": is not valid UTF-8 text");
    if (script->find_first_not_of(" \t\r\n") == std::string::npos) return complain(key, path + ": is empty");
    step.sql = *std::move(script);
    step.sql_origin = {path, 1};
  }

  const Surroundings& around_;
};

}  // namespace

Mark locate(YamlValue root, std::string_view key) {
  YamlValue here = root;
  while (!key.empty()) {
    YamlValue inner = here;
    if (key.starts_with('[')) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key.data() + 1, key.data() + key.size(), index);
      if (error != std::errc()) break;
      key.remove_prefix(static_cast<std::size_t>(end - key.data()) + 1);
      inner = here.at(index);
    } else {
      if (key.starts_with('.')) key.remove_prefix(1);
      const std::size_t end = std::min(key.find_first_of(".["), key.size());
      inner = here.find(key.substr(0, end));
      key.remove_prefix(end);
    }
    if (!inner) break;
    here = inner;
  }
  return here.mark();
}

model::Pipeline assemble(PipelineDraft draft, const Surroundings& around) {
  return Assembler(around).put_together(std::move(draft));
}

}  // namespace eider::workspace
