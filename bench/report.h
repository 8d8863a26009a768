// What was measured: each figure beside its floor and its target, as a table for people and as JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/stats.h"

namespace eider::bench {

/// One line of the table. What is empty is not shown.
struct Figure {
  std::string row;
  std::string what;
  std::string unit;
  double median = 0;  ///< or the one value there is
  std::optional<double> p99;
  std::optional<double> max;
  std::optional<double> floor;  ///< the same work done bare, in the same run
  std::string floor_name;
  std::optional<double> ratio;  ///< to `ratio_to`
  std::string ratio_to;         ///< `floor`, `alone` …
  std::string target;
  std::optional<bool> reached;
  std::string note;
};

/// A figure of a row from many measurements.
Figure figure(std::string row, std::string what, std::string unit, const Spread& values);
Figure figure(std::string row, std::string what, std::string unit, double value);

class Report {
 public:
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  /// How a row was measured: printed under its figures.
  void say(const std::string& row, const std::string& text) { remarks_.emplace_back(row, text); }
  /// Work was lost or done twice, or the row could not be measured: the program ends with 1.
  void broken(const std::string& row, const std::string& text) { broken_.emplace_back(row, text); }
  void setting(const std::string& name, const std::string& value) { settings_.emplace_back(name, value); }

  bool is_broken() const { return !broken_.empty(); }
  std::string table() const;
  std::string json() const;

 private:
  using Texts = std::vector<std::pair<std::string, std::string>>;
  std::vector<Figure> figures_;
  Texts remarks_;
  Texts broken_;
  Texts settings_;
};

/// A line of progress on standard error.
void progress(const std::string& text);

}  // namespace eider::bench
