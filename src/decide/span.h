// The undecided instants of a schedule as spans of neighbours with one answer. Pure.
#pragma once

#include <optional>

#include "decide/due.h"

namespace eider::decide {

struct Span {
  enum class Kind {
    may_run,
    excluded,
    ran,  ///< before the clock was set back: decided for ever
  };
  Kind kind = Kind::may_run;
  Instant first{};
  Instant last{};
  std::int64_t count = 0;
  timing::Exclusion why{};
};

/// The first instant after `after`.
std::optional<Instant> first_after(const DueFacts& facts, Instant after);

/// The spans of (after, until], in order. A step costs a few microseconds, however many instants it passes.
class Spans {
 public:
  enum class Calendars { ask, ignore };
  Spans(const DueFacts& facts, Instant after, Instant until, Calendars calendars = Calendars::ask)
      : facts_(facts), after_(after), until_(until), ask_(calendars == Calendars::ask) {}
  std::optional<Span> next();

 private:
  std::optional<Span> piece();

  const DueFacts& facts_;
  Instant after_;
  const Instant until_;
  const bool ask_;
  bool done_ = false;
  std::optional<Span> ahead_;
};

/// The newest `limit` instants of (after, until] that may run, oldest first.
std::vector<Instant> newest_to_run(const DueFacts& facts, Instant after, Instant until, int limit);

}  // namespace eider::decide
