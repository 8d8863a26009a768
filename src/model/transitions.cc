#include "model/transitions.h"

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

}  // namespace eider::model
