#include "model/glob.h"

#include <fnmatch.h>
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/utf8.h"

namespace eider::model {
namespace {

constexpr std::size_t longest = 300;
constexpr std::ptrdiff_t most_stars = 8;

bool may_stand_in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

Error bad(std::string_view pattern, std::string_view why) {
  return Error{ErrorCode::invalid,
               fmt::format("\"{}\" {}; expected an asset's name, or a pattern like raw.* (`*` any characters, `?` one, "
                           "`[ab]` one of these)",
                           shown(pattern), why)};
}

}  // namespace

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?[") != std::string_view::npos; }

Result<void> check_glob(std::string_view pattern) {
  if (pattern.empty()) return bad(pattern, "is empty");
  if (pattern.size() > longest) return bad(pattern, "is longer than 300 characters");
  if (std::count(pattern.begin(), pattern.end(), '*') > most_stars) return bad(pattern, "has more than 8 stars");
  bool within = false;
  for (const char c : pattern) {
    if (c == '[' && !within) {
      within = true;
    } else if (c == ']' && within) {
      within = false;
    } else if (within && c == '!') {
      continue;
    } else if (within ? !may_stand_in_a_name(c) : !may_stand_in_a_name(c) && c != '*' && c != '?') {
      return bad(pattern, c >= ' ' && c < 127 ? fmt::format("has a `{}`, which no asset's name can match", c)
                                              : std::string("has a character that no asset's name can match"));
    }
  }
  if (within) return bad(pattern, "has a `[` that is not closed");
  if (pattern.find("[]") != std::string_view::npos || pattern.find("[!]") != std::string_view::npos)
    return bad(pattern, "has brackets with nothing in them");
  return {};
}

bool glob_matches(std::string_view pattern, std::string_view name) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), FNM_NOESCAPE) == 0;
}

bool file_matches(const std::string& pattern, const std::string& name) {
  for (const char* unfinished : {".tmp", ".part"}) {
    if (name.ends_with(unfinished) && !pattern.ends_with(unfinished)) return false;
  }
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE | FNM_PERIOD) == 0;
}

}  // namespace eider::model
