// The one table of keys. Each row says how a key is called, what it takes, what it means and where its value lands;
// from it come the parser's checks, the JSON Schema of `eider schema` and the reference page. Pure.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eider::workspace {

struct Key;
struct Section;
struct Value;

/// What a key takes. A scalar's quotes matter for boolean, integer, number and ratio only: quoted, they are text.
enum class Type {
  text,
  name,  ///< model::check_name
  boolean,
  integer,
  number,
  ratio,     ///< 0.1 or 10%
  size,      ///< 2GB, 512MiB, or whole bytes
  duration,  ///< base parse_duration
  time,      ///< RFC 3339
  cron,
  timezone,
  choice,        ///< one of `choices`
  path,          ///< inside the workspace
  any_path,      ///< inside the workspace, or absolute
  asset,         ///< names joined by dots
  partition,     ///< model::check_partition
  file_pattern,  ///< a shell pattern over names of files
  sql,           ///< a path that ends in .sql, or the script itself
  command,       ///< a list of arguments, or a text for the shell
  names,         ///< a list of names
  patterns,      ///< a list of assets' names and patterns (model/glob.h), or one of them
  partitions,    ///< a list of partitions
  variables,     ///< a map of environment variables
  weights,       ///< a map of names to whole numbers
  choices,       ///< a list of words, each one of `choices`
  integers,      ///< a list of whole numbers, or one of them
  lock_modes,    ///< a map of names, each to one of `choices`
  rate,          ///< `100/min`: so many per time
  date,          ///< `2026-12-25`
  dates,         ///< a list of them
  hours,         ///< a list of parts of the day: `22:00-06:00`
  section,       ///< a map with the keys of `of`
  list,          ///< a list of such maps
  named,         ///< a map of names to such maps
  assets,        ///< a map of assets to such maps
};

struct Key {
  std::string_view name;
  Type type = Type::text;
  /// Puts the value where it belongs; `object` is what the section's rows were written for.
  void (*read)(Value&, void* object) = nullptr;
  std::string_view about;
  std::string_view fallback = {};  ///< the default as it would be written; empty: none, or `about` says it
  bool required = false;
  std::string_view choices = {};  ///< of `choice`, separated by spaces, in the order of the enum
  double least = -std::numeric_limits<double>::infinity();  ///< integer, number, size (bytes), duration (µs)
  double most = std::numeric_limits<double>::infinity();
  const Section* of = nullptr;
  bool expands = false;  ///< `${env:NAME}` is replaced
  std::string_view since = "0.1";
};

struct Section {
  std::string_view name;   ///< in the schema: #/$defs/NAME
  std::string_view title;  ///< in the reference page
  std::string_view about;
  std::span<const Key> keys;
  std::string_view short_key = {};    ///< a scalar in place of the map is read as this key
  std::string_view exactly_one = {};  ///< of these keys, separated by spaces
  std::string_view at_most_one = {};  ///< likewise
  std::string_view later = {};        ///< known keys of later versions, separated by spaces
};

/// The whole of pipelines/*.yaml (lands in a PipelineDraft), of eider.yaml (in model::Settings) and of calendars/*.yaml
/// (in a CalendarDraft).
const Section& pipeline_section();
const Section& workspace_section();
const Section& calendar_section();
/// The whole of the ceiling file (lands in a Ceiling).
const Section& ceiling_section();
/// Every section, each once, a section before those that it uses.
std::vector<const Section*> all_sections();

/// `a b c` as its parts.
std::vector<std::string_view> split_words(std::string_view words);

enum class SchemaOf { pipeline, workspace, calendar, ceiling };
/// JSON Schema, draft 2020-12, pretty-printed, with a newline at the end.
std::string schema_json(SchemaOf of);
/// docs/reference/files.md.
std::string reference_markdown();

}  // namespace eider::workspace
