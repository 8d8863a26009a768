// Pages of lists: where one begins, and how its rows are read.
#pragma once

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace eider::store::sqlite {

inline Error bad_cursor(const std::string& cursor) {
  return Error{ErrorCode::invalid,
               fmt::format("cursor \"{}\": expected the `next` of the page before, or none", cursor)};
}

inline Result<void> check_limit(int limit) {
  if (limit >= 1 && limit <= 1000) return {};
  return Error{ErrorCode::invalid, fmt::format("limit {}: expected 1 to 1000", limit)};
}

/// The numbers of a cursor `<kind>N` or `<kind>N.N`; those of the first page are greater than any row's.
template <std::size_t N>
std::optional<std::array<std::int64_t, N>> read_position(const std::string& cursor, char kind) {
  std::array<std::int64_t, N> position{};
  position.fill(std::numeric_limits<std::int64_t>::max());
  if (cursor.empty()) return position;
  if (cursor[0] != kind) return std::nullopt;
  const char* at = cursor.data() + 1;
  const char* const end = cursor.data() + cursor.size();
  for (std::size_t i = 0; i < N; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [stopped, failed] = std::from_chars(at, end, position[i]);
    if (failed != std::errc()) return std::nullopt;
    at = stopped;
  }
  if (at != end) return std::nullopt;
  return position;
}

/// Up to `limit` items, and where the next page begins when there are more: `position` says it of a row.
template <typename T>
Result<Page<T>> read_page(Rows& rows, int limit, Result<T> (*read)(const Rows&), std::string (*position)(const Rows&)) {
  Page<T> page;
  std::string last;
  while (true) {
    auto more = rows.next();
    if (!more) return more.error();
    if (!*more) return page;
    if (page.items.size() == static_cast<std::size_t>(limit)) {
      page.next = last;
      return page;
    }
    auto item = read(rows);
    if (!item) return item.error();
    page.items.push_back(std::move(*item));
    last = position(rows);
  }
}

}  // namespace eider::store::sqlite
