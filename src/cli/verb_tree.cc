#include "cli/verb_tree.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace eider::cli {
namespace {

constexpr const char* kNewestFirst = "newest first (1 to 1000, default 100)";
constexpr const char* kRunAbout = "A run's id, or as much of its beginning as `eider runs list` shows";
constexpr const char* kDeliveryAbout = "A delivery's id, or as much of its beginning as `eider deliveries list` shows";

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

}  // namespace

class VerbTree::Tree {
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
  void selection(CLI::App* verb, const char* states);
  void add_files();
  void add_server();
  void add_run();
  void add_pipelines();
  void add_schedules();
  void add_runs();
  void add_assets();
  void add_deliveries();
  void add_explain();
  void add_simulate();
  void add_hidden();

  Options options_;
  CLI::App app_{"Eider: a durable data-pipeline server for one machine"};
};

VerbTree::Tree::Tree(const std::string& version) {
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
  add_assets();
  add_deliveries();
  add_explain();
  add_simulate();
  add_hidden();
  app_.footer(
      "Exit codes: 0 done; 1 the run failed, or the system refused; 2 the request or a file is wrong;\n"
      "3 no server; 130 `eider run` was interrupted by Ctrl-C.\n\n"
      "Examples:\n  eider init mine && cd mine     a new workspace\n  eider serve                    run its "
      "schedules\n"
      "  eider run hello                run one pipeline now, and watch it");
}

CLI::App* VerbTree::Tree::verb(CLI::App* parent, const char* name, const char* about, Verb value,
                               const char* examples) {
  CLI::App* verb = parent->add_subcommand(name, about)->group("Verbs");
  verb->callback([this, value] { options_.verb = value; });
  if (*examples) verb->footer(std::string("Examples:\n") + examples);
  return verb;
}

CLI::App* VerbTree::Tree::group(const char* name, const char* about, const char* examples) {
  CLI::App* group = app_.add_subcommand(name, about)->group("Verbs");
  group->require_subcommand(1);
  group->footer(std::string("Examples:\n") + examples);
  return group;
}

CLI::Option* VerbTree::Tree::target(CLI::App* verb, const char* kind, const char* about, bool required) {
  return verb->add_option(kind, options_.target, about)->type_name("")->required(required);
}

CLI::Option* VerbTree::Tree::text(CLI::App* verb, const char* name, std::string& into, const char* kind,
                                  const char* about) {
  return verb->add_option(name, into, about)->type_name(kind);
}

void VerbTree::Tree::pages(CLI::App* verb, const char* order) {
  verb->add_option("--limit", options_.limit, fmt::format("At most N of them, {}", order))->type_name("N");
  text(verb, "--cursor", options_.cursor, "CURSOR", "The page after: `next` of the one before");
  json(verb);
}

void VerbTree::Tree::add_files() {
  CLI::App* init = verb(&app_, "init", "Make a small workspace that works as it is", Verb::init,
                        "  eider init              in this folder\n  eider init flights      in a new folder");
  target(init, "DIR", "The folder; made when it is missing", false);
  CLI::App* validate =
      verb(&app_, "validate", "Check every file of the workspace", Verb::validate,
           "  eider validate          exit 2 when a file is wrong; warnings are no error\n  eider validate --json");
  json(validate);
  CLI::App* schema =
      verb(&app_, "schema", "Print the JSON Schema of the files, for editors", Verb::schema,
           "  eider schema pipeline > pipeline.schema.json\n  eider schema workspace > eider.schema.json\n"
           "  eider schema calendar > calendar.schema.json");
  target(schema, "OF", "pipeline (default), workspace, calendar or ceiling", false)
      ->check(CLI::IsMember({"pipeline", "workspace", "calendar", "ceiling"}));
}

void VerbTree::Tree::add_server() {
  CLI::App* serve = verb(&app_, "serve", "Run the workspace's schedules until told to stop", Verb::serve,
                         "  eider serve             Ctrl-C waits for running runs, a second one does not\n"
                         "  eider serve --json      one JSON line an event\n  eider -w flights serve");
  json(serve);
  text(serve, "--ceiling", options_.ceiling, "FILE",
       "What the workspace may ask for at most (EIDER_CEILING; default: /etc/eider/ceiling.yaml)");
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
  CLI::App* doctor =
      verb(&app_, "doctor", "Look for what is not well: stuck runs, long waits, wrong files, a full disk", Verb::doctor,
           "  eider doctor            exit 0 all is well, 1 something was found, 3 no server is running\n"
           "  eider doctor --json | jq -r '.findings[].code'");
  json(doctor);
  CLI::App* reload = verb(&app_, "reload", "Make the server read its files again", Verb::reload,
                          "  eider reload            a file that is wrong keeps its last good version");
  json(reload);
  CLI::App* pools = verb(&app_, "pools", "Show pools, locks and workers: who holds them and how many wait", Verb::pools,
                         "  eider pools\n  eider pools --json");
  json(pools);
  verb(&app_, "version", "Print the version", Verb::version, "  eider version --json")
      ->add_flag("--json", options_.json, "Print JSON");
}

void VerbTree::Tree::add_run() {
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

void VerbTree::Tree::add_pipelines() {
  CLI::App* pipelines = group("pipelines", "List pipelines", "  eider pipelines list");
  json(verb(pipelines, "list", "List pipelines with what they do, what comes next and their open runs",
            Verb::pipelines_list, "  eider pipelines list\n  eider pipelines list --json | jq -r '.items[].name'"));
}

void VerbTree::Tree::add_schedules() {
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
  CLI::App* resume = verb(schedule, "resume", "Resume a schedule: it goes on from now", Verb::schedule_resume,
                          "  eider schedule resume flights_daily/nightly\n"
                          "  eider schedule resume flights_daily/nightly --catch-up latest");
  target(resume, "SCHEDULE", "pipeline/id");
  text(resume, "--catch-up", options_.catch_up, "WHAT",
       "What fell due in the pause: skip it (default), run the latest of it, or all")
      ->check(CLI::IsMember({"skip", "latest", "all"}));
  json(resume);
  CLI::App* occurrences =
      verb(&app_, "occurrences", "List what was decided about each due instant, and why", Verb::occurrences,
           "  eider occurrences\n  eider occurrences flights_daily/nightly --limit 10\n"
           "  eider occurrences --decision missed");
  target(occurrences, "SCHEDULE", "pipeline/id, or a pipeline for all of its schedules", false);
  text(occurrences, "--decision", options_.decision, "DECISION",
       "Only run, skipped, missed, coalesced, excluded or paused");
  pages(occurrences, kNewestFirst);
}

void VerbTree::Tree::add_runs() {
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
  CLI::App* cancel =
      verb(&app_, "cancel", "Cancel a run", Verb::cancel,
           "  eider cancel 0192f3c4-a1b2-7c3d      SQL is interrupted, programs get SIGTERM and, 5 s later, SIGKILL");
  target(cancel, "RUN", kRunAbout);
  json(cancel);
  CLI::App* retry = verb(&app_, "retry", "Try a failed or cancelled run again, with a fresh budget", Verb::retry,
                         "  eider retry 0192f3c4-a1b2-7c3d                  all of it\n"
                         "  eider retry 0192f3c4-a1b2-7c3d --from-failed    steps that succeeded are kept");
  target(retry, "RUN", kRunAbout);
  retry->add_flag("--from-failed", options_.from_failed,
                  "Keep the steps that succeeded: only the others are done again");
  json(retry);
}

void VerbTree::Tree::add_assets() {
  CLI::App* assets = group("assets", "Show assets, who makes them and who waits for them; say that one was made",
                           "  eider assets list\n  eider assets show raw.flights\n  eider assets graph\n"
                           "  eider assets materialize raw.uploads --metadata '{\"file\": \"a.csv\"}'");
  CLI::App* list = verb(assets, "list", "List assets with their producers, consumers and newest data",
                        Verb::assets_list, "  eider assets list\n  eider assets list --json | jq -r '.items[].name'");
  pages(list, "by name (1 to 1000, default 1000)");
  CLI::App* show = verb(assets, "show", "Show one asset and what was published of it", Verb::assets_show,
                        "  eider assets show raw.flights\n  eider assets show raw.flights --limit 5 --json");
  target(show, "ASSET", "The asset's name");
  pages(show, kNewestFirst);
  CLI::App* graph = verb(assets, "graph", "Show what leads to what: assets, pipelines, assets", Verb::assets_graph,
                         "  eider assets graph\n  eider assets graph --dot | dot -Tsvg > graph.svg");
  CLI::Option* dot = graph->add_flag("--dot", options_.dot, "Print it for graphviz");
  graph->add_flag("--json", options_.json, "Print JSON: nodes and edges")->excludes(dot);
  CLI::App* made =
      verb(assets, "materialize", "Say that something outside Eider has made an asset", Verb::assets_materialize,
           "  eider assets materialize raw.uploads\n"
           "  eider assets materialize raw.uploads --partition 2026-03-29 --rows 120 --key upload-17\n"
           "  eider assets materialize raw.uploads --metadata @facts.json\n\n"
           "The same key again is the same event, recorded once. In a step of a run, that run is named as the cause.");
  target(made, "ASSET", "The asset's name");
  text(made, "--partition", options_.partition, "P", "The partition that was made (default: the whole)");
  text(made, "--metadata", options_.metadata, "JSON|FILE", "A JSON object, or a file that holds one; 64 KiB at most");
  text(made, "--rows", options_.rows, "N", "How many rows it has");
  text(made, "--bytes", options_.bytes, "N", "How many bytes it has");
  text(made, "--fingerprint", options_.fingerprint, "F", "Of the content: the same again is marked unchanged");
  text(made, "--key", options_.idempotency_key, "KEY", "What tells this event from others");
  json(made);
  CLI::App* events = app_.add_subcommand("materializations", "List what was published, and show one")->group("Verbs");
  events->callback([this, events] {
    // Its own verb `show` has been called before this one.
    if (events->get_subcommands().empty()) options_.verb = Verb::materializations;
  });
  events->footer(
      "Examples:\n  eider materializations\n  eider materializations --asset raw.flights --limit 5\n"
      "  eider materializations show 5f0c3a9e-77d1-8e21");
  CLI::Option* asset = text(events, "--asset", options_.asset, "ASSET", "Only those of this asset");
  CLI::Option* by =
      text(events, "--pipeline", options_.pipeline, "PIPELINE", "Only those that this pipeline published");
  by->excludes(asset);
  text(events, "--run", options_.run, "RUN", "Only those of this run")->excludes(asset)->excludes(by);
  pages(events, kNewestFirst);
  CLI::App* one = verb(events, "show", "Show one materialization", Verb::materializations_show,
                       "  eider materializations show 5f0c3a9e-77d1-8e21    the beginning of an id is enough");
  target(one, "MATERIALIZATION", "Its id, or as much of its beginning as `eider materializations` shows");
  json(one);
}

void VerbTree::Tree::add_deliveries() {
  CLI::App* deliveries = group("deliveries", "Show what is owed to triggers, try it again or give it up",
                               "  eider deliveries list --state failed\n  eider deliveries retry --state failed\n"
                               "  eider deliveries skip --trigger marts/on_raw --note 'done by hand'");
  CLI::App* list = verb(deliveries, "list", "List deliveries, newest first", Verb::deliveries_list,
                        "  eider deliveries list\n  eider deliveries list --trigger marts/on_raw --state pending");
  CLI::Option* trigger = text(list, "--trigger", options_.trigger, "TRIGGER", "Only those of this trigger");
  CLI::Option* pipeline = text(list, "--pipeline", options_.pipeline, "PIPELINE", "Only those to this pipeline");
  CLI::Option* event = text(list, "--event", options_.event, "MATERIALIZATION", "Only those of this materialization");
  CLI::Option* run = text(list, "--run", options_.run, "RUN", "Only those that this run was made for");
  pipeline->excludes(trigger);
  event->excludes(trigger)->excludes(pipeline);
  run->excludes(trigger)->excludes(pipeline)->excludes(event);
  text(list, "--state", options_.state, "STATE", "Only pending, claimed, delivered, failed or skipped");
  pages(list, kNewestFirst);
  CLI::App* show = verb(deliveries, "show", "Show one delivery: of what, to whom, how it went", Verb::deliveries_show,
                        "  eider deliveries show 2b1e9d40-0a7c-8c55    the beginning of an id is enough");
  target(show, "DELIVERY", kDeliveryAbout);
  json(show);
  CLI::App* retry =
      verb(deliveries, "retry", "Try failed deliveries again: their runs are queued again", Verb::deliveries_retry,
           "  eider deliveries retry 2b1e9d40-0a7c-8c55\n  eider deliveries retry --trigger marts/on_raw\n"
           "  eider deliveries retry --state failed");
  selection(retry, "Only failed, the only ones that can be tried again");
  CLI::App* skip =
      verb(deliveries, "skip", "Give up pending or failed deliveries: nothing runs for them", Verb::deliveries_skip,
           "  eider deliveries skip 2b1e9d40-0a7c-8c55 --note 'done by hand'\n"
           "  eider deliveries skip --pipeline marts --state pending");
  selection(skip, "Only pending or failed ones");
  skip->add_option("--note", options_.note, "Why; shown with the deliveries")->type_name("TEXT");
}

/// Which deliveries a deed is about.
void VerbTree::Tree::selection(CLI::App* verb, const char* states) {
  CLI::Option* id = target(verb, "DELIVERY", kDeliveryAbout, false);
  CLI::Option* trigger = text(verb, "--trigger", options_.trigger, "TRIGGER", "Those of this trigger");
  trigger->excludes(id);
  text(verb, "--pipeline", options_.pipeline, "PIPELINE", "Those to this pipeline")->excludes(id)->excludes(trigger);
  text(verb, "--state", options_.state, "STATE", states)->excludes(id);
  json(verb);
}

void VerbTree::Tree::add_explain() {
  CLI::App* explain =
      verb(&app_, "explain", "Show why something ran or did not, or what keeps a pipeline from running", Verb::explain,
           "  eider explain 0192f3c4-a1b2-7c3d       of a run, a materialization, a delivery or an occurrence\n"
           "  eider explain flights_daily            what keeps it from running now, and what will start it\n"
           "  eider explain 0192f3c4-a1b2-7c3d --json | jq -r '.links[].text'");
  target(explain, "ID", "An id of any of these, or the beginning of one; or a pipeline's name");
  json(explain);
}

void VerbTree::Tree::add_simulate() {
  CLI::App* simulate = verb(
      &app_, "simulate",
      "Show what the workspace will do: collisions, waits, what is used up, stale data, clock changes", Verb::simulate,
      "  eider simulate                              a year from now; nothing is executed, nothing is written\n"
      "  eider simulate --days 30 --assume 5m        runs without history take five minutes\n"
      "  eider simulate --against ../main            what changes beside another version of the files\n"
      "  eider simulate --max-skipped 0 --max-wait 10m    for CI: exit 1 when there is more of it");
  text(simulate, "--days", options_.days, "N", "So many days (1 to 3660, default 365)");
  text(simulate, "--from", options_.from, "TIME", "From this time on (default now)");
  text(simulate, "--assume", options_.assume, "DURATION",
       "What a run of a pipeline without history takes (default 1s)");
  text(simulate, "--against", options_.against, "DIR",
       "Another version of the workspace: show what changes beside it; limits are about what is added");
  text(simulate, "--max-skipped", options_.max_skipped, "N", "Exit 1 when more instants than that are not run");
  text(simulate, "--max-wait", options_.max_wait, "DURATION", "Exit 1 when a run waits longer");
  text(simulate, "--max-use", options_.max_use, "PART",
       "Exit 1 when more than this part of a pool, the workers, a rate, a lock, a file or the memory is in use in its "
       "busiest hour");
  text(simulate, "--max-stale", options_.max_stale, "N",
       "Exit 1 when data becomes older than its pipeline's `freshness` allows more often than that");
  json(simulate);
}

void VerbTree::Tree::add_hidden() {
  CLI::App* completion = verb(&app_, "completion", "Print the completion script of a shell", Verb::completion,
                              "  source <(eider completion bash)\n  eider completion zsh > ~/.zfunc/_eider\n"
                              "  eider completion fish > ~/.config/fish/completions/eider.fish");
  target(completion, "SHELL", "bash, zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb(&app_, "worker", "", Verb::worker, "")->group("");
}

VerbTree::VerbTree(const std::string& version) : tree_(std::make_unique<Tree>(version)) {}
VerbTree::~VerbTree() = default;
CLI::App& VerbTree::app() { return tree_->app(); }
Options& VerbTree::options() { return tree_->options(); }

}  // namespace eider::cli
