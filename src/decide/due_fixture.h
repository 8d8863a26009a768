// One schedule with its facts, for tests to bend.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "decide/due.h"
#include "workspace/rule.h"

namespace eider::decide {

inline Instant at(const char* text) { return parse_rfc3339(text).value(); }

struct Case {
  model::Pipeline pipeline;
  model::Cursor cursor;
  std::vector<ActiveRun> active;
  std::vector<Instant> ran;
  std::optional<model::Occurrence> excluded_before;
  timing::Calendars calendars;
  std::string key = "p/s";
  int room = 1000;
  int made = 0;

  explicit Case(const std::string& cron = "* * * * *") {
    pipeline.name = "p";
    pipeline.schedules.resize(1);
    schedule().id = "s";
    schedule().timing.cron = cron;
  }
  model::Schedule& schedule() { return pipeline.schedules[0]; }
  timing::Rule rule() { return workspace::make_rule(schedule().timing).value(); }
  void add_calendar(const std::string& name, const timing::Calendar& calendar) {
    calendars[name] = std::make_shared<const timing::Calendar>(calendar);
  }

  /// Calls `with` with the facts as they are now.
  template <typename Use>
  auto ask(const Use& with) {
    const timing::Rule made_rule = rule();
    const auto exclusions = workspace::make_exclusions(schedule(), calendars, made_rule.zone()).value();
    DueFacts facts{
        key, pipeline, schedule(), made_rule, *exclusions, cursor, active, room, jitter_delay(key, schedule().jitter),
        ran};
    if (excluded_before) facts.excluded_before = &*excluded_before;
    return with(facts);
  }
  std::function<std::string()> ids() {
    return [this] { return "run" + std::to_string(++made); };
  }
  std::vector<DueDecision> decide(Instant now, int limit = 500) {
    return ask([&](const DueFacts& facts) { return decide_due(facts, now, limit, ids()); });
  }
  Result<std::vector<DueDecision>> resume(Instant now, model::Misfire catch_up, int most = 500) {
    return ask([&](const DueFacts& facts) { return decide_resume(facts, now, catch_up, most, ids()); });
  }
  std::optional<Instant> next() {
    return ask([](const DueFacts& facts) { return next_due(facts); });
  }
};

struct Told {
  std::int64_t runs = 0, skipped = 0, missed = 0, coalesced = 0, excluded = 0, paused = 0, rows = 0;
};
inline Told told(const std::vector<DueDecision>& decisions) {
  Told sum;
  std::int64_t* const by_decision[] = {&sum.runs,      &sum.skipped,  &sum.missed,
                                       &sum.coalesced, &sum.excluded, &sum.paused};
  for (const DueDecision& decision : decisions) {
    for (const model::Occurrence& o : decision.occurrences) {
      ++sum.rows;
      *by_decision[static_cast<std::size_t>(o.decision)] += o.count;
    }
  }
  return sum;
}

inline timing::Calendar weekend() { return {std::nullopt, std::uint8_t{0b1000001}, std::nullopt, std::nullopt}; }
inline timing::Calendar nights() {
  return {std::nullopt, std::nullopt, std::vector<timing::DayHours>{{22 * 60, 6 * 60}}, std::nullopt};
}
inline timing::Calendar nothing() { return {std::nullopt, std::nullopt, std::nullopt, std::nullopt}; }

}  // namespace eider::decide
