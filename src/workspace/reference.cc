// The reference page from the table of keys (keys.h).
#include <cmath>

#include <fmt/format.h>

#include "base/time.h"
#include "workspace/keys.h"

namespace eider::workspace {
namespace {

constexpr std::string_view kBegin = R"(# Files of a workspace

<!-- Generated from the rows in src/workspace/keys*.cc; the test that compares it says how to write it anew. -->

A workspace is a folder with `eider.yaml`, `pipelines/*.yaml` and `calendars/*.yaml` (or `.yml`); paths in them are
relative to it. The files are YAML in UTF-8, one document each, at most 16 MiB, without anchors, aliases, tags and
directives; a key twice in a map is an error, and so is an unknown one. `eider validate` checks them all, and `eider
schema pipeline`, `eider schema workspace` or `eider schema calendar` prints the JSON Schema for an editor.

| Kind of value | How it is written |
|---|---|
| name | 1 to 100 letters, digits, `_` and `-`, beginning with a letter or digit |
| duration | whole numbers with units, largest first: `500ms`, `5s`, `1h30m`, `7d` |
| size | whole bytes, or with a unit: `64MiB` (KiB, MiB, GiB, TiB count in 1024), `2GB` (kB, MB, GB, TB in 1000) |
| time | RFC 3339: `2026-03-29T01:00:00Z` or `2026-03-29T03:00:00+02:00` |
| date | `2026-12-25` |
| hours | `08:00-18:00`; past midnight, `22:00-06:00` |
| ratio | `0.1` or `10%` |
| rate | so many in a time: `100/min`, `10/s`, `5/10s` |
| partition | 1 to 200 letters, digits and `_ - . : + =`, beginning with a letter or digit |
| text | quote what begins with `*`, `&`, `@`, `!`, `%` or contains `: `; cron expressions always |
)";

constexpr std::string_view kEnd = R"(
## Environment variables

Where a key says *expands*, `${env:NAME}` is replaced by the variable of the process that loads the file (the server,
or `eider validate`); a variable that is not set is an error. `$${env:NAME}` stands for the text `${env:NAME}`. Other
uses of `$`, such as `${HOME}` in a text for the shell, stay as they are. What is replaced is stored with each run, so
it is not for secrets: a program reads those itself, and `${secret:NAME}` is refused by this version.
)";

std::string alternatives(std::string_view words) {
  std::string out;
  for (const std::string_view word : split_words(words)) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", word);
  return out;
}

/// Of lists and maps.
std::string collection_words(const Key& key) {
  switch (key.type) {
    case Type::command:
      return "list of texts, or text";
    case Type::names:
      return "list of names";
    case Type::patterns:
      return "list of names and patterns";
    case Type::partitions:
      return "list of partitions";
    case Type::integers:
      return "list of whole numbers";
    case Type::dates:
      return "list of dates";
    case Type::hours:
      return "list of hours";
    case Type::choices:
      return "list of " + alternatives(key.choices);
    case Type::variables:
      return "map of texts";
    case Type::weights:
      return "map of whole numbers";
    case Type::lock_modes:
      return "map of names to " + alternatives(key.choices);
    case Type::section:
      return fmt::format("[map](#{})", key.of->name);
    case Type::list:
      return fmt::format("list of [maps](#{})", key.of->name);
    default:
      return fmt::format("map of [maps](#{})", key.of->name);
  }
}

std::string type_words(const Key& key) {
  switch (key.type) {
    case Type::text:
      return "text";
    case Type::name:
      return "name";
    case Type::boolean:
      return "`true` or `false`";
    case Type::integer:
      return "whole number";
    case Type::number:
      return "number";
    case Type::ratio:
      return "ratio";
    case Type::size:
      return "size";
    case Type::duration:
      return "duration";
    case Type::time:
      return "time";
    case Type::cron:
      return "cron expression";
    case Type::timezone:
      return "time zone";
    case Type::path:
      return "path in the workspace";
    case Type::any_path:
      return "path";
    case Type::asset:
      return "asset name";
    case Type::partition:
      return "partition";
    case Type::file_pattern:
      return "shell pattern";
    case Type::sql:
      return "path or SQL";
    case Type::rate:
      return "rate";
    case Type::date:
      return "date";
    case Type::choice:
      return alternatives(key.choices);
    default:
      return collection_words(key);
  }
}

std::string bound(const Key& key, double value) {
  if (key.type == Type::duration) return format_duration(Micros(static_cast<std::int64_t>(value)));
  constexpr double mib = 1024.0 * 1024;
  if (key.type != Type::size || value < 1024) return fmt::format("{}", value);
  return value >= mib ? fmt::format("{}MiB", value / mib) : fmt::format("{}KiB", value / 1024);
}

std::string range_words(const Key& key) {
  if (std::isfinite(key.least) && std::isfinite(key.most)) {
    return fmt::format(", {} to {}", bound(key, key.least), bound(key, key.most));
  }
  return std::isfinite(key.least) ? fmt::format(", at least {}", bound(key, key.least)) : "";
}

std::string row(const Key& key) {
  std::string about(key.about);
  if (key.expands) about += " *Expands.*";
  const std::string fallback = key.required           ? "required"
                               : key.fallback.empty() ? ""
                                                      : fmt::format("`{}`", key.fallback);
  return fmt::format("| `{}` | {}{} | {} | {} | {} |\n", key.name, type_words(key), range_words(key), fallback, about,
                     key.since);
}

std::string section_text(const Section& section) {
  const bool is_file = &section == &workspace_section() || &section == &pipeline_section() ||
                       &section == &calendar_section() || &section == &ceiling_section();
  std::string out = fmt::format("\n<a id=\"{}\"></a>\n\n{} {}\n\n{}", section.name, is_file ? "##" : "###",
                                section.title, section.about);
  if (!section.exactly_one.empty()) out += fmt::format(" Exactly one of {}.", alternatives(section.exactly_one));
  if (!section.at_most_one.empty()) out += fmt::format(" At most one of {}.", alternatives(section.at_most_one));
  if (!section.short_key.empty()) out += fmt::format(" A value in place of the map is its `{}`.", section.short_key);
  out += "\n\n| Key | Takes | Default | Meaning | Since |\n|---|---|---|---|---|\n";
  for (const Key& key : section.keys) out += row(key);
  return out;
}

}  // namespace

std::string reference_markdown() {
  std::string out(kBegin);
  for (const Section* section : all_sections()) out += section_text(*section);
  return out + std::string(kEnd);
}

}  // namespace eider::workspace
