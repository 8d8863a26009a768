// What happened, as a clause for people. Pure.
#pragma once

#include <string>
#include <string_view>

#include "api/trace.h"
#include "engine/inbox.h"

namespace eider::api {

/// What an error says first; the rest of it is for whoever looks closer.
std::string first_line(const std::string& text);

/// What an entry of `waiting_for` is about: `pool heavy`, `a worker`; `kind name` where no word says it better.
std::string awaited(std::string_view kind, std::string_view name);

/// `raw.x 2026-03-29 (120 rows, unchanged)`
std::string in_words(const model::Materialization& event);

/// `run 0189… of b is queued: waits for pool heavy since …`. `live`: of a run that is open; null: not known.
/// `waiting_for`: of a pending delivery, why it has no run yet; empty: not known.
std::string in_words(const Link& link, const engine::LiveRun* live, const std::string& waiting_for);

}  // namespace eider::api
