// Values of the API in words and colours, where more than one verb shows them.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/time.h"
#include "cli/screen.h"

namespace eider::cli {

struct Session;

/// Of a run's or a delivery's state, a decision or an attempt's outcome.
Colour colour_of(std::string_view state);
/// True for the three states that a run never leaves by itself.
bool is_over(std::string_view state);
/// `by hand`, or what made the run: `schedule nightly`, of the pipeline that stands beside it.
std::string cause_of(const boost::json::value& run);
/// The same by its whole name: `schedule flights_daily/nightly`.
std::string cause_in_full(const boost::json::value& run);
/// `pool heavy: 1 of 1 slots in use, 1 wanted; a worker: 2 of 2 busy`; empty when nothing is waited for. It changes
/// only with what is waited for.
std::string waiting_text(const boost::json::value& run);
/// The same with since when, and who has it: `… (for 12 s; held by daily 0189f3c4-a1b2-7c3d)`.
std::string waiting_in_full(const boost::json::value& run, Instant now);
/// `daily 0189f3c4-a1b2-7c3d, …`: each of `[{run_id, pipeline}]`, its id cut to a length.
std::string runs_named(const boost::json::array& runs, std::size_t id_length);
/// From its first start to its end, or so far; empty when it has not started.
std::string run_took(const boost::json::value& run, Instant now);
/// Ids as a terminal shows them: the first characters, enough to be typed in (base/ids.h), and as many more as tell
/// them apart.
std::vector<std::string> short_ids(const std::vector<std::string>& ids);
/// Says how to go on where a list has a next page.
void say_next_page(Session& session, const boost::json::value& list);
std::string first_line(const std::string& text);
/// `longer than usual (3m)` of a running run; or empty.
std::string longer_than_usual(const boost::json::value& run);

}  // namespace eider::cli
