// The state machines of a run and of a delivery (design section 5): one table each, (state, event) -> (state, effects).
// Pure. The store guards each update with the state the table expects; docs/lifecycle.md shows the same arrows.
#pragma once

#include <optional>
#include <string_view>

#include "model/asset.h"
#include "model/run.h"

namespace eider::model {

enum class RunEvent {
  claim,      ///< admission found everything free
  succeed,    ///< the current attempt's result says so
  fail,       ///< failed, timed out or crashed, no attempts left
  retry,      ///< failed, timed out or crashed, attempts left: queued again with not_before
  interrupt,  ///< its server and the attempt are gone: queued again without delay
  release,    ///< a file was held from outside before anything ran: queued again, nothing counted
  cancel,     ///< a person, a replacement, an expiry or a removed pipeline ends it
  restart,    ///< a person's retry of an ended run
};
inline constexpr RunEvent all_run_events[] = {RunEvent::claim,  RunEvent::succeed,   RunEvent::fail,
                                              RunEvent::retry,  RunEvent::interrupt, RunEvent::release,
                                              RunEvent::cancel, RunEvent::restart};
const char* to_text(RunEvent event);

struct Transition {
  RunState to;
  bool opens_attempt = false;   ///< a new attempt number: the fence moves
  bool closes_attempt = false;  ///< the live attempt gets its outcome and frees what it took
  bool counts_failure = false;
  bool counts_interruption = false;
  bool sets_finished = false;
};

/// None: the pair is impossible; who asks for it must leave the run as it is.
std::optional<Transition> next(RunState state, RunEvent event);

enum class DeliveryEvent {
  claim,    ///< a run was made for it
  deliver,  ///< its run succeeded
  fail,     ///< its run failed, or was cancelled
  skip,     ///< nobody will run for it: a person, or its trigger is gone
  retry,    ///< a person's: its run is queued again
};
inline constexpr DeliveryEvent all_delivery_events[] = {DeliveryEvent::claim, DeliveryEvent::deliver,
                                                        DeliveryEvent::fail, DeliveryEvent::skip, DeliveryEvent::retry};
const char* to_text(DeliveryEvent event);
/// None: the pair is impossible.
std::optional<DeliveryState> next(DeliveryState state, DeliveryEvent event);
/// What the end of a run is to the deliveries it was made for. `ended` is terminal.
DeliveryEvent delivery_event_of(RunState ended);

}  // namespace eider::model
