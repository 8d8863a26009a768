// What the tests of this module share: a reader over vectors, a folder that goes away.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <mutex>
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

 private:
  std::mutex mutex_;
  std::vector<model::Run> runs_;
  std::vector<model::Attempt> attempts_;
  std::vector<model::Occurrence> occurrences_;
};

}  // namespace eider::api
