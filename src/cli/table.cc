#include "cli/table.h"

#include <algorithm>

#include "base/check.h"
#include "cli/text.h"

namespace eider::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastColumn = 8;  // a column is not cut below this

}  // namespace

void Table::row(std::vector<Cell> cells) {
  EIDER_CHECK(cells.size() == titles_.size(), "a row with another number of cells");
  for (Cell& cell : cells) cell.text = safe(cell.text);
  rows_.push_back(std::move(cells));
}

void Table::drop_empty_columns() {
  for (std::size_t i = titles_.size(); i-- > 0;) {
    if (std::any_of(rows_.begin(), rows_.end(), [i](const auto& row) { return !row[i].text.empty(); })) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    titles_.erase(titles_.begin() + at);
    for (auto& row : rows_) row.erase(row.begin() + at);
  }
}

std::vector<std::size_t> Table::widths(std::size_t columns) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    std::size_t width = columns_of(titles_[i]);
    for (const auto& row : rows_) width = std::max(width, columns_of(row[i].text));
    out.push_back(width);
  }
  if (columns == 0) return out;
  const auto total = [&] {
    std::size_t sum = kGap * (out.size() - 1);
    for (const std::size_t width : out) sum += width;
    return sum;
  };
  while (total() > columns) {
    std::size_t* widest = nullptr;
    // The first column names the row.
    for (std::size_t i = 1; i < out.size(); ++i) {
      if (titles_[i] != kept_ && (!widest || out[i] > *widest)) widest = &out[i];
    }
    if (!widest || *widest <= kLeastColumn) break;
    --*widest;
  }
  return out;
}

void Table::print(Stream& stream) const {
  const std::vector<std::size_t> width = widths(stream.columns());
  const auto line = [&](const auto& text_of, const auto& colour_of) {
    std::string out;
    std::string gap;
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      const std::string text = cut(text_of(i), width[i]);
      out += gap + stream.paint(colour_of(i), text);
      gap = std::string(kGap + width[i] - columns_of(text), ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    stream.line(out);
  };
  line([&](std::size_t i) { return titles_[i]; }, [](std::size_t) { return Colour::bold; });
  for (const auto& row : rows_) {
    if (stream.closed()) return;
    line([&](std::size_t i) { return row[i].text; }, [&](std::size_t i) { return row[i].colour; });
  }
}

void Facts::add(std::string name, std::string_view value, Colour colour) {
  if (!value.empty()) facts_.push_back({std::move(name), safe_lines(value), colour});
}

void Facts::print(Stream& stream) const {
  std::size_t width = 0;
  for (const Fact& fact : facts_) width = std::max(width, columns_of(fact.name));
  for (const Fact& fact : facts_) {
    std::string_view rest = fact.value;
    std::string begin = stream.paint(Colour::grey, fact.name) + std::string(width + kGap - columns_of(fact.name), ' ');
    while (true) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      stream.line(begin + stream.paint(fact.colour, rest.substr(0, end)));
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
      begin = std::string(width + kGap, ' ');
    }
  }
}

}  // namespace eider::cli
