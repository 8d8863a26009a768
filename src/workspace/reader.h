// Reads a tree by the table of keys: every check that needs only one value and its row is made here, with its mark.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "workspace/diagnostic.h"
#include "workspace/draft.h"
#include "workspace/keys.h"
#include "workspace/yaml_tree.h"

namespace eider::workspace {

/// Looks an environment variable up; none when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads one file. One thread.
class Reader {
 public:
  Reader(const Environment& environment, Complaints& complaints) : environment_(environment), complaints_(complaints) {}

  /// Reads a map (or, where the section has one, its short form) into `object`.
  void read(const Section& section, YamlValue node, void* object);

  const Environment& environment() const { return environment_; }
  /// An error at the key that is being read.
  void complain(Mark mark, std::string message, std::string suggestion = "");
  /// `schedules[0].overlap`.
  std::string path() const;

  /// Makes a name or an index part of path() while it lives.
  class Inside {
   public:
    Inside(Reader& reader, std::string_view name) : reader_(reader) { reader_.path_.push_back({name, 0}); }
    Inside(Reader& reader, std::size_t index) : reader_(reader) { reader_.path_.push_back({{}, index}); }
    ~Inside() { reader_.path_.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Reader& reader_;
  };

 private:
  struct Part {
    std::string_view name;
    std::size_t index;
  };

  void read_map(const Section& section, YamlValue node, void* object);
  void complain_unknown(const Section& section, YamlValue member);
  void check_presence(const Section& section, YamlValue node);

  const Environment& environment_;
  Complaints& complaints_;
  std::vector<Part> path_;
};

/// One value with its row, while it is being read.
struct Value {
  Reader& reader;
  const Key& key;
  YamlValue node;

  void complain(std::string message, std::string suggestion = "") {
    reader.complain(node.mark(), std::move(message), std::move(suggestion));
  }
};

// take(): checks a value by its row and puts it into `out`. When it is wrong, it complains and leaves `out` as it is.
void take(Value& value, std::string& out);
void take(Value& value, bool& out);  ///< boolean; or a choice, where the second word is true
void take(Value& value, int& out);
void take(Value& value, double& out);        ///< number, ratio
void take(Value& value, std::int64_t& out);  ///< size in bytes
void take(Value& value, Micros& out);
void take(Value& value, Instant& out);
void take(Value& value, model::Partitions::Every& out);
void take(Value& value, SqlText& out);
void take(Value& value, Command& out);
void take(Value& value, std::vector<std::string>& out);
void take(Value& value, std::map<std::string, std::string>& out);
void take(Value& value, std::map<std::string, int>& out);
void take(Value& value, std::vector<model::RetryCause>& out);
void take(Value& value, std::vector<int>& out);
void take(Value& value, std::map<std::string, model::LockMode>& out);
void take(Value& value, model::Rate& out);
// In take_calendar.cc.
void take(Value& value, timing::Day& out);
void take(Value& value, std::vector<timing::Day>& out);
void take(Value& value, std::vector<timing::DayHours>& out);
void take(Value& value, std::vector<Weekday>& out);

/// The index of the written word among the row's choices.
std::optional<std::size_t> choice_of(Value& value);

template <typename T>
requires std::is_enum_v<T>
void take(Value& value, T& out) {
  if (const auto index = choice_of(value)) out = static_cast<T>(*index);
}

template <typename T>
void take(Value& value, std::optional<T>& out) {
  T inner{};
  if (out) inner = *out;
  take(value, inner);
  out = std::move(inner);
}

}  // namespace eider::workspace
