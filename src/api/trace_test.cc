// The chain of causes, and what it says.
#include "api/trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/test_support.h"
#include "api/words.h"

namespace eider::api {
namespace {

std::string uuid(int number) { return fmt::format("01890a5d-0000-7000-8000-{:012}", number); }

/// A schedule, a run, its event, a delivery, the run for it.
void put_a_chain(FakeReader& reader) {
  model::Occurrence due;
  due.id = "0cc00000-0000-8000-8000-000000000001";
  due.schedule = "flights_daily/every_5s";
  due.pipeline = "flights_daily";
  due.scheduled_for = due.scheduled_until = at("2026-03-29T01:00:00Z");
  due.decision = model::Decision::run;
  due.reason = model::reason::due;
  due.run_id = kRunId;
  reader.put(due);
  model::Run first = a_run(kRunId, model::RunState::succeeded, 1);
  first.trigger = model::TriggerKind::schedule;
  first.trigger_id = due.schedule;
  reader.put(first);
  reader.put(an_event(kEventId, kRunId));
  model::Delivery delivery = a_delivery(kDeliveryId, kEventId, model::DeliveryState::claimed);
  delivery.run_id = kOtherRunId;
  reader.put(delivery);
  model::Run second = a_run(kOtherRunId, model::RunState::queued, 0);
  second.pipeline = "marts";
  second.trigger = model::TriggerKind::data;
  second.trigger_id = "marts/on_x";
  second.parent = kRunId;
  second.depth = 1;
  reader.put(second);
}

std::vector<std::string> ids_of(const Trace& trace) {
  std::vector<std::string> out;
  for (const Link& link : trace.links) out.push_back(id_of(link.thing));
  return out;
}

TEST(Trace, GoesBackToTheBeginningAndOnToWhatFollowed) {
  FakeReader reader;
  put_a_chain(reader);
  const std::vector<std::string> all{"0cc00000-0000-8000-8000-000000000001", kRunId, kEventId, kDeliveryId,
                                     kOtherRunId};
  const Trace last = *trace(reader, **reader.run(kOtherRunId));
  EXPECT_EQ(ids_of(last), all);
  EXPECT_EQ(last.links.back().part, Link::Part::asked);
  EXPECT_FALSE(last.truncated);
  const Trace first = *trace(reader, **reader.occurrence(all[0]));
  EXPECT_EQ(ids_of(first), all) << "from its beginning, all of it is effect";
  EXPECT_EQ(first.links[0].part, Link::Part::asked);
  EXPECT_EQ(first.links[4].level, 4);
  const Trace middle = *trace(reader, **reader.materialization(kEventId));
  EXPECT_EQ(ids_of(middle), all);
  EXPECT_EQ(middle.links[1].part, Link::Part::cause);
  EXPECT_EQ(middle.links[2].part, Link::Part::asked);
  EXPECT_EQ(middle.links[3].part, Link::Part::effect);
}

TEST(Trace, IsSaidInWords) {
  FakeReader reader;
  put_a_chain(reader);
  const Trace chain = *trace(reader, **reader.run(kOtherRunId));
  engine::LiveRun live;
  live.waiting_for = {{"pool", "heavy", "1 of 1 slots in use", at("2026-03-29T01:00:03Z")}};
  std::vector<std::string> texts;
  for (const Link& link : chain.links) texts.push_back(in_words(link, &live, ""));
  EXPECT_EQ(texts[0], "schedule flights_daily/every_5s was due");
  EXPECT_EQ(texts[1], fmt::format("run {} of flights_daily succeeded", kRunId));
  EXPECT_EQ(texts[2], "published raw.x (120 rows)");
  EXPECT_EQ(texts[3], fmt::format("delivery {} to marts/on_x is claimed", kDeliveryId));
  EXPECT_EQ(texts[4], fmt::format("run {} of marts is queued: waits for pool heavy (1 of 1 slots in use) since "
                                  "2026-03-29T01:00:03Z",
                                  kOtherRunId));
}

TEST(Trace, WhatCameFromOutsideIsItsOwnBeginning) {
  FakeReader reader;
  model::Materialization event = an_event(kEventId, "");
  event.source = model::Source::watched;
  event.said_by = "incoming";
  event.metadata = R"({"file":"incoming/a.csv","bytes":3})";
  event.rows.reset();
  const auto said = [](const model::Materialization& each) { return in_words(Link{each}, nullptr, ""); };
  EXPECT_EQ(said(event), "the file incoming/a.csv landed: raw.x");
  event.metadata.clear();
  EXPECT_EQ(said(event), "a file landed in incoming: raw.x");
  event.source = model::Source::reported;
  event.said_by = "api";
  event.partition = "2026-03-29";
  event.unchanged = true;
  EXPECT_EQ(said(event), "api reported from outside: raw.x 2026-03-29 (unchanged)");
  reader.put(event);
  EXPECT_EQ(trace(reader, event)->links.size(), 1u);
  event.id = uuid(1);
  event.run_id = kRunId;
  reader.put(a_run(kRunId, model::RunState::running, 1));
  EXPECT_EQ(ids_of(*trace(reader, event)), (std::vector<std::string>{kRunId, event.id})) << "a step said so";
  EXPECT_EQ(said(event), "a step reported raw.x 2026-03-29 (unchanged)");
}

TEST(Trace, ABatchFollowsItsNewestEventAndCountsTheOthers) {
  FakeReader reader;
  put_a_chain(reader);
  for (int i = 0; i < 4; ++i) {
    reader.put(an_event(uuid(100 + i), ""));
    model::Delivery more = a_delivery(uuid(200 + i), uuid(100 + i), model::DeliveryState::claimed);
    more.run_id = kOtherRunId;
    reader.put(more);
  }
  const Trace chain = *trace(reader, **reader.run(kOtherRunId));
  EXPECT_EQ(ids_of(chain), (std::vector<std::string>{uuid(103), uuid(203), kOtherRunId}));
  EXPECT_EQ(chain.links.back().others, 4u);
  EXPECT_NE(in_words(chain.links.back(), nullptr, "").find("made for this and 4 more events"), std::string::npos);
}

/// Each run publishes one event, for which the next one runs.
void put_a_long_chain(FakeReader& reader, int runs) {
  for (int i = 0; i < runs; ++i) {
    model::Run run = a_run(uuid(i), model::RunState::succeeded, 1);
    if (i > 0) run.trigger = model::TriggerKind::data;
    reader.put(run);
    if (i > 0) {
      model::Delivery delivery = a_delivery(uuid(2000 + i), uuid(1000 + i - 1), model::DeliveryState::delivered);
      delivery.run_id = run.id;
      reader.put(delivery);
    }
    reader.put(an_event(uuid(1000 + i), run.id));
  }
}

TEST(Trace, IsBoundedBothWays) {
  FakeReader reader;
  put_a_long_chain(reader, 60);
  const Trace back = *trace(reader, **reader.run(uuid(59)));
  EXPECT_TRUE(back.truncated);
  EXPECT_EQ(back.links.size(), kMostCauses + 2) << "and what was asked for, and what it published";
  EXPECT_EQ(back.links[kMostCauses].part, Link::Part::asked);
  const Trace on = *trace(reader, **reader.run(uuid(0)));
  EXPECT_FALSE(on.truncated);
  EXPECT_EQ(on.links.size(), kMostEffects + 1);
  EXPECT_TRUE(on.links.back().more);
}

TEST(Trace, AnEventOfManyTriggersShowsSomeAndSaysSo) {
  FakeReader reader;
  reader.put(an_event(kEventId, ""));
  model::Run shared = a_run(kRunId, model::RunState::running, 1);
  shared.trigger = model::TriggerKind::data;
  reader.put(shared);
  for (int i = 0; i < 50; ++i) {
    model::Delivery delivery = a_delivery(uuid(i), kEventId, model::DeliveryState::claimed);
    delivery.run_id = kRunId;
    reader.put(delivery);
  }
  const Trace chain = *trace(reader, **reader.materialization(kEventId));
  EXPECT_TRUE(chain.links[0].more);
  EXPECT_EQ(chain.links.size(), 1u + 2u * kMostEffectsOfOne);
  EXPECT_FALSE(chain.links[2].again);
  EXPECT_TRUE(chain.links[4].again) << "one run, told once";
  EXPECT_EQ(in_words(chain.links[4], nullptr, ""), fmt::format("run {} of flights_daily as above", kRunId));
}

TEST(Words, HowThingsEndedAndWhy) {
  model::Run run = a_run(kRunId, model::RunState::failed, 3);
  run.trigger = model::TriggerKind::schedule;
  run.partition = "2026-03-29";
  run.error = "step a: exit code 1\nmore";
  EXPECT_EQ(in_words(Link{run}, nullptr, ""),
            fmt::format("run {} of flights_daily for 2026-03-29 failed (attempt 3): step a: exit code 1", kRunId));
  run.state = model::RunState::cancelled;
  run.error.clear();
  run.reason = model::reason::replaced;
  EXPECT_NE(in_words(Link{run}, nullptr, "").find("was cancelled: a newer run"), std::string::npos);
  run.state = model::RunState::queued;
  run.not_before = at("2026-03-29T01:00:20Z");
  EXPECT_NE(in_words(Link{run}, nullptr, "").find("is queued, and not tried before 2026-03-29T01:00:20Z"),
            std::string::npos);
  model::Delivery delivery = a_delivery(kDeliveryId, kEventId, model::DeliveryState::pending);
  const auto said = [&](const char* waiting) { return in_words(Link{delivery}, nullptr, waiting).substr(49); };
  EXPECT_EQ(said("its run is open"), "marts/on_x is pending: its run is open") << in_words(Link{delivery}, nullptr, "");
  EXPECT_EQ(said(""), "marts/on_x is pending");
  delivery.state = model::DeliveryState::skipped;
  delivery.reason = model::reason::trigger_removed;
  EXPECT_EQ(said(""), "marts/on_x was skipped: the trigger was removed from the pipeline");
  delivery.state = model::DeliveryState::failed;
  delivery.error = "boom";
  EXPECT_EQ(said(""), "marts/on_x failed: boom");
  model::Occurrence missed;
  missed.schedule = "a/s";
  missed.count = 3;
  missed.scheduled_until = at("2026-03-29T01:00:20Z");
  missed.decision = model::Decision::paused;
  missed.reason = model::reason::paused;
  EXPECT_EQ(in_words(Link{missed}, nullptr, ""),
            "schedule a/s was due at 3 instants up to 2026-03-29T01:00:20Z, and paused: the schedule was paused");
  model::Occurrence excluded;
  excluded.schedule = "a/s";
  excluded.decision = model::Decision::excluded;
  excluded.reason = model::reason::excluded_by_calendar;
  excluded.calendar = "holidays";
  EXPECT_EQ(in_words(Link{excluded}, nullptr, ""), "schedule a/s was due, and excluded by holidays: " +
                                                       model::reason_sentence(model::reason::excluded_by_calendar));
}

}  // namespace
}  // namespace eider::api
