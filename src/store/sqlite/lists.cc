// The lists of runs and of occurrences. Each filter is answered by a walk backwards along an index that ends in the
// order of the list, or by a merge of a few such walks (one a state, one a decision): a page costs what it holds.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "store/sqlite/lists.h"
#include "store/sqlite/queries.h"
#include "store/sqlite/rows.h"

namespace eider::store::sqlite {
std::string merged(const std::vector<std::string>& arms, std::string_view order) {
  return fmt::format("{} ORDER BY {} LIMIT ?{}", fmt::join(arms, " UNION ALL "), order,
                     order.find(',') == order.npos ? 2 : 3);
}

std::string runs_sql(const RunFilter& filter) {
  const auto arm = [](const char* index, std::string_view where) {
    return fmt::format("SELECT {} FROM runs INDEXED BY {} WHERE {} AND seq < ?1", run_columns, index, where);
  };
  if (!filter.pipeline && !filter.state && !filter.open_only) {
    return fmt::format("SELECT {} FROM runs WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2", run_columns);
  }
  const char* of_pipeline = filter.pipeline ? " AND pipeline = ?3" : "";
  const auto wanted = [&filter](model::RunState state) {
    return (!filter.state || state == *filter.state) && (!filter.open_only || !model::is_terminal(state));
  };
  // A walk over what is open passes over other pipelines: they are few beside the history.
  const auto arm_of = [&](model::RunState state) {
    const bool ended = model::is_terminal(state);
    const char* index = !ended ? "runs_open" : filter.pipeline ? "runs_ended_by_pipeline" : "runs_ended_by_state";
    return arm(index, fmt::format("finished_at IS {}NULL AND state = {}{}", ended ? "NOT " : "",
                                  static_cast<int>(state), of_pipeline));
  };
  std::vector<std::string> arms;
  for (const auto state : {model::RunState::queued, model::RunState::running, model::RunState::succeeded,
                           model::RunState::failed, model::RunState::cancelled}) {
    if (wanted(state)) arms.push_back(arm_of(state));
  }
  // Ended and open at once: nothing is.
  if (arms.empty()) return fmt::format("SELECT {} FROM runs WHERE 0 AND seq < ?1{} LIMIT ?2", run_columns, of_pipeline);
  return merged(arms, "seq DESC");
}

std::string occurrences_sql(const OccurrenceFilter& filter) {
  constexpr const char* page = "(scheduled_for, seq) < (?1, ?2)";
  const bool one_schedule = filter.schedule && filter.schedule->find('/') != std::string::npos;
  if (one_schedule && !filter.decision) {
    return merged({fmt::format("SELECT {} FROM occurrences INDEXED BY occurrences_instant WHERE schedule = ?4 AND {}",
                               occurrence_columns, page)},
                  "scheduled_for DESC, seq DESC");
  }
  const char* index = !filter.schedule ? "occurrences_by_decision"
                      : one_schedule   ? "occurrences_by_schedule"
                                       : "occurrences_by_pipeline";
  const char* owner = !filter.schedule ? "" : one_schedule ? "schedule = ?4 AND " : "pipeline = ?4 AND ";
  std::vector<std::string> arms;
  for (int decision = 0; decision <= static_cast<int>(model::Decision::paused); ++decision) {
    if (filter.decision && static_cast<int>(*filter.decision) != decision) continue;
    arms.push_back(fmt::format("SELECT {} FROM occurrences INDEXED BY {} WHERE {}decision = {} AND {}",
                               occurrence_columns, index, owner, decision, page));
  }
  return merged(arms, "scheduled_for DESC, seq DESC");
}

}  // namespace eider::store::sqlite
