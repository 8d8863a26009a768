// A forecast (sim/forecast.h) as JSON and as tables for people. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "cli/screen.h"
#include "sim/forecast.h"

namespace eider::cli {

/// `pool heavy`, `lock warehouse`, `file warehouse.duckdb`, `workers`.
std::string name_of(const decide::Thing& thing);

/// What differs between two forecasts, `then` being the one that is compared with.
struct ForecastChange {
  std::string kind;  ///< added | removed | changed
  std::string what;  ///< `schedule a/b`, `pipeline a`, `pool a`, `workers`, `freshness of a`
  std::string text;  ///< for people: `365 runs, was 730; …`
};
std::vector<ForecastChange> compare(const sim::Forecast& now, const sim::Forecast& then);

/// `median`, `p95`, `max` in seconds; times in RFC 3339.
boost::json::object forecast_json(const sim::Forecast& forecast);
boost::json::array changes_json(const std::vector<ForecastChange>& changes);

void show_forecast(Stream& out, const sim::Forecast& forecast);
void show_changes(Stream& out, const std::vector<ForecastChange>& changes);

}  // namespace eider::cli
