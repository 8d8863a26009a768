// An aligned table for people. Cells are made safe here; the widest columns are cut until a row fits the terminal, but
// never the first one, which names the row, nor one that is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"

namespace eider::cli {

struct Cell {
  Cell(std::string content, Colour in = Colour::none) : text(std::move(content)), colour(in) {}  // NOLINT
  Cell(const char* content) : text(content) {}                                                   // NOLINT
  std::string text;
  Colour colour = Colour::none;
};

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}
  /// As many cells as there are titles.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  /// The column of this title is never cut: half an id is none.
  void keep(std::string_view title) { kept_ = title; }
  /// Leaves out the columns in which no row has anything. For tables whose columns nobody counts.
  void drop_empty_columns();
  void print(Stream& stream) const;

 private:
  std::vector<std::size_t> widths(std::size_t columns) const;

  std::vector<std::string> titles_;
  std::vector<std::vector<Cell>> rows_;
  std::string kept_;
};

/// `name: value` lines with aligned values; a value of several lines is indented. An empty value is left out.
class Facts {
 public:
  void add(std::string name, std::string_view value, Colour colour = Colour::none);
  void print(Stream& stream) const;

 private:
  struct Fact {
    std::string name, value;
    Colour colour;
  };
  std::vector<Fact> facts_;
};

}  // namespace eider::cli
