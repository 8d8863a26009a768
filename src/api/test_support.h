// What the tests of this module share: a reader over vectors, a folder that goes away.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/offline.h"
#include "base/check.h"
#include "base/test_folder.h"

namespace eider::api {

inline constexpr const char* kRunId = "01890a5d-ac96-774b-bcce-b302099a8057";
inline constexpr const char* kOtherRunId = "01890a5d-ac96-774b-bcce-b302099a8058";

inline Instant at(const char* text) { return *parse_rfc3339(text); }

inline model::Run a_run(const std::string& id, model::RunState state, int attempt) {
  model::Run run;
  run.id = id;
  run.pipeline = "flights_daily";
  run.state = state;
  run.attempt = attempt;
  run.created_at = at("2026-03-29T01:00:00Z");
  run.not_before = run.created_at;
  return run;
}

inline constexpr const char* kEventId = "5f0c3a9e-77d1-8e21-9b1a-000000000001";
inline constexpr const char* kDeliveryId = "2b1e9d40-0a7c-8c55-9b1a-000000000001";

/// 120 rows of raw.x, published by a run.
inline model::Materialization an_event(const std::string& id, const std::string& run_id) {
  model::Materialization event;
  event.id = id;
  event.asset = "raw.x";
  event.pipeline = "flights_daily";
  event.run_id = run_id;
  event.attempt = 1;
  event.committed_at = at("2026-03-29T01:00:02Z");
  event.rows = 120;
  return event;
}

inline model::Delivery a_delivery(const std::string& id, const std::string& event_id, model::DeliveryState state) {
  model::Delivery delivery;
  delivery.id = id;
  delivery.trigger = "marts/on_x";
  delivery.pipeline = "marts";
  delivery.event = 1;
  delivery.event_id = event_id;
  delivery.asset = "raw.x";
  delivery.state = state;
  delivery.created_at = at("2026-03-29T01:00:02Z");
  return delivery;
}

/// What a test puts in is what a handler finds. Any thread: a test changes it while the API thread reads.
class FakeReader final : public store::Reader {
 public:
  void put(const model::Run& run) {
    const std::lock_guard hold(mutex_);
    for (model::Run& each : runs_) {
      if (each.id == run.id) {
        each = run;
        return;
      }
    }
    runs_.push_back(run);
  }
  void put(const model::Attempt& attempt) {
    const std::lock_guard hold(mutex_);
    attempts_.push_back(attempt);
  }
  void put(const model::Occurrence& occurrence) {
    const std::lock_guard hold(mutex_);
    occurrences_.push_back(occurrence);
  }
  /// Gets the next number, as the store gives it.
  void put(model::Materialization event) {
    const std::lock_guard hold(mutex_);
    event.number = static_cast<std::int64_t>(events_.size()) + 1;
    events_.push_back(std::move(event));
  }
  void put(const model::Delivery& delivery) {
    const std::lock_guard hold(mutex_);
    deliveries_.push_back(delivery);
  }

  Result<store::Page<model::Run>> runs(const store::RunFilter& filter, int limit, const std::string& cursor) override {
    const std::lock_guard hold(mutex_);
    if (!cursor.empty() && cursor != "page2")
      return Error{ErrorCode::invalid, "not a cursor of this list: expected the `next` of a page"};
    store::Page<model::Run> page;
    for (const model::Run& run : runs_) {
      if ((filter.pipeline && run.pipeline != *filter.pipeline) || (filter.state && run.state != *filter.state) ||
          (filter.open_only && model::is_terminal(run.state)))
        continue;
      if (static_cast<int>(page.items.size()) == limit)
        page.next = "page2";
      else
        page.items.push_back(run);
    }
    return page;
  }
  Result<std::optional<model::Run>> run(const std::string& id) override {
    const std::lock_guard hold(mutex_);
    for (const model::Run& run : runs_) {
      if (run.id == id) return std::optional(run);
    }
    return std::optional<model::Run>();
  }
  Result<std::vector<std::string>> run_ids(const std::string& prefix) override {
    const std::lock_guard hold(mutex_);
    std::vector<std::string> out;
    for (const model::Run& run : runs_) {
      if (run.id.starts_with(prefix) && out.size() < 2) out.push_back(run.id);
    }
    return out;
  }
  Result<std::vector<model::Attempt>> attempts(const std::string& run_id) override {
    const std::lock_guard hold(mutex_);
    std::vector<model::Attempt> out;
    for (const model::Attempt& attempt : attempts_) {
      if (attempt.run_id == run_id) out.push_back(attempt);
    }
    return out;
  }
  Result<store::Page<model::Occurrence>> occurrences(const store::OccurrenceFilter& filter, int limit,
                                                     const std::string&) override {
    const std::lock_guard hold(mutex_);
    store::Page<model::Occurrence> page;
    for (const model::Occurrence& occurrence : occurrences_) {
      if (filter.schedule && occurrence.schedule != *filter.schedule && occurrence.pipeline != *filter.schedule)
        continue;
      if (filter.decision && occurrence.decision != *filter.decision) continue;
      if (static_cast<int>(page.items.size()) < limit) page.items.push_back(occurrence);
    }
    return page;
  }
  Result<std::vector<model::Cursor>> cursors() override { return std::vector<model::Cursor>{}; }
  Result<std::optional<model::Cursor>> cursor(const std::string&) override { return std::optional<model::Cursor>{}; }
  Result<std::optional<std::string>> definition(const std::string&) override { return std::optional<std::string>{}; }
  Result<std::vector<model::Attempt>> live_attempts() override {
    const std::lock_guard hold(mutex_);
    std::vector<model::Attempt> out;
    for (const model::Attempt& attempt : attempts_) {
      if (!attempt.outcome) out.push_back(attempt);
    }
    return out;
  }
  Result<store::Page<model::Materialization>> materializations(const store::MaterializationFilter& filter, int limit,
                                                               const std::string& cursor) override {
    const std::lock_guard hold(mutex_);
    return newest_first(events_, limit, cursor, [&](const model::Materialization& event) {
      return (!filter.asset || event.asset == *filter.asset) &&
             (!filter.pipeline || event.pipeline == *filter.pipeline) &&
             (!filter.run_id || event.run_id == *filter.run_id);
    });
  }
  Result<std::optional<model::Materialization>> materialization(const std::string& id) override {
    const std::lock_guard hold(mutex_);
    return found(events_, [&](const model::Materialization& event) { return event.id == id; });
  }
  Result<std::optional<model::Materialization>> newest_of(const std::string& asset) override {
    const std::lock_guard hold(mutex_);
    return found(events_, [&](const model::Materialization& event) { return event.asset == asset; });
  }
  Result<std::vector<std::string>> materialized_assets() override {
    const std::lock_guard hold(mutex_);
    std::set<std::string> names;
    for (const model::Materialization& event : events_) names.insert(event.asset);
    return std::vector<std::string>(names.begin(), names.end());
  }
  Result<store::Page<model::Delivery>> deliveries(const store::DeliveryFilter& filter, int limit,
                                                  const std::string& cursor) override {
    const std::lock_guard hold(mutex_);
    return newest_first(deliveries_, limit, cursor, [&](const model::Delivery& delivery) {
      return (!filter.trigger || delivery.trigger == *filter.trigger) &&
             (!filter.pipeline || delivery.pipeline == *filter.pipeline) &&
             (!filter.event_id || delivery.event_id == *filter.event_id) &&
             (!filter.run_id || delivery.run_id == *filter.run_id) &&
             (!filter.state || delivery.state == *filter.state);
    });
  }
  Result<std::optional<model::Delivery>> delivery(const std::string& id) override {
    const std::lock_guard hold(mutex_);
    return found(deliveries_, [&](const model::Delivery& delivery) { return delivery.id == id; });
  }
  Result<std::optional<model::Occurrence>> occurrence_of_run(const std::string& run_id) override {
    const std::lock_guard hold(mutex_);
    return found(occurrences_, [&](const model::Occurrence& each) {
      return each.run_id == run_id && each.decision == model::Decision::run;
    });
  }
  Result<std::optional<model::Occurrence>> occurrence(const std::string& id) override {
    const std::lock_guard hold(mutex_);
    return found(occurrences_, [&](const model::Occurrence& each) { return each.id == id; });
  }
  Result<std::vector<Named>> ids(const std::string& prefix) override {
    const std::lock_guard hold(mutex_);
    std::vector<Named> out;
    const auto add = [&](Named::Kind kind, const auto& rows) {
      int count = 0;
      for (const auto& row : rows) {
        if (row.id.starts_with(prefix) && count++ < 2) out.push_back({kind, row.id});
      }
    };
    add(Named::Kind::materialization, events_);
    add(Named::Kind::delivery, deliveries_);
    add(Named::Kind::occurrence, occurrences_);
    return out;
  }
  Result<std::vector<std::pair<std::string, std::int64_t>>> pending_counts() override {
    const std::lock_guard hold(mutex_);
    std::map<std::string, std::int64_t> counts;
    for (const model::Delivery& delivery : deliveries_) {
      if (delivery.state == model::DeliveryState::pending) ++counts[delivery.trigger];
    }
    return std::vector<std::pair<std::string, std::int64_t>>(counts.begin(), counts.end());
  }

 private:
  /// The cursor is the number of rows that stand before the page.
  template <typename T, typename Wanted>
  static Result<store::Page<T>> newest_first(const std::vector<T>& rows, int limit, const std::string& cursor,
                                             const Wanted& wanted) {
    std::size_t skip = cursor.empty() ? 0 : std::stoul(cursor);
    const std::size_t before = skip;
    store::Page<T> page;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      if (!wanted(*row)) continue;
      if (skip > 0) {
        --skip;
      } else if (static_cast<int>(page.items.size()) == limit) {
        page.next = std::to_string(before + page.items.size());
        break;
      } else {
        page.items.push_back(*row);
      }
    }
    return page;
  }
  template <typename T, typename Wanted>
  static Result<std::optional<T>> found(const std::vector<T>& rows, const Wanted& wanted) {
    const auto row = std::find_if(rows.rbegin(), rows.rend(), wanted);
    return row == rows.rend() ? std::optional<T>() : std::optional<T>(*row);
  }

  std::mutex mutex_;
  std::vector<model::Materialization> events_;
  std::vector<model::Delivery> deliveries_;
  std::vector<model::Run> runs_;
  std::vector<model::Attempt> attempts_;
  std::vector<model::Occurrence> occurrences_;
};

}  // namespace eider::api
