#include "model/pipeline.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "base/utf8.h"

namespace eider::model {

const char* to_text(Overlap value) {
  switch (value) {
    case Overlap::skip:
      return "skip";
    case Overlap::queue:
      return "queue";
    case Overlap::replace:
      return "replace";
    case Overlap::allow:
      return "allow";
  }
  return "?";
}

const char* to_text(Misfire value) {
  switch (value) {
    case Misfire::skip:
      return "skip";
    case Misfire::latest:
      return "latest";
    case Misfire::all:
      return "all";
  }
  return "?";
}

const char* to_text(RetryCause value) {
  switch (value) {
    case RetryCause::error:
      return "error";
    case RetryCause::timeout:
      return "timeout";
    case RetryCause::crash:
      return "crash";
  }
  return "?";
}

const char* to_text(OnInterrupt value) { return value == OnInterrupt::fail ? "fail" : "retry"; }
const char* to_text(LockMode value) { return value == LockMode::write ? "write" : "read"; }

const char* to_text(Trigger::Match value) { return value == Trigger::Match::all ? "all" : "any"; }
const char* to_text(Trigger::Start value) { return value == Trigger::Start::earliest ? "earliest" : "now"; }
const char* to_text(Trigger::Order value) { return value == Trigger::Order::strict ? "strict" : "commit"; }

std::string definition_hash(std::string_view definition_json_text) { return content_hash(definition_json_text); }

std::string rule_hash(const Timing& timing) {
  const auto optional_us = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string("-"); };
  const auto us = [](Micros value) { return value.count(); };
  return derived_id({"rule", timing.cron, optional_us(timing.every ? std::optional(us(*timing.every)) : std::nullopt),
                     optional_us(timing.anchor ? std::optional(to_us(*timing.anchor)) : std::nullopt),
                     timing.from_completion ? "completion" : "schedule",
                     optional_us(timing.at ? std::optional(to_us(*timing.at)) : std::nullopt), timing.timezone});
}

std::string schedule_key(std::string_view pipeline, std::string_view schedule) {
  return fmt::format("{}/{}", pipeline, schedule);
}

std::string identifier(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!kept) c = '_';
  }
  return out;
}

std::map<std::string, std::size_t> output_names(const std::vector<std::string>& assets) {
  std::map<std::string, std::size_t> names;
  std::map<std::string, std::vector<std::size_t>> last_parts;
  for (std::size_t i = 0; i < assets.size(); ++i) {
    names.emplace(identifier(assets[i]), i);
    last_parts[identifier(assets[i].substr(assets[i].rfind('.') + 1))].push_back(i);
  }
  for (const auto& [name, of] : last_parts) {
    if (of.size() == 1) names.emplace(name, of.front());
  }
  return names;
}

Result<void> check_name(std::string_view what, std::string_view name) {
  const auto shown = [&] {
    std::string safe;
    for (const char c : name.substr(0, 40))
      safe += c >= ' ' && c < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return name.size() > 40 ? safe + "…" : safe;
  };
  const auto letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  bool good = !name.empty() && name.size() <= 100 && letter_or_digit(name.front());
  for (const char c : name) good = good && (letter_or_digit(c) || c == '_' || c == '-');
  if (good) return {};
  return Error{
      ErrorCode::invalid,
      fmt::format(
          "{} \"{}\" is not a name: use 1 to 100 letters, digits, `_` and `-`, beginning with a letter or digit", what,
          shown())};
}

Result<void> check_asset_name(std::string_view name) {
  constexpr std::size_t longest = 200;
  const Error bad{ErrorCode::invalid, fmt::format("\"{}\" is not the name of an asset: expected names joined by dots, "
                                                  "like raw.flights, of at most {} characters",
                                                  shown(name), longest)};
  if (name.size() > longest) return bad;
  for (std::string_view rest = name;;) {
    const std::size_t dot = rest.find('.');
    if (!check_name("asset", rest.substr(0, dot))) return bad;
    if (dot == std::string_view::npos) return {};
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace eider::model
