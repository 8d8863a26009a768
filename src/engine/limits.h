// The loop's own bounds (I9). What a person may set is in model::Settings.
#pragma once

#include "base/time.h"

namespace eider::engine::limits {

inline constexpr int decisions_per_turn = 500;
inline constexpr int queued_runs = 200'000;         ///< of the server; more is refused
inline constexpr int deliveries_per_command = 500;  ///< that one retry or skip changes
inline constexpr int runs_passed_over = 1000;       ///< open and cancelled ones, by who counts failures in a row
inline constexpr int replayed_per_turn = 200;       ///< events of the past, `start: earliest`
/// Metadata of events that a run is told of; beyond it the events come without. A frame to a worker holds 64 MiB.
inline constexpr std::int64_t metadata_of_a_run_bytes = 16LL * 1024 * 1024;
inline constexpr Micros store_retry = std::chrono::milliseconds(100);  ///< while the store is locked or full
inline constexpr Micros hold_after_error = std::chrono::seconds(5);    ///< a schedule whose decision the store refused
inline constexpr Micros clock_step = std::chrono::milliseconds(500);   ///< what is less is slewing

}  // namespace eider::engine::limits
