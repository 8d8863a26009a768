// The table of keys from its other sides: the JSON Schema must accept what the parser accepts, the defaults it names
// must be the model's, and the committed reference page must be the one it makes.
#include <charconv>
#include <cmath>

#include <regex.h>
#include <boost/json.hpp>

#include "workspace/test_support.h"
#include "workspace/yaml_tree.h"

namespace eider::workspace {
namespace {

namespace json = boost::json;
using Lines = std::vector<std::string>;

/// POSIX extended; our patterns use nothing else. Searches, like JSON Schema.
bool matches(const std::string& expression, const std::string& text) {
  regex_t compiled{};
  if (::regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    ADD_FAILURE() << "no regular expression: " << expression;
    return false;
  }
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

/// A plain scalar as an editor's YAML (1.2 core schema) sees it.
json::value scalar_value(YamlValue value) {
  const std::string text(value.text());
  if (value.quoted()) return json::string(text);
  if (matches("^([Tt]rue|TRUE)$", text)) return true;
  if (matches("^([Ff]alse|FALSE)$", text)) return false;
  if (matches("^[-+]?[0-9]{1,18}$", text)) return static_cast<std::int64_t>(std::stoll(text));
  if (matches("^[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?$", text)) return std::stod(text);
  return json::string(text);
}

json::value to_json(YamlValue value) {
  using Kind = YamlValue::Kind;
  if (value.kind() == Kind::null) return nullptr;
  if (value.kind() == Kind::scalar) return scalar_value(value);
  json::array list;
  json::object map;
  for (YamlValue child = value.first(); child; child = child.next()) {
    if (value.kind() == Kind::list) {
      list.push_back(to_json(child));
    } else {
      map[child.key()] = to_json(child);
    }
  }
  if (value.kind() == Kind::list) return list;
  return map;
}

/// The part of draft 2020-12 that our schemas use. An unknown keyword fails the test: it would check nothing.
class Checker {
 public:
  explicit Checker(json::value schema) : root_(std::move(schema)) {}
  bool accepts(const json::value& value) const { return holds(root_.as_object(), value); }

 private:
  static bool has_type(const json::value& value, std::string_view type) {
    if (type == "null") return value.is_null();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    if (type == "number") return value.is_number();
    if (type == "integer") {
      return value.is_int64() || (value.is_double() && value.get_double() == std::floor(value.get_double()));
    }
    ADD_FAILURE() << "unknown type " << type;
    return false;
  }
  static bool one_type(const json::value& types, const json::value& value) {
    if (types.is_string()) return has_type(value, types.get_string());
    for (const json::value& type : types.as_array()) {
      if (has_type(value, type.as_string())) return true;
    }
    return false;
  }
  static bool fits(const json::value& pattern, std::string_view text) {
    std::string expression(pattern.as_string());
    // POSIX has no look-ahead; the one that is used says the same as this.
    const std::string not_ours = "(?!EIDER_)";
    if (const std::size_t at = expression.find(not_ours); at != std::string::npos) {
      if (text.starts_with("EIDER_")) return false;
      expression.erase(at, not_ours.size());
    }
    return matches(expression, std::string(text));
  }
  int count_holding(const json::value& schemas, const json::value& value) const {
    int count = 0;
    for (const json::value& schema : schemas.as_array()) count += holds(schema.as_object(), value) ? 1 : 0;
    return count;
  }

  bool holds(const json::object& schema, const json::value& value) const {
    for (const auto& member : schema) {
      if (!keyword(schema, member.key(), member.value(), value)) return false;
    }
    return true;
  }

  bool keyword(const json::object& schema, std::string_view word, const json::value& rule,
               const json::value& value) const {
    if (word == "$schema" || word == "$defs" || word == "title" || word == "description" || word == "default") {
      return true;
    }
    if (word == "$ref") {
      const std::string name(rule.as_string().subview(std::string_view("#/$defs/").size()));
      return holds(root_.at("$defs").at(name).as_object(), value);
    }
    if (word == "type") return one_type(rule, value);
    if (word == "enum") {
      return std::find(rule.as_array().begin(), rule.as_array().end(), value) != rule.as_array().end();
    }
    if (word == "pattern") return !value.is_string() || fits(rule, value.get_string());
    if (word == "minimum") return !value.is_number() || value.to_number<double>() >= rule.to_number<double>();
    if (word == "maximum") return !value.is_number() || value.to_number<double>() <= rule.to_number<double>();
    if (word == "not") return !holds(rule.as_object(), value);
    if (word == "anyOf") return count_holding(rule, value) > 0;
    if (word == "oneOf") return count_holding(rule, value) == 1;
    if (word == "minItems") return !value.is_array() || value.get_array().size() >= rule.to_number<std::size_t>();
    if (word == "items") return !value.is_array() || all_hold(rule.as_object(), value.get_array());
    return object_keyword(schema, word, rule, value);
  }

  bool all_hold(const json::object& rule, const json::array& values) const {
    return std::all_of(values.begin(), values.end(), [&](const json::value& value) { return holds(rule, value); });
  }

  bool object_keyword(const json::object& schema, std::string_view word, const json::value& rule,
                      const json::value& value) const {
    const json::object* object = value.if_object();
    if (object == nullptr) return true;
    if (word == "required") {
      return std::all_of(rule.as_array().begin(), rule.as_array().end(),
                         [&](const json::value& key) { return object->contains(key.as_string()); });
    }
    const json::value* known = schema.if_contains("properties");
    for (const auto& member : *object) {
      const json::value* its = known == nullptr ? nullptr : known->as_object().if_contains(member.key());
      if (word == "properties") {
        if (its != nullptr && !holds(its->as_object(), member.value())) return false;
      } else if (word == "propertyNames") {
        if (!fits(rule.at("pattern"), member.key())) return false;
      } else if (word == "additionalProperties") {
        if (its == nullptr && (rule.is_bool() ? !rule.get_bool() : !holds(rule.as_object(), member.value()))) {
          return false;
        }
      } else {
        ADD_FAILURE() << "unknown keyword " << word;
      }
    }
    return true;
  }

  json::value root_;
};

class Both : public ::testing::Test {
 protected:
  Both()
      : pipeline_(json::parse(schema_json(SchemaOf::pipeline))),
        workspace_(json::parse(schema_json(SchemaOf::workspace))) {
    folder_.write("eider.yaml", "pools: {heavy: 1, net: 8}\nassets: {ext.x: , ext.y: , ext.z: , exxt.z: }\n");
    folder_.write("sql/x.sql", "select 1");
  }

  bool schema_accepts(const Checker& checker, const std::string& text) {
    auto parsed = YamlTree::parse(text);
    const auto* tree = std::get_if<YamlTree>(&parsed);
    return tree != nullptr && checker.accepts(to_json(tree->root()));
  }
  bool schema_accepts(const std::string& text) { return schema_accepts(pipeline_, text); }
  Lines parser_says(const std::string& text) {
    folder_.write("pipelines/x.yaml", text);
    const auto loaded = load_workspace(folder_.path());
    Lines out = loaded.ok() ? lines_of(loaded->diagnostics) : Lines{loaded.error().message};
    return out;
  }

  TestFolder folder_;
  Checker pipeline_;
  Checker workspace_;
};

const std::string kHead = "pipeline: x\nsteps: [{id: a, run: [x, 1, true]}]\n";

TEST_F(Both, AcceptTheSamePipelines) {
  const std::string good[] = {
      kHead,
      kHead +
          "description: 2026\npriority: -3\nmax_active_runs: 0\ntimeout: 1h30m\nqueue_timeout: 500ms\ntimezone: "
          "Europe/Brussels\n",
      kHead +
          "schedules:\n  - {id: 1, cron: '* * * * *', overlap: queue, misfire: all, grace: 0s, max_catchup: 2}\n"
          "  - {id: b, every: 5s, anchor: 2026-01-01T00:00:00Z, from: completion}\n  - {id: c, at: "
          "2026-01-01T00:00:00Z}\n",
      kHead + "schedules:\nretry:\nresources:\npublishes: []\npools:\n",
      kHead + "retry: {max_attempts: 3, backoff: 1s, factor: 1.5, max_backoff: 1m, jitter: 25%}\n",
      kHead + "retry: {factor: 2, jitter: 0.5}\nresources: {threads: 2, memory: 2GB, temp: 1.5 GiB}\n",
      kHead + "resources: {memory: 134217728}\n",
      kHead + "pool: heavy\n",
      kHead + "pools: {heavy: 1, net: 2}\n",
      kHead + "database: w.duckdb\npublishes: [{asset: a.b, table: t, after: a}, {asset: c, path: out/x}]\n",
      kHead + "database: {file: /tmp/w.duckdb, mode: read}\n",
      kHead + "publishes: [{asset: a.b, shared: true}, {asset: 2026}]\npartitions: {names: [eu, 2026, a=b+1]}\n",
      kHead + "triggers:\npartitions: {every: day, start: 2026-01-01, end: 2026-12-31}\n",
      kHead +
          "triggers:\n  - {id: t, assets: ext.x}\n  - {id: u, assets: ['ext.*', ext.y], match: all, partition: same, "
          "on: changed, start: earliest, order: strict}\n  - {id: v, assets: 'e?[xy]t.*', debounce: 30s, max_wait: "
          "5m}\n  - {id: w, assets: [\"*\"], batch: true}\n",
      R"(pipeline: x
steps:
  - {id: a, sql: sql/x.sql, transaction: none}
  - {id: b, run: ls | wc, shell: true, needs: [a], timeout: 5s}
  - {id: c, run: [x], env: {A: 1, B: b, C: true}, needs: }
)",
  };
  for (const std::string& text : good) {
    EXPECT_EQ(parser_says(text), Lines{}) << text;
    EXPECT_TRUE(schema_accepts(text)) << text;
  }
}

TEST_F(Both, AgreeAboutCalendars) {
  const Checker calendar(json::parse(schema_json(SchemaOf::calendar)));
  const std::pair<std::string, bool> texts[] = {
      {"dates: [2026-12-25, 2027-01-01]\nranges: [{from: 2026-07-01, to: 2026-07-15}]\n", true},
      {"timezone: UTC\nweekdays: [sat, sun]\nhours: [\"22:00-06:00\", 08:00-09:00]\ndescription: 1\n", true},
      {"dates: []\n", true},
      {"weekdays: [sonday]\n", false},
      {"dates: [1]\n", false},
      {"dates: 2026-12-25\n", false},
      {"ranges: [{from: 2026-07-01}]\n", false},
      {"hours: [22-06]\n", false},
      {"days: [mon]\n", false},
  };
  for (const auto& [text, good] : texts) {
    folder_.write("calendars/x.yaml", text);
    const auto loaded = load_workspace(folder_.path());
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded->broken_calendars.empty(), good)
        << text << ::testing::PrintToString(lines_of(loaded->diagnostics));
    EXPECT_EQ(schema_accepts(calendar, text), good) << text;
  }
}

TEST_F(Both, RefuseTheSamePipelines) {
  const std::string bad[] = {
      "",
      "[]",
      "pipeline: x\n",
      "pipeline: a/b\nsteps: [{id: a, run: [x]}]\n",
      kHead + "unknown: 1\n",
      kHead + "freshness: 1h\n",
      kHead + "triggers: [{id: a}]\n",
      kHead + "triggers: [{id: a, assets: []}]\n",
      kHead + "triggers: [{id: a, assets: {raw.x: 1}}]\n",
      kHead + "triggers: [{id: a, assets: 'raw x'}]\n",
      kHead + "triggers: [{id: a, assets: raw.x, match: some}]\n",
      kHead + "triggers: [{id: a, assets: raw.x, batch: yes}]\n",
      kHead + "triggers: [{id: a, assets: raw.x, debounce: 5}]\n",
      kHead + "triggers: [{id: a, assets: raw.x, on: change}]\n",
      kHead + "triggers: {id: a, assets: raw.x}\n",
      kHead + "partitions: {}\n",
      kHead + "partitions: [a]\n",
      kHead + "partitions: {names: [a/b]}\n",
      kHead + "partitions: {every: week}\n",
      kHead + "partitions: {every: day, names: [a]}\n",
      kHead + "schedules: [{id: a}]\n",
      kHead + "schedules: [{id: a, every: 5s, cron: '* * * * *'}]\n",
      kHead + "schedules: [{id: a, every: 5}]\n",
      kHead + "schedules: [{id: a, every: 5s, overlap: skipp}]\n",
      kHead + "schedules: {id: a, every: 5s}\n",
      kHead + "priority: '1'\n",
      kHead + "priority: 1001\n",
      kHead + "priority: 1.5\n",
      kHead + "timeout: 2 hours\n",
      kHead + "resources: {memory: lots}\n",
      kHead + "retry: {jitter: 2}\n",
      kHead + "pools: {heavy: 0}\n",
      kHead + "pools: {a b: 1}\n",
      kHead + "database: [x]\n",
      kHead + "database: {mode: read}\n",
      kHead + "description: {a: b}\n",
      kHead + "description:\n",
      kHead + "publishes: [{asset: a, path: x, table: y}]\n",
      kHead + "publishes: [{asset: a..b}]\n",
      "pipeline: x\nsteps: [{id: a}]\n",
      "pipeline: x\nsteps: [{id: a, run: []}]\n",
      "pipeline: x\nsteps: [{id: a, run: [x], env: {EIDER_X: 1}}]\n",
      "pipeline: x\nsteps: [{id: a, run: [x], env: {A-B: 1}}]\n",
      "pipeline: x\nsteps: [{id: a, run: [[x]]}]\n",
      "pipeline: x\nsteps: [{id: a, run: x, shell: 'true'}]\n",
  };
  for (const std::string& text : bad) {
    EXPECT_NE(parser_says(text), Lines{}) << text;
    EXPECT_FALSE(schema_accepts(text)) << text;
  }
}

TEST_F(Both, AgreeOnSettings) {
  std::filesystem::remove(folder_.path("pipelines/x.yaml"));
  const std::pair<std::string, bool> cases[] = {
      {"", true},
      {"workers:\npools:\n", true},
      {"workers: {max: 4}\npools: {heavy: {slots: 1}, net: 8, empty: }\ndefaults: {timezone: UTC, retry: "
       "{max_attempts: 2}}\n",
       true},
      {"resources: {memory: 8GiB}\nlogs: {limit: 1MiB}\nserver: {drain_timeout: 0s}\n", true},
      {"assets:\n  raw.x:\n  raw.y: {description: 5, watch: in, files: '*.csv', settle: 500ms}\n", true},
      {"assets: {raw/x: }\n", false},
      {"assets: [raw.x]\n", false},
      {"assets: {raw.x: {watch: in, settle: 5}}\n", false},
      {"assets: {raw.x: {path: in}}\n", false},
      {"workers: {max: 0}\n", false},
      {"workers: 4\n", false},
      {"worker: {max: 4}\n", false},
      {"pools: [heavy]\n", false},
      {"pools: {a: x}\n", false},
      {"server: {listen: x}\n", false},
      {"logs: {limit: -1}\n", false},
      {"text", false},
  };
  for (const auto& [text, good] : cases) {
    folder_.write("eider.yaml", text);
    const auto loaded = load_workspace(folder_.path());
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded->usable, good) << text;
    EXPECT_EQ(schema_accepts(workspace_, text), good) << text;
  }
}

/// `key: default` of each key of a section that names one.
std::string defaults_of(const Section& section, const std::string& indent) {
  std::string out;
  for (const Key& key : section.keys) {
    if (!key.fallback.empty()) out += fmt::format("{}{}: {}\n", indent, key.name, key.fallback);
  }
  return out;
}

const Section& section_named(std::string_view name) {
  for (const Section* section : all_sections()) {
    if (section->name == name) return *section;
  }
  ADD_FAILURE() << "no section " << name;
  return pipeline_section();
}

TEST_F(Both, WhatTheTableCallsADefaultIsOne) {
  const auto definition = [&](const std::string& text) {
    folder_.write("pipelines/x.yaml", text);
    const auto loaded = load_workspace(folder_.path());
    EXPECT_TRUE(loaded.ok() && loaded->pipelines.contains("x")) << text;
    if (!loaded.ok() || !loaded->pipelines.contains("x")) return std::string();
    EXPECT_TRUE(loaded->diagnostics.empty()) << format(loaded->diagnostics[0]);
    return *loaded->pipelines.at("x").definition;
  };
  const std::string bare =
      "pipeline: x\ndatabase:\n  file: w\nschedules:\n  - id: s\n    every: 5s\n"
      "triggers:\n  - id: t\n    assets: ext.x\npublishes:\n  - asset: a\n"
      "steps:\n  - id: q\n    sql: select 1\n";
  const std::string written =
      "pipeline: x\n" + defaults_of(pipeline_section(), "") + "database:\n  file: w\n" +
      defaults_of(section_named("database"), "  ") + "schedules:\n  - id: s\n    every: 5s\n" +
      defaults_of(section_named("schedule"), "    ") + "triggers:\n  - id: t\n    assets: ext.x\n" +
      defaults_of(section_named("trigger"), "    ") + "publishes:\n  - asset: a\n" +
      defaults_of(section_named("publish"), "    ") + "retry:\n" + defaults_of(section_named("retry"), "  ") +
      "steps:\n  - id: q\n    sql: select 1\n" + defaults_of(section_named("step"), "    ");
  // The line of the SQL text differs for itself.
  const auto without_line = [](std::string text) {
    const std::size_t at = text.find("\"sql_first_line\":");
    return at == std::string::npos ? text : text.erase(at, text.find(',', at) - at);
  };
  EXPECT_EQ(without_line(definition(written)), without_line(definition(bare)));
  EXPECT_GT(written.size(), bare.size() + 200);

  std::filesystem::remove(folder_.path("pipelines/x.yaml"));
  std::string settings;
  for (const Key& key : workspace_section().keys) {
    if (key.of != nullptr && key.type == Type::section) {
      settings += fmt::format("{}:\n{}", key.name, defaults_of(*key.of, "  "));
    }
  }
  folder_.write("eider.yaml", settings);
  EXPECT_EQ(load_workspace(folder_.path())->settings, model::Settings()) << settings;
  folder_.write("eider.yaml", "assets:\n  x:\n    watch: in\n" + defaults_of(section_named("asset"), "    "));
  model::ExternalAsset usual{"x", "", "in"};
  EXPECT_EQ(load_workspace(folder_.path())->settings.assets.at("x"), usual);
}

TEST(Schema, NamesEveryKeyAndNoOther) {
  for (const SchemaOf of : {SchemaOf::pipeline, SchemaOf::workspace}) {
    const json::value schema = json::parse(schema_json(of));
    const Section& root = of == SchemaOf::pipeline ? pipeline_section() : workspace_section();
    for (const Section* section : all_sections()) {
      const json::value* definition =
          section == &root ? &schema : schema.at("$defs").as_object().if_contains(section->name);
      if (definition == nullptr) continue;
      const json::object& properties = definition->at("properties").as_object();
      EXPECT_EQ(properties.size(), section->keys.size()) << section->name;
      for (const Key& key : section->keys)
        EXPECT_TRUE(properties.contains(key.name)) << section->name << "." << key.name;
    }
  }
}

/// The words of a choice are those of the enum that they are read into, in its order from `first` on.
template <typename Enum>
void follows(std::string_view section, std::string_view name, int first = 0) {
  for (const Key& key : section_named(section).keys) {
    if (key.name != name) continue;
    const auto words = split_words(key.choices);
    for (std::size_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(words[i], model::to_text(static_cast<Enum>(first + static_cast<int>(i)))) << name;
    }
    EXPECT_GE(words.size(), 2u) << name;
  }
}

TEST(Keys, ChoicesFollowTheEnums) {
  follows<model::Overlap>("schedule", "overlap");
  follows<model::Misfire>("schedule", "misfire");
  follows<model::Trigger::Match>("trigger", "match");
  follows<model::Trigger::Start>("trigger", "start");
  follows<model::Trigger::Order>("trigger", "order");
  follows<model::Partitions::Every>("partitions", "every", 1);
}

// EIDER_WRITE_REFERENCE=1 workspace_test --gtest_filter='Reference.*' writes the page anew.
TEST(Reference, TheCommittedPageIsTheTable) {
  const auto path = (std::filesystem::path(EIDER_TEST_DATA) / "../../../docs/reference/files.md").lexically_normal();
  if (std::getenv("EIDER_WRITE_REFERENCE") != nullptr) std::ofstream(path) << reference_markdown();
  std::ifstream file(path);
  const std::string committed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(committed == reference_markdown())
      << "docs/reference/files.md is not what src/workspace/keys.cc says; write it anew with\n"
         "  EIDER_WRITE_REFERENCE=1 build/src/workspace/workspace_test --gtest_filter='Reference.*'";
}

}  // namespace
}  // namespace eider::workspace
