// Values as the API and `--json` show them: the shapes of section 9 of the design, names fixed. Absent is null, times
// are RFC 3339 in UTC. One function a shape; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "engine/inbox.h"
#include "model/pipeline.h"
#include "model/run.h"

namespace eider::api::shapes {

namespace json = boost::json;

json::object attempt(const model::Attempt& attempt);
/// `attempts` oldest first. `live` adds what memory knows: waiting_for, worker.
json::object run(const model::Run& run, const std::vector<model::Attempt>& attempts, const engine::LiveRun* live);
/// run(), with `steps` of the newest attempt (ended and running ones, each with its progress), and `progress` of the
/// whole: the mean over the definition's steps. `definition`: of the newest attempt; null: not known.
json::object run_in_full(const model::Run& run, const std::vector<model::Attempt>& attempts,
                         const engine::LiveRun* live, const model::Pipeline* definition);
json::object occurrence(const model::Occurrence& occurrence);
/// `last` is the newest occurrence that has been decided.
json::object schedule(const engine::ScheduleView& view, const std::optional<model::Occurrence>& last);
json::object cursor(const model::Cursor& cursor);
/// An instant of a preview, rendered in its zone as an occurrence is.
json::object preview(Instant at, std::string_view timezone, std::chrono::seconds offset, bool shifted);
json::object pool(const engine::PoolUse& use);
json::object pipeline(const engine::PipelineView& view);
json::object status(const engine::StatusView& view);
/// What is wrong with a file, in parts; `text` is all of it in one line.
json::object diagnostic(const workspace::Diagnostic& diagnostic);
json::array diagnostics(const std::vector<workspace::Diagnostic>& list);
/// `{"items": […], "next": cursor or null}`
json::object list(json::array items, const std::optional<std::string>& next);

/// The rule as it is written: `30 2 * * *`, `every 5s`, `at 2026-03-29T01:00:00Z`.
std::string rule_text(const model::Timing& timing);
/// `+02:00`; seconds of an offset are cut.
std::string offset_text(std::chrono::seconds offset);

/// A log line `{at, step, stream, text, raw?}`: is it of this step? What is no such line is of no step.
bool log_line_is_of(std::string_view line, std::string_view step);
/// The bytes that the step wrote, with their line end; empty for Eider's own notes and for other steps than `step`
/// (empty: all).
std::string raw_log_bytes(std::string_view line, std::string_view step);

}  // namespace eider::api::shapes
