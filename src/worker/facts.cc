#include "worker/facts.h"

#include <boost/json.hpp>

#include "base/fd.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

namespace json = boost::json;

constexpr std::string_view kBlank = " \t\r";

Error bad_line(int line, const std::string& why) {
  return Error{ErrorCode::invalid,
               fmt::format("line {} of the file $EIDER_OUTPUT {}; write one JSON object a line, like "
                           "{{\"rows\": 42}}",
                           line, why)};
}

}  // namespace

Result<Facts> read_facts(const std::string& path) {
  const auto text = read_file(path, facts_limit_bytes);
  if (!text) {
    if (text.error().code == ErrorCode::not_found) return Facts{};
    if (text.error().code != ErrorCode::refused) return text.error();
    return Error{ErrorCode::refused,
                 fmt::format("the file $EIDER_OUTPUT is larger than {} bytes; write a large result to "
                             "a published file and only its name here",
                             facts_limit_bytes)};
  }
  json::object merged;
  std::string_view rest = *text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(line.data(), line.size()), error);
    if (error) return bad_line(number, "is no JSON (" + error.message() + ")");
    if (!value.is_object()) return bad_line(number, "is no JSON object");
    for (const auto& entry : value.get_object()) merged[entry.key()] = entry.value();
  }
  Facts facts;
  if (merged.empty()) return facts;
  if (const json::value* rows = merged.if_contains("rows");
      rows != nullptr && rows->is_int64() && rows->get_int64() >= 0) {
    facts.rows = rows->get_int64();
  }
  facts.json = json::serialize(merged);
  return facts;
}

std::string join_facts(const std::map<std::string, std::string>& facts_by_step) {
  std::string out = "{";
  for (const auto& [step, facts] : facts_by_step) {
    if (facts.empty()) continue;
    if (out.size() > 1) out += ',';
    append_json_string(out, step);
    out += ':';
    out += facts;
  }
  return out + "}";
}

}  // namespace eider::worker
