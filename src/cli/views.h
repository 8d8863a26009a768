// Values of the API in words and colours, where more than one verb shows them. Pure.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/time.h"
#include "cli/screen.h"

namespace eider::cli {

/// Of a run's state, a decision or an attempt's outcome.
Colour colour_of(std::string_view state);
/// True for the three states that a run never leaves by itself.
bool is_over(std::string_view state);
/// `manual`, or the schedule that made the run.
std::string cause_of(const boost::json::value& run);
/// `pool heavy: 1 of 1 slots in use; worker`; empty when nothing is waited for.
std::string waiting_text(const boost::json::value& run);
/// From its first start to its end, or so far; empty when it has not started.
std::string run_took(const boost::json::value& run, Instant now);
/// The first characters of each id that tell it from the others and, most likely, from every other run's.
std::vector<std::string> short_ids(const std::vector<std::string>& ids);
/// "3 more …": how to go on where a list has a next page; empty at the last.
std::string next_page(const boost::json::value& list);
std::string first_line(const std::string& text);

}  // namespace eider::cli
