#include "worker/facts.h"

#include <boost/json.hpp>

#include "base/fd.h"
#include "model/asset.h"
#include "model/pipeline.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

namespace json = boost::json;

constexpr std::string_view kBlank = " \t\r";

constexpr std::size_t kFingerprintCharacters = 200;

Error no_facts(int line, const std::string& why) {
  return bad_line(line, why, "write one JSON object a line, like {\"rows\": 42}");
}

/// What is wrong, or nothing.
using Problem = std::string;

Problem take_count(const json::value& value, std::optional<std::int64_t>& to) {
  if (!value.is_int64() || value.get_int64() < 0) return "must be a whole number from 0 on";
  to = value.get_int64();
  return {};
}

Problem take_text(const json::value& value, std::string& to) {
  if (!value.is_string()) return "must be a text";
  to.assign(value.get_string().begin(), value.get_string().end());
  return {};
}

Problem take_said(std::string_view key, const json::value& value, Said& to) {
  if (key == "materialized") return take_text(value, to.asset);
  if (key == "rows") return take_count(value, to.rows);
  if (key == "bytes") return take_count(value, to.bytes);
  if (key == "partition") {
    if (Problem problem = take_text(value, to.partition.emplace()); !problem.empty()) return problem;
    if (to.partition->empty()) return {};
    const auto good = model::check_partition(*to.partition);
    return good ? Problem() : Problem("is no name of a partition: " + good.error().message);
  }
  if (key == "fingerprint") {
    if (Problem problem = take_text(value, to.fingerprint); !problem.empty()) return problem;
    return to.fingerprint.size() <= kFingerprintCharacters
               ? Problem()
               : fmt::format("is longer than {} characters; write a hash of the content", kFingerprintCharacters);
  }
  if (key != "metadata") {
    return "is not known; a line about an asset has `materialized`, `partition`, `rows`, `bytes`, `fingerprint` and "
           "`metadata`";
  }
  if (!value.is_object()) return "must be a JSON object";
  to.metadata = json::serialize(value);
  const auto good = model::check_metadata(to.metadata);
  return good ? Problem() : "is wrong: " + good.error().message;
}

Result<Said> said_in(int line, const json::object& object) {
  Said said;
  said.line = line;
  for (const auto& [key, value] : object) {
    if (value.is_null() && key != "materialized") continue;  // as if it were not there
    if (const Problem problem = take_said(key, value, said); !problem.empty()) {
      return bad_line(line, fmt::format("is about an asset, and its `{}` {}", std::string_view(key), problem),
                      "an example: {\"materialized\": \"raw.x\", \"rows\": 42}");
    }
  }
  return said;
}

/// A line of facts, or one about an asset.
Result<void> take_line(int number, std::string_view line, json::object& merged, Facts& facts) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(line.data(), line.size()), error);
  if (error) return no_facts(number, "is no JSON (" + error.message() + ")");
  if (!value.is_object()) return no_facts(number, "is no JSON object");
  if (value.get_object().contains("materialized")) {
    auto said = said_in(number, value.get_object());
    if (!said) return said.error();
    facts.said.push_back(std::move(*said));
    facts.said_lines.append(line).push_back('\n');
  } else {
    for (const auto& entry : value.get_object()) merged[entry.key()] = entry.value();
  }
  return {};
}

}  // namespace

Error bad_line(int line, const std::string& why, const std::string& instead) {
  return Error{ErrorCode::invalid, fmt::format("line {} of the file $EIDER_OUTPUT {}; {}", line, why, instead)};
}

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
  return parse_facts(*text);
}

Result<Facts> parse_facts(std::string_view rest) {
  Facts facts;
  json::object merged;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    if (auto taken = take_line(number, line, merged, facts); !taken) return taken.error();
  }
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

std::string merge_objects(const std::string& earlier, const std::string& later) {
  if (earlier.empty() || later.empty()) return earlier.empty() ? later : earlier;
  json::value out = json::parse(earlier);
  const json::value over = json::parse(later);
  for (const auto& entry : over.get_object()) out.get_object()[entry.key()] = entry.value();
  return json::serialize(out);
}

}  // namespace eider::worker
