#include "timing/zone_names.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "timing/words.h"
#include "timing/zone.h"

namespace eider::timing {
namespace {

constexpr std::size_t kLongestName = 64;

/// Where cctz looks.
std::string tzdata_folder() {
  const char* set = std::getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets the environment
  return set != nullptr && *set != '\0' ? set : "/usr/share/zoneinfo";
}

/// All names of tzdata; the folder is walked once, at the first error.
const std::vector<std::string>& known_names() {
  static const auto* const names = [] {
    auto* out = new std::vector<std::string>{"UTC"};
    namespace fs = std::filesystem;
    const fs::path folder = tzdata_folder();
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      std::string name = at->path().lexically_relative(folder).string();
      std::error_code ignored;
      if (at->is_directory(ignored)) {
        if (!is_zone_name(name)) at.disable_recursion_pending();
      } else if (is_zone_name(name)) {
        out->push_back(std::move(name));
      }
    }
    std::sort(out->begin(), out->end());
    out->erase(std::unique(out->begin(), out->end()), out->end());
    return out;
  }();
  return *names;
}

/// The edit distance, or anything above `most` when it is larger.
std::size_t edits_within(std::string_view a, std::string_view b, std::size_t most) {
  const std::size_t longer = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  return longer > most ? most + 1 : edit_distance(a, b);
}

std::string_view place_of(std::string_view name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

bool is_zone_name(std::string_view name) {
  // Every name of tzdata starts with a capital, and no other file of its folder does (localtime, right/, posix/,
  // tzdata.zi, …). Without a dot there is no way up.
  if (name.empty() || name.size() > kLongestName || name.front() < 'A' || name.front() > 'Z') return false;
  return name.back() != '/' && std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '_' || c == '-' || c == '+';
         });
}

Error unknown_zone(std::string_view name) {
  std::string out = fmt::format("unknown time zone \"{}\"", shown(name));
  std::string_view nearest;
  if (!name.empty() && name.size() <= kLongestName) {
    std::size_t most = std::min<std::size_t>(3, 1 + name.size() / 4);  // more edits than that were not meant
    for (const std::string& known : known_names()) {
      // `Brussels` alone names its zone too, if not as well.
      const std::size_t edits =
          std::min(edits_within(name, known, most), edits_within(name, place_of(known), most) + 1);
      if (edits > most) continue;
      nearest = known;
      if (edits == 0) break;
      most = edits - 1;  // only a nearer one is better
    }
  }
  out += nearest.empty() ? ": expected a name of tzdata like Europe/Brussels or UTC"
                         : fmt::format(": did you mean {}?", nearest);
  return Error{ErrorCode::invalid, std::move(out)};
}

std::string tzdata_version() {
  constexpr std::string_view mark = "# version ";
  const Result<std::string> file = read_file(tzdata_folder() + "/tzdata.zi", std::size_t{1} << 20);
  if (!file || !file->starts_with(mark)) return "";
  return file->substr(mark.size(), std::min(file->find('\n'), file->size()) - mark.size());
}

}  // namespace eider::timing
