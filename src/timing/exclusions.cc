#include "timing/exclusions.h"

#include <algorithm>

namespace eider::timing {

Exclusions::Exclusions(std::optional<Instant> start, std::optional<Instant> end, std::vector<NamedCalendar> exclude,
                       std::vector<NamedCalendar> only, Zone zone)
    : start_(start), end_(end), exclude_(std::move(exclude)), only_(std::move(only)), zone_(zone) {
  for (const NamedCalendar& each : only_) only_names_ += (only_names_.empty() ? "" : ", ") + each.name;
}

ExclusionSpan Exclusions::at(Instant instant) const {
  // Outside of the years nothing fires, so that any answer will do.
  ExclusionSpan out{{}, Instant::min(), Instant::max()};
  if (start_ && instant < *start_) return {{Exclusion::Kind::before_start, "start"}, Instant::min(), *start_};
  if (end_ && instant > *end_) return {{Exclusion::Kind::after_end, "end"}, *end_ + Micros(1), Instant::max()};
  if (start_) out.begin = *start_;
  if (end_) out.end = *end_ + Micros(1);
  if (instant < kFirstInstant || instant >= kEndInstant) return out;
  const auto narrow = [&out](const Piece& piece) {
    out.begin = std::max(out.begin, piece.begin);
    out.end = std::min(out.end, piece.end);
  };
  for (const NamedCalendar& each : exclude_) {
    const Piece piece = each.calendar->piece(instant, zone_);
    narrow(piece);
    if (!piece.in) continue;
    out.why = {Exclusion::Kind::excluded, each.name};
    return out;
  }
  bool in = only_.empty();
  for (const NamedCalendar& each : only_) {
    const Piece piece = each.calendar->piece(instant, zone_);
    narrow(piece);
    in = in || piece.in;
  }
  if (!in) out.why = {Exclusion::Kind::not_in, only_names_};
  return out;
}

Exclusions::Found Exclusions::next(const Rule& rule, Instant after) const {
  auto instant = rule.next(after);
  for (int looked = 0; instant; ++looked) {
    const ExclusionSpan span = at(*instant);
    if (span.why.kind == Exclusion::Kind::none) return {instant, false};
    if (looked == kLookAhead) return {std::nullopt, true};
    if (span.end == Instant::max()) return {};
    instant = rule.next(span.end - Micros(1));
  }
  return {};
}

std::optional<Instant> Exclusions::previous(const Rule& rule, Instant after, Instant until) const {
  auto instant = rule.previous(until);
  while (instant && *instant > after) {
    const ExclusionSpan span = at(*instant);
    if (span.why.kind == Exclusion::Kind::none) return instant;
    if (span.begin == Instant::min()) return std::nullopt;
    instant = rule.previous(span.begin - Micros(1));
  }
  return std::nullopt;
}

}  // namespace eider::timing
