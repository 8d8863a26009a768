// Signals as events of the reactor (signalfd). Blocked before any thread starts, so that every thread inherits it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "base/fd.h"
#include "base/reactor.h"

namespace eider::app {

/// Blocks the signals for this thread and those it starts later. Call it before the first thread. A closed pipe and a
/// file that may not grow are errors of a write from then on, not signals.
void block_signals(std::initializer_list<int> signals);

/// Calls `on_signal` on the reactor's thread for each of the blocked signals that arrives.
class Signals {
 public:
  Signals(Reactor& reactor, std::initializer_list<int> signals, std::function<void(int)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  Reactor& reactor_;
  UniqueFd fd_;
};

}  // namespace eider::app
