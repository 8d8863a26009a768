#include "cli/cli.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/session.h"

namespace eider::cli {
namespace {

struct Handler {
  Verb verb;
  int (*run)(Session&);
  bool needs_workspace = true;
};

constexpr Handler kHandlers[] = {
    {Verb::init, init, false},
    {Verb::validate, validate},
    {Verb::schema, schema, false},
    {Verb::run, run_pipeline},
    {Verb::serve, serve},
    {Verb::stop, stop},
    {Verb::status, status},
    {Verb::pipelines_list, pipelines_list},
    {Verb::schedule_list, schedule_list},
    {Verb::schedule_describe, schedule_describe},
    {Verb::schedule_preview, schedule_preview},
    {Verb::schedule_pause, schedule_pause},
    {Verb::schedule_resume, schedule_resume},
    {Verb::occurrences, occurrences},
    {Verb::runs_list, runs_list},
    {Verb::runs_show, runs_show},
    {Verb::logs, logs},
    {Verb::cancel, cancel},
    {Verb::retry, retry},
    {Verb::assets_list, assets_list},
    {Verb::assets_show, assets_show},
    {Verb::assets_graph, assets_graph},
    {Verb::assets_materialize, assets_materialize},
    {Verb::materializations, materializations},
    {Verb::materializations_show, materializations_show},
    {Verb::deliveries_list, deliveries_list},
    {Verb::deliveries_show, deliveries_show},
    {Verb::deliveries_retry, deliveries_retry},
    {Verb::deliveries_skip, deliveries_skip},
    {Verb::explain, explain},
    {Verb::doctor, doctor},
    {Verb::simulate, simulate},
    {Verb::pools, pools},
    {Verb::reload, reload},
    {Verb::completion, completion, false},
    {Verb::version, version, false},
    {Verb::complete, complete, false},
};

/// A cron expression is previewed anywhere.
bool needs_workspace(const Handler& handler, const Options& options) {
  return handler.needs_workspace && !(options.verb == Verb::schedule_preview && !options.cron.empty());
}

void choose_colours(Surroundings& around, const std::string& asked) {
  const bool wanted =
      asked != "never" && around.environment("NO_COLOR").empty() && around.environment("TERM") != "dumb";
  for (Stream* stream : {&around.screen.out, &around.screen.error}) {
    stream->set_colour(asked == "always" || (wanted && stream->terminal()));
  }
}

int run_verb(Surroundings& around, const Options& options, const Hooks& hooks) {
  Session session{around, options, hooks, {}};
  for (const Handler& handler : kHandlers) {
    if (handler.verb != options.verb) continue;
    if (needs_workspace(handler, options)) {
      const std::string asked = options.workspace.empty() ? around.environment("EIDER_WORKSPACE") : options.workspace;
      auto workspace = find_workspace(asked, around.folder);
      if (!workspace) return session.fail(workspace.error());
      session.workspace = *std::move(workspace);
    }
    return handler.run(session);
  }
  return hooks.worker();
}

}  // namespace

int run_in(Surroundings& around, const std::vector<std::string>& arguments, const Hooks& hooks) {
  try {
    const Parsed parsed = parse_arguments(arguments, hooks.version);
    if (parsed.options) {
      choose_colours(around, parsed.options->color);
      return run_verb(around, *parsed.options, hooks);
    }
    around.screen.out.print(parsed.output);
    if (parsed.error.empty()) return exit_done;
    around.screen.error.line("eider: " + parsed.error);
    return exit_wrong;
  } catch (const std::exception& unexpected) {
    around.screen.error.line(fmt::format("eider: {}", unexpected.what()));
    return exit_failed;
  }
}

int run(int argc, char** argv, const Hooks& hooks) {
  // A reader that goes away (`eider runs list | head -1`) ends the output, and is no error.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    Screen screen = process_screen();
    const SystemClock clock;
    std::error_code failed;
    const std::string folder = std::filesystem::current_path(failed).string();
    Surroundings around{screen, clock, folder, [](const char* name) {
                          const char* value = std::getenv(name);
                          return std::string(value ? value : "");
                        }};
    const int code = run_in(around, std::vector<std::string>(argv + std::min(argc, 1), argv + argc), hooks);
    if (screen.out.failure() == 0) return code;
    screen.error.line(fmt::format("eider: the output can't be written: {}", std::strerror(screen.out.failure())));
    return code == exit_done ? exit_failed : code;
  } catch (const std::exception& unexpected) {
    std::fprintf(stderr, "eider: %s\n", unexpected.what());
    return exit_failed;
  }
}

}  // namespace eider::cli
