#include "workspace/expand.h"

#include <fmt/format.h>

#include "workspace/words.h"

namespace eider::workspace {
namespace {

constexpr std::string_view kEnv = "${env:";
constexpr std::string_view kSecret = "${secret:";

bool begins_reference(std::string_view text) { return text.starts_with(kEnv) || text.starts_with(kSecret); }

}  // namespace

Result<std::string> expand(std::string_view text, bool allowed, const Environment& environment) {
  const auto bad = [](std::string message) { return Error{ErrorCode::invalid, std::move(message)}; };
  std::string out;
  while (true) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) return out;
    if (allowed && text.starts_with("$$") && begins_reference(text.substr(1))) {
      out += kEnv.substr(0, 1);
      text.remove_prefix(2);
    } else if (!begins_reference(text)) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      const std::size_t end = text.find('}');
      const std::string_view reference = text.substr(0, end == std::string_view::npos ? end : end + 1);
      if (text.starts_with(kSecret)) {
        return bad(
            fmt::format("{} is not supported by this version of Eider; use ${{env:NAME}} for what is no secret, and "
                        "let programs read secrets themselves",
                        shown(reference)));
      }
      if (!allowed) return bad(fmt::format("{} is not replaced here; write the value", shown(reference)));
      if (end == std::string_view::npos) return bad(fmt::format("{} has no closing }}", shown(reference)));
      const std::string name(text.substr(kEnv.size(), end - kEnv.size()));
      if (name.empty()) return bad("${env:} names no variable");
      const auto found = name.find('=') == std::string::npos ? environment(name) : std::nullopt;
      if (!found) return bad(fmt::format("the environment variable {} is not set", shown(name)));
      if (!is_utf8_text(*found)) return bad(fmt::format("the environment variable {} is not valid UTF-8", shown(name)));
      out += *found;
      text.remove_prefix(end + 1);
    }
  }
}

}  // namespace eider::workspace
