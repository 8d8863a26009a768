// `eider simulate`: what the workspace will do, before it does it. Reads its files and its history, writes nothing.
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/log.h"
#include "cli/forecast_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "sim/forecast.h"
#include "store/store.h"
#include "wire/layout.h"
#include "workspace/load.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

constexpr int kMostDays = 3660;
constexpr int kRunsLookedAt = 200;  ///< of a pipeline: its newest that succeeded

struct Wishes {
  sim::ForecastWishes forecast;
  std::optional<std::int64_t> max_skipped;
  std::optional<Micros> max_wait;
  std::optional<double> max_use;
  std::optional<std::int64_t> max_stale;
};

template <typename Number>
std::optional<Number> number_in(const std::string& text, Number least, Number most) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc() || stopped != end || !(value >= least && value <= most)) return std::nullopt;
  return value;
}

Error wrong(const char* option, const std::string& text, const std::string& expected) {
  return {ErrorCode::invalid, fmt::format("{}: `{}` is wrong: expected {}", option, safe(text), expected)};
}

Result<std::optional<Micros>> duration_option(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<Micros>();
  auto duration = parse_duration(text);
  if (!duration) return Error{ErrorCode::invalid, fmt::format("{}: {}", option, duration.error().message)};
  return std::optional(*duration);
}

Result<Wishes> wishes_of(const Session& session) {
  const Options& options = session.options;
  Wishes out;
  const auto days = number_in<int>(options.days.empty() ? "365" : options.days, 1, kMostDays);
  if (!days) return wrong("--days", options.days, fmt::format("a whole number from 1 to {}", kMostDays));
  out.forecast.length = std::chrono::hours(24) * *days;
  out.forecast.from = session.now();
  if (!options.from.empty()) {
    auto from = parse_rfc3339(options.from);
    if (!from) return Error{ErrorCode::invalid, "--from: " + from.error().message};
    if (*from < Instant{}) return wrong("--from", options.from, "a time after 1970");
    out.forecast.from = *from;
  }
  auto assumed = duration_option("--assume", options.assume);
  if (!assumed) return assumed.error();
  out.forecast.assumed = assumed->value_or(out.forecast.assumed);
  auto wait = duration_option("--max-wait", options.max_wait);
  if (!wait) return wait.error();
  out.max_wait = *wait;
  if (!options.max_skipped.empty()) {
    out.max_skipped = number_in<std::int64_t>(options.max_skipped, 0, std::numeric_limits<std::int64_t>::max());
    if (!out.max_skipped) return wrong("--max-skipped", options.max_skipped, "a whole number from 0");
  }
  if (!options.max_stale.empty()) {
    out.max_stale = number_in<std::int64_t>(options.max_stale, 0, std::numeric_limits<std::int64_t>::max());
    if (!out.max_stale) return wrong("--max-stale", options.max_stale, "a whole number from 0");
  }
  if (!options.max_use.empty()) {
    out.max_use = number_in<double>(options.max_use, 0, 1);
    if (!out.max_use) return wrong("--max-use", options.max_use, "a part of the slots, from 0 to 1, such as 0.8");
  }
  return out;
}

/// How long the pipeline's newest successful runs took, and when the last of them ended.
Result<void> learn_of(store::Reader& reader, const std::string& pipeline, sim::ForecastWishes& wishes) {
  store::RunFilter filter;
  filter.pipeline = pipeline;
  filter.state = model::RunState::succeeded;
  const auto page = reader.runs(filter, kRunsLookedAt, "");
  if (!page) return page.error();
  std::vector<Micros> times;
  for (const model::Run& run : page->items) {
    const auto attempts = reader.attempts(run.id);
    if (!attempts) return attempts.error();
    if (attempts->empty() || !attempts->back().finished_at) continue;
    const Instant ended = *attempts->back().finished_at;
    times.push_back(std::max(ended - attempts->back().claimed_at, Micros(0)));
    Instant& newest = wishes.fresh.try_emplace(pipeline, ended).first->second;
    newest = std::max(newest, ended);
  }
  std::sort(times.begin(), times.end());
  if (!times.empty()) wishes.times[pipeline] = {std::move(times)};
  return {};
}

/// What the workspace's own history says; nothing where there is none.
Result<void> learn(const std::string& root, const workspace::Workspace& workspace, sim::ForecastWishes& wishes) {
  const wire::Layout layout{root};
  std::error_code failed;
  if (!std::filesystem::exists(layout.state_db(), failed)) return {};
  auto reader = store::open_sqlite_reader(layout.state_db());
  if (!reader) return reader.error();
  for (const auto& [name, loaded] : workspace.pipelines) {
    if (auto learned = learn_of(**reader, name, wishes); !learned) return learned;
  }
  const auto cursors = (*reader)->cursors();
  if (!cursors) return cursors.error();
  for (const model::Cursor& cursor : *cursors) wishes.paused[cursor.schedule] = cursor.paused;
  return {};
}

Result<std::shared_ptr<const workspace::Workspace>> load(Session& session, const std::string& root) {
  auto loaded = workspace::load_workspace(root);
  if (!loaded) return loaded.error();
  std::string errors;
  for (const workspace::Diagnostic& diagnostic : loaded->diagnostics) {
    if (diagnostic.severity == workspace::Severity::error) errors += "\n" + workspace::format(diagnostic);
  }
  if (!loaded->usable) return Error{ErrorCode::invalid, "this workspace can't be used:" + errors};
  if (!errors.empty()) session.say("what is wrong is left out:" + errors);
  return std::shared_ptr<const workspace::Workspace>(std::make_shared<workspace::Workspace>(std::move(*loaded)));
}

/// One forecast, with a line that says how far it is.
Result<sim::Forecast> look_ahead(Session& session, const std::shared_ptr<const workspace::Workspace>& workspace,
                                 sim::ForecastWishes wishes) {
  int shown = -1;
  if (session.error().terminal()) {
    wishes.progress = [&](double done) {
      const int percent = static_cast<int>(done * 100);
      if (percent == shown) return;
      shown = percent;
      session.error().print(fmt::format("\rsimulating {} … {} %", safe(workspace->root), percent));
    };
  }
  auto out = sim::forecast(workspace, wishes);
  if (shown >= 0) session.error().print("\r\x1b[K");
  return out;
}

/// What is over its limit. Beside another version the limits are about what is added to it.
std::vector<std::string> over_limits(const Wishes& wishes, const sim::Forecast& now, const sim::Forecast* then) {
  std::vector<std::string> out;
  const char* const more = then ? " more than there" : "";
  const std::int64_t skipped = now.without_run() - (then ? then->without_run() : 0);
  if (wishes.max_skipped && skipped > *wishes.max_skipped) {
    out.push_back(fmt::format("{} instants are not run{}; --max-skipped is {}", skipped, more, *wishes.max_skipped));
  }
  const Micros wait = now.longest_wait() - (then ? then->longest_wait() : Micros(0));
  if (wishes.max_wait && wait > *wishes.max_wait) {
    out.push_back(
        fmt::format("the longest wait is {}{}; --max-wait is {}", took(wait), more, format_duration(*wishes.max_wait)));
  }
  const auto [thing, part] = now.busiest();
  const double use = part - (then ? then->busiest().second : 0);
  if (wishes.max_use && use > *wishes.max_use) {
    out.push_back(fmt::format("{:.2f} of {} is in use in its busiest hour{}; --max-use is {}", use, name_of(thing),
                              more, *wishes.max_use));
  }
  const std::int64_t stale = now.stale() - (then ? then->stale() : 0);
  if (wishes.max_stale && stale > *wishes.max_stale) {
    out.push_back(
        fmt::format("data becomes too old {}{}; --max-stale is {}", counted(stale, "time"), more, *wishes.max_stale));
  }
  return out;
}

int report(Session& session, const Wishes& wishes, const sim::Forecast& now, const sim::Forecast* then) {
  const auto over = over_limits(wishes, now, then);
  const auto changes = then ? compare(now, *then) : std::vector<ForecastChange>();
  if (session.options.json) {
    json::object body = forecast_json(now);
    body["over_limits"] = json::value_from(over);
    if (then) {
      body["against"] = forecast_json(*then);
      body["changes"] = changes_json(changes);
    }
    session.print_json(json::serialize(body));
  } else if (then) {
    show_changes(session.out(), changes);
  } else {
    show_forecast(session.out(), now);
    session.note("nothing was executed; every run is taken to succeed");
  }
  for (const std::string& line : over) session.say(line);
  return over.empty() ? exit_done : exit_failed;
}

}  // namespace

int simulate(Session& session) {
  auto wishes = wishes_of(session);
  if (!wishes) return session.fail(wishes.error());
  const auto own = load(session, session.workspace);
  if (!own) return session.fail(own.error());
  if (auto learned = learn(session.workspace, **own, wishes->forecast); !learned) return session.fail(learned.error());
  // The engine's own log is about a server.
  log::set_level(log::Level::error);
  std::optional<sim::Forecast> then;
  if (!session.options.against.empty()) {
    const auto folder = std::filesystem::path(session.around.folder) / session.options.against;
    const auto other = load(session, folder.lexically_normal().string());
    if (!other) return session.fail(other.error());
    auto looked = look_ahead(session, *other, wishes->forecast);
    if (!looked) return session.fail(looked.error());
    then = std::move(*looked);
  }
  const auto now = look_ahead(session, *own, wishes->forecast);
  if (!now) return session.fail(now.error());
  return report(session, *wishes, *now, then ? &*then : nullptr);
}

}  // namespace eider::cli
