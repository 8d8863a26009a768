#include "model/transitions.h"

#include "base/check.h"

namespace eider::model {
namespace {

struct Row {
  RunState from;
  RunEvent event;
  Transition transition;
};

// clang-format off
constexpr Row table[] = {
    // from                event                  to                   opens  closes fail   interr finished
    {RunState::queued,    RunEvent::claim,     {RunState::running,   true,  false, false, false, false}},
    {RunState::queued,    RunEvent::cancel,    {RunState::cancelled, false, false, false, false, true}},
    {RunState::running,   RunEvent::succeed,   {RunState::succeeded, false, true,  false, false, true}},
    {RunState::running,   RunEvent::fail,      {RunState::failed,    false, true,  true,  false, true}},
    {RunState::running,   RunEvent::retry,     {RunState::queued,    false, true,  true,  false, false}},
    {RunState::running,   RunEvent::interrupt, {RunState::queued,    false, true,  false, true,  false}},
    {RunState::running,   RunEvent::release,   {RunState::queued,    false, true,  false, false, false}},
    {RunState::running,   RunEvent::cancel,    {RunState::cancelled, false, true,  false, false, true}},
    {RunState::failed,    RunEvent::restart,   {RunState::queued,    false, false, false, false, false}},
    {RunState::cancelled, RunEvent::restart,   {RunState::queued,    false, false, false, false, false}},
};

struct DeliveryRow {
  DeliveryState from;
  DeliveryEvent event;
  DeliveryState to;
};

constexpr DeliveryRow delivery_table[] = {
    {DeliveryState::pending, DeliveryEvent::claim,   DeliveryState::claimed},
    {DeliveryState::pending, DeliveryEvent::skip,    DeliveryState::skipped},
    {DeliveryState::claimed, DeliveryEvent::deliver, DeliveryState::delivered},
    {DeliveryState::claimed, DeliveryEvent::fail,    DeliveryState::failed},
    {DeliveryState::failed,  DeliveryEvent::retry,   DeliveryState::claimed},
    {DeliveryState::failed,  DeliveryEvent::skip,    DeliveryState::skipped},
};
// clang-format on

}  // namespace

const char* to_text(RunEvent event) {
  switch (event) {
    case RunEvent::claim:
      return "claim";
    case RunEvent::succeed:
      return "succeed";
    case RunEvent::fail:
      return "fail";
    case RunEvent::retry:
      return "retry";
    case RunEvent::interrupt:
      return "interrupt";
    case RunEvent::release:
      return "release";
    case RunEvent::cancel:
      return "cancel";
    case RunEvent::restart:
      return "restart";
  }
  return "?";
}

std::optional<Transition> next(RunState state, RunEvent event) {
  for (const Row& row : table) {
    if (row.from == state && row.event == event) return row.transition;
  }
  return std::nullopt;
}

const char* to_text(DeliveryEvent event) {
  switch (event) {
    case DeliveryEvent::claim:
      return "claim";
    case DeliveryEvent::deliver:
      return "deliver";
    case DeliveryEvent::fail:
      return "fail";
    case DeliveryEvent::skip:
      return "skip";
    case DeliveryEvent::retry:
      return "retry";
  }
  return "?";
}

std::optional<DeliveryState> next(DeliveryState state, DeliveryEvent event) {
  for (const DeliveryRow& row : delivery_table) {
    if (row.from == state && row.event == event) return row.to;
  }
  return std::nullopt;
}

DeliveryEvent delivery_event_of(RunState ended) {
  EIDER_CHECK(is_terminal(ended), "only the end of a run ends its deliveries");
  return ended == RunState::succeeded ? DeliveryEvent::deliver : DeliveryEvent::fail;
}

}  // namespace eider::model
