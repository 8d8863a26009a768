#include "cli/arguments.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "workspace/words.h"

namespace eider::cli {
namespace {

using workspace::closest;
using workspace::shown;

constexpr const char* kNewestFirst = "newest first (1 to 1000, default 100)";
constexpr const char* kRunAbout = "A run's id, or as much of its beginning as `eider runs list` shows";

/// The library's own form without a list of other options between an option and its sentence, and without the empty
/// lines that a hidden group of options leaves.
class Form : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
    return help;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    const std::string type = option->get_type_name();
    return (type.empty() ? "" : " " + type) + (option->get_required() ? " REQUIRED" : "");
  }
};

/// Options that hold no state of their own: the tree of verbs, and where it puts what it finds.
class Tree {
 public:
  explicit Tree(const std::string& version);

  CLI::App& app() { return app_; }
  Options& options() { return options_; }

 private:
  CLI::App* verb(CLI::App* parent, const char* name, const char* about, Verb value, const char* examples);
  CLI::App* group(const char* name, const char* about, const char* examples);
  CLI::Option* target(CLI::App* verb, const char* kind, const char* about, bool required = true);
  CLI::Option* text(CLI::App* verb, const char* name, std::string& into, const char* kind, const char* about);
  void json(CLI::App* verb) { verb->add_flag("--json", options_.json, "Print JSON, in the shapes of the API"); }
  void pages(CLI::App* verb, const char* order);
  void add_files();
  void add_server();
  void add_run();
  void add_pipelines();
  void add_schedules();
  void add_runs();
  void add_hidden();

  Options options_;
  CLI::App app_{"Eider: a durable data-pipeline server for one machine"};
};

Tree::Tree(const std::string& version) {
  app_.name("eider");
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.formatter(std::make_shared<Form>());
  app_.get_formatter()->column_width(34);
  app_.get_formatter()->label("SUBCOMMAND", "VERB");
  app_.set_help_flag("-h,--help", "Print help; after a verb, its own");
  app_.set_version_flag("--version", "eider " + version);
  text(&app_, "-w,--workspace", options_.workspace, "DIR",
       "The folder with eider.yaml (or EIDER_WORKSPACE; default: the nearest one upwards)");
  text(&app_, "--color,--colour", options_.color, "WHEN", "auto, always or never; auto heeds NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  add_files();
  add_server();
  add_run();
  add_pipelines();
  add_schedules();
  add_runs();
  add_hidden();
  app_.footer(
      "Exit codes: 0 done; 1 the run failed, or the system refused; 2 the request or a file is wrong;\n"
      "3 no server; 130 `eider run` was interrupted by Ctrl-C.\n\n"
      "Examples:\n  eider init mine && cd mine     a new workspace\n  eider serve                    run its "
      "schedules\n"
      "  eider run hello                run one pipeline now, and watch it");
}

CLI::App* Tree::verb(CLI::App* parent, const char* name, const char* about, Verb value, const char* examples) {
  CLI::App* verb = parent->add_subcommand(name, about)->group("Verbs");
  verb->callback([this, value] { options_.verb = value; });
  if (*examples) verb->footer(std::string("Examples:\n") + examples);
  return verb;
}

CLI::App* Tree::group(const char* name, const char* about, const char* examples) {
  CLI::App* group = app_.add_subcommand(name, about)->group("Verbs");
  group->require_subcommand(1);
  group->footer(std::string("Examples:\n") + examples);
  return group;
}

CLI::Option* Tree::target(CLI::App* verb, const char* kind, const char* about, bool required) {
  return verb->add_option(kind, options_.target, about)->type_name("")->required(required);
}

CLI::Option* Tree::text(CLI::App* verb, const char* name, std::string& into, const char* kind, const char* about) {
  return verb->add_option(name, into, about)->type_name(kind);
}

void Tree::pages(CLI::App* verb, const char* order) {
  verb->add_option("--limit", options_.limit, fmt::format("At most N of them, {}", order))->type_name("N");
  text(verb, "--cursor", options_.cursor, "CURSOR", "The page after: `next` of the one before");
  json(verb);
}

void Tree::add_files() {
  CLI::App* init = verb(&app_, "init", "Make a small workspace that works as it is", Verb::init,
                        "  eider init              in this folder\n  eider init flights      in a new folder");
  target(init, "DIR", "The folder; made when it is missing", false);
  CLI::App* validate =
      verb(&app_, "validate", "Check every file of the workspace", Verb::validate,
           "  eider validate          exit 2 when a file is wrong; warnings are no error\n  eider validate --json");
  json(validate);
  CLI::App* schema =
      verb(&app_, "schema", "Print the JSON Schema of the files, for editors", Verb::schema,
           "  eider schema pipeline > pipeline.schema.json\n  eider schema workspace > eider.schema.json");
  target(schema, "OF", "pipeline (default) or workspace", false)->check(CLI::IsMember({"pipeline", "workspace"}));
}

void Tree::add_server() {
  CLI::App* serve = verb(&app_, "serve", "Run the workspace's schedules until told to stop", Verb::serve,
                         "  eider serve             Ctrl-C waits for running runs, a second one does not\n"
                         "  eider serve --json      one JSON line an event\n  eider -w flights serve");
  json(serve);
  text(serve, "--test-clock", options_.test_clock, "TIME", "")->group("");
  CLI::App* stop = verb(&app_, "stop", "Stop the server", Verb::stop,
                        "  eider stop                  running runs may finish, up to drain_timeout\n"
                        "  eider stop --now            running runs are interrupted, and queued again\n"
                        "  eider stop --leave-running  runs go on; the next server picks them up");
  CLI::Option* leave =
      stop->add_flag("--leave-running", options_.leave_running, "Hand running runs to the next server");
  stop->add_flag("--now", options_.now, "Interrupt running runs at once; not with --leave-running")->excludes(leave);
  CLI::App* status = verb(&app_, "status", "Show the server and what it does", Verb::status,
                          "  eider status\n  eider status --json | jq .health");
  json(status);
  CLI::App* reload = verb(&app_, "reload", "Make the server read its files again", Verb::reload,
                          "  eider reload            a file that is wrong keeps its last good version");
  json(reload);
  CLI::App* pools = verb(&app_, "pools", "Show the pools and who holds their slots", Verb::pools,
                         "  eider pools\n  eider pools --json");
  json(pools);
  verb(&app_, "version", "Print the version", Verb::version, "  eider version --json")
      ->add_flag("--json", options_.json, "Print JSON");
}

void Tree::add_run() {
  CLI::App* run = verb(&app_, "run", "Run a pipeline now, and follow it to its end", Verb::run,
                       "  eider run flights_daily\n"
                       "  eider run flights_daily -p year=2026 -p limit:=10     k=v is a text, k:=v is JSON\n"
                       "  eider run flights_daily --queue --detach              wait in line, print the run's id\n\n"
                       "Without a server the pipeline runs in this process, and no schedule fires.");
  target(run, "PIPELINE", "The pipeline's name");
  text(run, "--params", options_.params, "JSON", "Parameters as a JSON object");
  // One value an option, so that what follows is not taken for another.
  run->add_option("-p,--param", options_.pairs, "One parameter; may be repeated, and wins over --params")
      ->type_name("K=V")
      ->allow_extra_args(false);
  text(run, "--partition", options_.partition, "P", "The partition to produce");
  run->add_flag("--queue", options_.queue, "Wait behind an active run instead of refusing");
  run->add_flag("--detach", options_.detach, "Print the run's id and return at once (needs a server)");
  text(run, "--idempotency-key", options_.idempotency_key, "KEY", "The same key again is the same run, made once");
  run->add_flag("--json", options_.json, "Print the run at its end as JSON, and no log");
}

void Tree::add_pipelines() {
  CLI::App* pipelines = group("pipelines", "List pipelines", "  eider pipelines list");
  json(verb(pipelines, "list", "List pipelines with what they do, what comes next and their open runs",
            Verb::pipelines_list, "  eider pipelines list\n  eider pipelines list --json | jq -r '.items[].name'"));
}

void Tree::add_schedules() {
  CLI::App* schedule =
      group("schedule", "Show, preview, pause and resume schedules",
            "  eider schedule list\n  eider schedule pause flights_daily/nightly --note 'source is down'\n"
            "  eider schedule preview --cron '30 2 * * *' --timezone Europe/Brussels");
  CLI::App* list = verb(schedule, "list", "List schedules with what comes next", Verb::schedule_list,
                        "  eider schedule list\n  eider schedule list --pipeline flights_daily --json");
  text(list, "--pipeline", options_.pipeline, "PIPELINE", "Only those of this pipeline");
  pages(list, "by name (1 to 1000, default 1000)");
  CLI::App* describe = verb(schedule, "describe", "Show one schedule, its policies and what comes next",
                            Verb::schedule_describe, "  eider schedule describe flights_daily/nightly");
  target(describe, "SCHEDULE", "pipeline/id");
  json(describe);
  CLI::App* preview =
      verb(schedule, "preview", "Show when a rule fires; a cron expression needs no workspace", Verb::schedule_preview,
           "  eider schedule preview flights_daily/nightly --count 3\n"
           "  eider schedule preview --cron '*/5 9-17 * * MON-FRI' --timezone America/New_York\n"
           "  eider schedule preview --cron '30 2 * * *' --timezone Europe/Brussels --from 2026-03-28T00:00:00Z");
  CLI::Option* of = target(preview, "SCHEDULE", "pipeline/id", false);
  CLI::Option* cron = text(preview, "--cron", options_.cron, "EXPR", "A cron expression instead of a schedule");
  cron->excludes(of);
  text(preview, "--timezone", options_.timezone, "ZONE", "Of --cron, such as Europe/Brussels (default UTC)")
      ->needs(cron);
  text(preview, "--from", options_.from, "TIME", "Instants later than this (default now)");
  text(preview, "--to", options_.to, "TIME", "Up to this, inclusive");
  text(preview, "--count", options_.count, "N", "At most N (default 10; with --to, 1000)");
  json(preview);
  CLI::App* pause = verb(schedule, "pause", "Pause a schedule: nothing is due until it is resumed",
                         Verb::schedule_pause, "  eider schedule pause flights_daily/nightly --note 'source is down'");
  target(pause, "SCHEDULE", "pipeline/id");
  pause->add_option("--note", options_.note, "Why; shown with the schedule. Without it an earlier note stays")
      ->type_name("TEXT");
  json(pause);
  CLI::App* resume = verb(schedule, "resume", "Resume a schedule: it starts from now", Verb::schedule_resume,
                          "  eider schedule resume flights_daily/nightly");
  target(resume, "SCHEDULE", "pipeline/id");
  json(resume);
  CLI::App* occurrences =
      verb(&app_, "occurrences", "List what was decided about each due instant, and why", Verb::occurrences,
           "  eider occurrences\n  eider occurrences flights_daily/nightly --limit 10\n"
           "  eider occurrences --decision missed");
  target(occurrences, "SCHEDULE", "pipeline/id, or a pipeline for all of its schedules", false);
  text(occurrences, "--decision", options_.decision, "DECISION", "Only run, skipped, missed, coalesced or paused");
  pages(occurrences, kNewestFirst);
}

void Tree::add_runs() {
  CLI::App* runs =
      group("runs", "List runs and show one", "  eider runs list --state failed\n  eider runs show 0192f3c4-a1b2-7c3d");
  CLI::App* list = verb(runs, "list", "List runs, newest first", Verb::runs_list,
                        "  eider runs list\n  eider runs list --pipeline flights_daily --state failed --limit 5\n"
                        "  eider runs list --json | jq -r '.items[].id'");
  text(list, "--pipeline", options_.pipeline, "PIPELINE", "Only those of this pipeline");
  text(list, "--state", options_.state, "STATE", "Only queued, running, succeeded, failed or cancelled");
  pages(list, kNewestFirst);
  CLI::App* show = verb(runs, "show", "Show one run: attempts, steps, what it waits for, why", Verb::runs_show,
                        "  eider runs show 0192f3c4-a1b2-7c3d    the beginning of an id is enough\n"
                        "  eider runs show 0192f3c4-a1b2-7c3d --json");
  target(show, "RUN", kRunAbout);
  json(show);
  CLI::App* logs =
      verb(&app_, "logs", "Print what a run's steps wrote", Verb::logs,
           "  eider logs 0192f3c4-a1b2-7c3d\n  eider logs -f 0192f3c4-a1b2-7c3d --step build    to the run's end\n"
           "  eider logs 0192f3c4-a1b2-7c3d --raw > out.txt     the steps' own bytes");
  target(logs, "RUN", kRunAbout);
  logs->add_flag("-f,--follow", options_.follow, "Go on until the run is over");
  text(logs, "--attempt", options_.attempt, "N", "Of this attempt (default: the newest)");
  text(logs, "--step", options_.step, "STEP", "Of this step only");
  CLI::Option* raw = logs->add_flag("--raw", options_.raw, "The bytes as they were (on a terminal made safe)");
  logs->add_flag("--json", options_.json, "One JSON line a line: at, step, stream, text")->excludes(raw);
  CLI::App* cancel = verb(&app_, "cancel", "Cancel a run", Verb::cancel,
                          "  eider cancel 0192f3c4-a1b2-7c3d      interrupt, 5 s, SIGTERM, 5 s, SIGKILL");
  target(cancel, "RUN", kRunAbout);
  json(cancel);
}

void Tree::add_hidden() {
  CLI::App* completion = verb(&app_, "completion", "Print the completion script of a shell", Verb::completion,
                              "  source <(eider completion bash)\n  eider completion zsh > ~/.zfunc/_eider\n"
                              "  eider completion fish > ~/.config/fish/completions/eider.fish");
  target(completion, "SHELL", "bash, zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb(&app_, "worker", "", Verb::worker, "")->group("");
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); }))
    out.push_back(each);
  return out;
}

const CLI::App* find_verb(const CLI::App& app, const std::string& name) {
  for (const CLI::App* each : verbs_of(app)) {
    if (each->get_name() == name) return each;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& verb, const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* from : {&verb, &app}) {
    for (const CLI::Option* option : from->get_options()) {
      if (option->get_group().empty() || (from == &app && &verb != &app && option == app.get_version_ptr())) continue;
      for (const std::string& name : option->get_lnames()) {
        if (std::find(out.begin(), out.end(), "--" + name) == out.end()) out.push_back("--" + name);
      }
    }
  }
  return out;
}

/// The option that a word names, of the verb or of all.
const CLI::Option* find_option(const CLI::App& verb, const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (name.size() < 2 || name[0] != '-') return nullptr;
  for (const CLI::App* from : {&verb, &app}) {
    if (const CLI::Option* option = from->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

/// Where a line has got to: the verb that its words name, and how many of its plain arguments it has.
struct Place {
  const CLI::App* verb = nullptr;
  std::size_t arguments = 0;
  const CLI::Option* wants_value = nullptr;  ///< the last word is an option that takes the next one
  std::string workspace;
  std::string path;        ///< `eider schedule pause`
  std::string wrong_verb;  ///< a word where a verb should be
  std::string wrong_option;
};

Place walk(const CLI::App& app, const std::vector<std::string>& words) {
  Place place;
  place.verb = &app;
  place.path = "eider";
  for (const std::string& word : words) {
    if (place.wants_value) {
      if (place.wants_value == app.get_option_no_throw("--workspace")) place.workspace = word;
      place.wants_value = nullptr;
      continue;
    }
    if (word.size() > 1 && word[0] == '-') {
      const CLI::Option* option = find_option(*place.verb, app, word);
      if (!option && place.wrong_option.empty()) place.wrong_option = word.substr(0, word.find('='));
      if (!option || option->get_items_expected_max() == 0) continue;
      if (const auto equals = word.find('='); equals == std::string::npos) {
        place.wants_value = option;
      } else if (option == app.get_option_no_throw("--workspace")) {
        place.workspace = word.substr(equals + 1);
      }
    } else if (!verbs_of(*place.verb).empty()) {
      const CLI::App* next = find_verb(*place.verb, word);
      if (!next) {
        if (place.wrong_verb.empty()) place.wrong_verb = word;
        return place;
      }
      place.verb = next;
      place.path += " " + word;
    } else {
      ++place.arguments;
    }
  }
  return place;
}

/// `WHEN` of `WHEN:{auto,always,never}`.
std::string kind_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view meant = closest(word, {known.begin(), known.end()});
  return meant.empty() ? "" : fmt::format("; did you mean `{}`?", meant);
}

std::string explain(const CLI::App& app, const std::vector<std::string>& arguments, const CLI::ParseError& error) {
  const Place place = walk(app, arguments);
  std::vector<std::string> verbs;
  for (const CLI::App* each : verbs_of(*place.verb)) verbs.push_back(each->get_name());
  std::string said;
  if (!place.wrong_verb.empty()) {
    said =
        fmt::format("`{} {}` is no verb{}", place.path, shown(place.wrong_verb), did_you_mean(place.wrong_verb, verbs));
  } else if (!place.wrong_option.empty()) {
    said = fmt::format("`{}` has no option `{}`{}", place.path, shown(place.wrong_option),
                       did_you_mean(place.wrong_option, option_names(*place.verb, app)));
  } else if (!verbs.empty()) {
    said =
        fmt::format("`{}` needs a verb: {}", place.path, workspace::join_words({verbs.begin(), verbs.end()}, " or "));
  } else if (place.wants_value) {
    said = fmt::format("`{}` needs a value: {}", place.wants_value->get_name(), place.wants_value->get_description());
  } else {
    said = fmt::format("`{}`: {}", place.path, error.what());
    std::replace(said.begin(), said.end(), '\n', ' ');
  }
  return fmt::format("{}\n`{} --help` shows how it is used", said, place.path);
}

}  // namespace

Parsed parse_arguments(const std::vector<std::string>& arguments, const std::string& version) {
  Parsed parsed;
  if (!arguments.empty() && arguments[0] == "__complete") {
    parsed.options.emplace();
    parsed.options->verb = Verb::complete;
    parsed.options->words.assign(arguments.begin() + 1, arguments.end());
    return parsed;
  }
  Tree tree(version);
  // `eider help runs list` is what some people try first.
  if (!arguments.empty() && arguments[0] == "help") {
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    if (!walk(tree.app(), asked).wrong_verb.empty()) {
      parsed.error = explain(tree.app(), asked, CLI::CallForHelp());
      return parsed;
    }
    asked.emplace_back("--help");
    return parse_arguments(asked, version);
  }
  try {
    tree.app().parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    parsed.options = std::move(tree.options());
  } catch (const CLI::Success& success) {
    std::ostringstream out, error;
    tree.app().exit(success, out, error);
    parsed.output = out.str();
    if (!parsed.output.ends_with('\n')) parsed.output += '\n';
  } catch (const CLI::ParseError& error) {
    parsed.error = explain(tree.app(), arguments, error);
  }
  return parsed;
}

Completion complete_arguments(const std::vector<std::string>& words) {
  Tree tree("");
  const CLI::App& app = tree.app();
  Completion out;
  if (words.empty()) return out;
  const Place place = walk(app, {words.begin(), words.end() - 1});
  out.typed = words.back();
  out.workspace = place.workspace;
  if (!place.wrong_verb.empty()) return out;
  if (place.wants_value) {
    out.kind = kind_of(*place.wants_value);
    return out;
  }
  if (const auto equals = out.typed.find('='); out.typed.starts_with("--") && equals != std::string::npos) {
    if (const CLI::Option* option = find_option(*place.verb, app, out.typed)) out.kind = kind_of(*option);
    out.before = out.typed.substr(0, equals + 1);
    out.typed.erase(0, equals + 1);
    return out;
  }
  std::vector<std::string> candidates;
  if (out.typed.starts_with("-")) {
    candidates = option_names(*place.verb, app);
  } else {
    for (const CLI::App* each : verbs_of(*place.verb)) candidates.push_back(each->get_name());
  }
  for (std::string& each : candidates) {
    if (each.starts_with(out.typed)) out.words.push_back(std::move(each));
  }
  if (!out.typed.starts_with("-") && place.arguments == 0) {
    for (const CLI::Option* option : place.verb->get_options()) {
      if (option->get_positional()) out.kind = option->get_name();
    }
  }
  return out;
}

}  // namespace eider::cli
