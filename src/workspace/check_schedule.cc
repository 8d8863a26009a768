// The checks of one schedule (assemble.h). Pairs that contradict each other are refused, with a day on which it would
// have gone wrong.
#include <tuple>

#include <fmt/format.h>

#include "model/run.h"
#include "timing/interval.h"
#include "timing/rule.h"
#include "workspace/assemble.h"
#include "workspace/words.h"

namespace eider::workspace {
namespace {

using model::Misfire;
using model::Overlap;
using model::Schedule;
using timing::Exclusions;
using timing::Rule;

// From here on the firings of a rule are looked at: checks say the same whenever they are made.
constexpr Instant kSample = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
constexpr int kSampled = 400;

class ScheduleChecker {
 public:
  ScheduleChecker(const model::Pipeline& pipeline, std::size_t index, const Surroundings& around)
      : max_active_runs_(pipeline.max_active_runs),
        schedule_(pipeline.schedules[index]),
        index_(index),
        around_(around),
        rule_(rule_of(schedule_.timing)) {}

  void all() {
    timing();
    misfire();
    const bool known = calendars("exclude", schedule_.exclude) && calendars("only", schedule_.only);
    if (bounds() && rule_ && known) exclusions();
    if (rule_) jitter();
    without_effect();
  }

 private:
  std::string key(std::string_view name) const { return fmt::format("schedules[{}].{}", index_, name); }
  Mark mark_of(const std::string& key) const { return around_.complaints.full() ? Mark{} : locate(around_.root, key); }
  void complain(const std::string& key, std::string message, std::string suggestion = "") {
    around_.complaints.add(Severity::error, mark_of(key), key, std::move(message), std::move(suggestion));
  }
  void warn(const std::string& key, std::string message) {
    around_.complaints.add(Severity::warning, mark_of(key), key, std::move(message));
  }

  /// What can't be read is complained about where it is read.
  static std::optional<Rule> rule_of(const model::Timing& timing) {
    const auto zone = timing::Zone::load(timing.timezone);
    if (!zone) return std::nullopt;
    if (timing.at) return Rule::at(*timing.at, *zone);
    if (timing.every) {
      const auto interval =
          timing::Interval::make(*timing.every, timing.anchor.value_or(timing::Interval::default_anchor(*zone)));
      return interval ? std::optional(Rule::every(*interval, *zone)) : std::nullopt;
    }
    if (timing.cron.empty()) return std::nullopt;
    const auto cron = timing::Cron::parse(timing.cron);
    return cron ? std::optional(Rule::cron(*cron, *zone)) : std::nullopt;
  }

  const char* rule_key() const { return schedule_.timing.at ? "at" : schedule_.timing.every ? "every" : "cron"; }

  std::string shown_at(Instant at) const { return rule_->zone().format(at); }

  void timing() {
    const model::Timing& timing = schedule_.timing;
    if (timing.from_completion && !timing.every) {
      complain(key("from"), "goes with every only: it says from when the interval counts");
    }
    if (timing.anchor && !timing.every) {
      complain(key("anchor"), "goes with every only: it says where the interval's series begins");
    }
    if (timing.every && timing.anchor) {
      const auto interval = timing::Interval::make(*timing.every, *timing.anchor);
      if (!interval) complain(key("anchor"), interval.error().message);
    }
    if (timing.at && (*timing.at < timing::kFirstInstant || *timing.at >= timing::kEndInstant)) {
      complain(key("at"), fmt::format("{} is not in the years {} to {}", format_rfc3339(*timing.at), timing::kFirstYear,
                                      timing::kLastYear));
    }
  }

  void misfire() {
    if (schedule_.misfire != Misfire::all || schedule_.overlap == Overlap::queue) return;
    complain(key("misfire"),
             fmt::format("all needs overlap: queue. Say that a run is due at 02:30 each day and the server "
                         "is down from 2026-03-02 to 2026-03-04: {}. Write overlap: queue, or misfire: latest",
                         what_would_happen(schedule_.overlap)));
  }

  static std::string_view what_would_happen(Overlap overlap) {
    switch (overlap) {
      case Overlap::skip:
        return "the run for 2026-03-02 would start, and those for 03-03 and 03-04 be skipped while it is active";
      case Overlap::replace:
        return "the run for 2026-03-02 would be cancelled by that for 03-03, and that by the one for 03-04";
      case Overlap::allow:
        return "the runs for 2026-03-02, 03-03 and 03-04 would all start at once, not one after the other";
      case Overlap::queue:
        break;
    }
    return "";
  }

  /// False: one of them is not there.
  bool calendars(std::string_view list, const std::vector<std::string>& names) {
    bool good = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (around_.calendars.contains(names[i])) continue;
      good = false;
      const std::string where = fmt::format("{}[{}]", key(list), i);
      if (const auto broken = around_.broken_calendars.find(names[i]); broken != around_.broken_calendars.end()) {
        complain(where, fmt::format("the calendar \"{}\" is not loaded: {} is wrong", names[i], broken->second));
        continue;
      }
      std::vector<std::string_view> known;
      for (const auto& [name, calendar] : around_.calendars) known.push_back(name);
      complain(where,
               fmt::format("there is no calendar \"{}\"; it would be in calendars/{}.yaml", shown(names[i]),
                           shown(names[i])),
               std::string(closest(names[i], known)));
    }
    return good;
  }

  /// False: they contradict each other, or `at`.
  bool bounds() {
    const auto& start = schedule_.start;
    const auto& end = schedule_.end;
    const auto& at = schedule_.timing.at;
    if (start && end && *end < *start) {
      complain(key("end"), fmt::format("{} lies before start ({}): the schedule would be over before it begins",
                                       format_rfc3339(*end), format_rfc3339(*start)));
      return false;
    }
    for (const auto& [bound, name, wrong] : {std::tuple(start, "before start", at && start && *at < *start),
                                             std::tuple(end, "after end", at && end && *at > *end)}) {
      if (!wrong) continue;
      complain(key("at"),
               fmt::format("{} lies {} ({}): it could never run", format_rfc3339(*at), name, format_rfc3339(*bound)));
      return false;
    }
    return true;
  }

  /// Whether anything is left of its instants.
  void exclusions() {
    const std::string only_key = key(schedule_.only.empty() ? "exclude" : "only");
    const auto both = std::find_first_of(schedule_.only.begin(), schedule_.only.end(), schedule_.exclude.begin(),
                                         schedule_.exclude.end());
    if (both != schedule_.only.end() && schedule_.only.size() == 1) {
      return complain(only_key, fmt::format("\"{}\" is excluded as well, so that nothing is left: {}", *both,
                                            example(*around_.calendars.find(*both)->second)));
    }
    const Exclusions exclusions(schedule_.start, schedule_.end, named(schedule_.exclude), named(schedule_.only),
                                rule_->zone());
    if (!around_.now) return;
    const Exclusions::Found next = exclusions.next(*rule_, *around_.now);
    if (next.at) return;
    const auto without = Exclusions(schedule_.start, schedule_.end, {}, {}, rule_->zone()).next(*rule_, *around_.now);
    if (!without.at && !without.unknown) {
      const bool ended = rule_->next(*around_.now).has_value();
      return warn(key(ended ? "end" : rule_key()), "lies in the past: the schedule is never due again");
    }
    const Exclusion why = exclusions.at(*without.at).why;
    warn(only_key, fmt::format("nothing is left of its instants: {} {} \"{}\", and so is it {}", shown_at(*without.at),
                               why.kind == Exclusion::Kind::not_in ? "is not in" : "is excluded by", why.by,
                               next.unknown ? "as far as is looked ahead" : "with all that follow"));
  }
  using Exclusion = timing::Exclusion;

  /// An instant of the schedule that both lists name; of a calendar without one, the rule's first.
  std::string example(const timing::Calendar& calendar) const {
    auto at = rule_->next(kSample);
    for (int i = 0; at && i < kSampled; ++i) {
      const timing::Piece piece = calendar.piece(*at, rule_->zone());
      if (piece.in)
        return fmt::format("{} lies in it, and is excluded; {} does not, and is no instant of only", shown_at(*at),
                           shown_at(piece.end));
      at = rule_->next(piece.end - Micros(1));
    }
    return "what lies in it is excluded, and what does not is no instant of only";
  }

  std::vector<timing::NamedCalendar> named(const std::vector<std::string>& names) const {
    std::vector<timing::NamedCalendar> out;
    for (const std::string& name : names) out.push_back({name, around_.calendars.find(name)->second});
    return out;
  }

  /// An instant that is due only after the next one has come can't be told from a late one.
  void jitter() {
    if (schedule_.jitter == Micros(0)) return;
    auto before = rule_->next(kSample);
    for (int i = 0; before && i < kSampled; ++i) {
      const auto next = rule_->next(*before);
      if (!next) return;
      if (*next - *before <= schedule_.jitter) {
        return complain(key("jitter"), fmt::format("{} is not shorter than the time between two instants: that of {} "
                                                   "may be due at {}, when that of {} has come already",
                                                   format_duration(schedule_.jitter), shown_at(*before),
                                                   shown_at(*before + schedule_.jitter), shown_at(*next)));
      }
      before = next;
    }
  }

  void without_effect() {
    const Schedule usual;
    if (schedule_.overlap != Overlap::queue && schedule_.queue_limit != usual.queue_limit) {
      warn(key("queue_limit"), "has no effect without overlap: queue");
    } else if (max_active_runs_ == 0 && schedule_.queue_limit != usual.queue_limit) {
      warn(key("queue_limit"), "has no effect with max_active_runs: 0, which lets every instant wait");
    }
    if (!schedule_.note.empty() && !schedule_.paused) warn(key("note"), "has no effect without paused: true");
    if (schedule_.timing.at && schedule_.pause_after_failures > 1) {
      warn(key("pause_after_failures"), "has no effect with at: it runs once");
    }
    if (schedule_.misfire == Misfire::all) {
      if (schedule_.timing.from_completion) {
        warn(key("misfire"), "all is the same as latest with from: completion, which owes one run however late it is");
      }
      return;
    }
    if (schedule_.max_catchup != usual.max_catchup) warn(key("max_catchup"), "has no effect without misfire: all");
    if (schedule_.catchup_window != usual.catchup_window) {
      warn(key("catchup_window"), "has no effect without misfire: all");
    }
  }

  const int max_active_runs_;
  const Schedule& schedule_;
  const std::size_t index_;
  const Surroundings& around_;
  const std::optional<Rule> rule_;
};

}  // namespace

void check_schedule(const model::Pipeline& pipeline, std::size_t index, const Surroundings& around) {
  ScheduleChecker(pipeline, index, around).all();
}

}  // namespace eider::workspace
