// Materializations and deliveries of the API in words and tables, where more than one verb shows them.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/value.hpp>

namespace eider::cli {

struct Session;

/// `raw.x 2026-03-29 (120 rows, unchanged)`
std::string event_in_words(const boost::json::value& materialization);
/// `a`, or `outside (cli)`, `outside (a file in incoming)`.
std::string maker_of(const boost::json::value& materialization);
/// `1 delivery`, `3 deliveries`
std::string counted_deliveries(std::int64_t count);
/// A table; without the column of the asset where all are of one. False: there are none.
bool print_materializations(Session& session, const boost::json::array& items, bool with_asset);

}  // namespace eider::cli
