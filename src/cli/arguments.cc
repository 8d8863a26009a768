#include "cli/arguments.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/verb_tree.h"
#include "workspace/words.h"

namespace eider::cli {
namespace {

using workspace::closest;

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); }))
    out.push_back(each);
  return out;
}

const CLI::App* find_verb(const CLI::App& app, const std::string& name) {
  for (const CLI::App* each : verbs_of(app)) {
    if (each->get_name() == name) return each;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& verb, const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* from : {&verb, &app}) {
    for (const CLI::Option* option : from->get_options()) {
      if (option->get_group().empty() || (from == &app && &verb != &app && option == app.get_version_ptr())) continue;
      for (const std::string& name : option->get_lnames()) {
        if (std::find(out.begin(), out.end(), "--" + name) == out.end()) out.push_back("--" + name);
      }
    }
  }
  return out;
}

/// The option that a word names, of the verb or of all.
const CLI::Option* find_option(const CLI::App& verb, const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (name.size() < 2 || name[0] != '-') return nullptr;
  for (const CLI::App* from : {&verb, &app}) {
    if (const CLI::Option* option = from->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

/// Where a line has got to: the verb that its words name, and how many of its plain arguments it has.
struct Place {
  const CLI::App* verb = nullptr;
  std::size_t arguments = 0;
  const CLI::Option* wants_value = nullptr;  ///< the last word is an option that takes the next one
  std::string workspace;
  std::string path;        ///< `eider schedule pause`
  std::string wrong_verb;  ///< a word where a verb should be
  std::string wrong_option;
};

Place walk(const CLI::App& app, const std::vector<std::string>& words) {
  Place place;
  place.verb = &app;
  place.path = "eider";
  for (const std::string& word : words) {
    if (place.wants_value) {
      if (place.wants_value == app.get_option_no_throw("--workspace")) place.workspace = word;
      place.wants_value = nullptr;
      continue;
    }
    if (word.size() > 1 && word[0] == '-') {
      const CLI::Option* option = find_option(*place.verb, app, word);
      if (!option && place.wrong_option.empty()) place.wrong_option = word.substr(0, word.find('='));
      if (!option || option->get_items_expected_max() == 0) continue;
      if (const auto equals = word.find('='); equals == std::string::npos) {
        place.wants_value = option;
      } else if (option == app.get_option_no_throw("--workspace")) {
        place.workspace = word.substr(equals + 1);
      }
    } else if (!verbs_of(*place.verb).empty()) {
      const CLI::App* next = find_verb(*place.verb, word);
      if (!next) {
        if (place.wrong_verb.empty()) place.wrong_verb = word;
        return place;
      }
      place.verb = next;
      place.path += " " + word;
    } else {
      ++place.arguments;
    }
  }
  return place;
}

/// `WHEN` of `WHEN:{auto,always,never}`.
std::string kind_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view meant = closest(word, {known.begin(), known.end()});
  return meant.empty() ? "" : fmt::format("; did you mean `{}`?", meant);
}

std::string explain_error(const CLI::App& app, const std::vector<std::string>& arguments,
                          const CLI::ParseError& error) {
  const Place place = walk(app, arguments);
  std::vector<std::string> verbs;
  for (const CLI::App* each : verbs_of(*place.verb)) verbs.push_back(each->get_name());
  std::string said;
  // A word after a wrong option may have been meant as its value.
  if (!place.wrong_option.empty()) {
    said = fmt::format("`{}` has no option `{}`{}", place.path, shown(place.wrong_option),
                       did_you_mean(place.wrong_option, option_names(*place.verb, app)));
  } else if (!place.wrong_verb.empty()) {
    said =
        fmt::format("`{} {}` is no verb{}", place.path, shown(place.wrong_verb), did_you_mean(place.wrong_verb, verbs));
  } else if (place.wants_value) {
    said = fmt::format("`{}` needs a value: {}", place.wants_value->get_name(), place.wants_value->get_description());
  } else if (place.verb->get_require_subcommand_min() > 0) {
    said =
        fmt::format("`{}` needs a verb: {}", place.path, workspace::join_words({verbs.begin(), verbs.end()}, " or "));
  } else {
    said = fmt::format("`{}`: {}", place.path, error.what());
    std::replace(said.begin(), said.end(), '\n', ' ');
  }
  return fmt::format("{}\n`{} --help` shows how it is used", said, place.path);
}

}  // namespace

Parsed parse_arguments(const std::vector<std::string>& arguments, const std::string& version) {
  Parsed parsed;
  if (!arguments.empty() && arguments[0] == "__complete") {
    parsed.options.emplace();
    parsed.options->verb = Verb::complete;
    parsed.options->words.assign(arguments.begin() + 1, arguments.end());
    return parsed;
  }
  VerbTree tree(version);
  // `eider help runs list` is what some people try first.
  if (!arguments.empty() && arguments[0] == "help") {
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    if (!walk(tree.app(), asked).wrong_verb.empty()) {
      parsed.error = explain_error(tree.app(), asked, CLI::CallForHelp());
      return parsed;
    }
    asked.emplace_back("--help");
    return parse_arguments(asked, version);
  }
  try {
    tree.app().parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    parsed.options = std::move(tree.options());
  } catch (const CLI::Success& success) {
    std::ostringstream out, error;
    tree.app().exit(success, out, error);
    parsed.output = out.str();
    if (!parsed.output.ends_with('\n')) parsed.output += '\n';
  } catch (const CLI::ParseError& error) {
    parsed.error = explain_error(tree.app(), arguments, error);
  }
  return parsed;
}

Completion complete_arguments(const std::vector<std::string>& words) {
  VerbTree tree("");
  const CLI::App& app = tree.app();
  Completion out;
  if (words.empty()) return out;
  const Place place = walk(app, {words.begin(), words.end() - 1});
  out.typed = words.back();
  out.workspace = place.workspace;
  out.verb = place.path;
  if (!place.wrong_verb.empty()) return out;
  if (place.wants_value) {
    out.kind = kind_of(*place.wants_value);
    return out;
  }
  if (const auto equals = out.typed.find('='); out.typed.starts_with("--") && equals != std::string::npos) {
    if (const CLI::Option* option = find_option(*place.verb, app, out.typed)) out.kind = kind_of(*option);
    out.before = out.typed.substr(0, equals + 1);
    out.typed.erase(0, equals + 1);
    return out;
  }
  std::vector<std::string> candidates;
  if (out.typed.starts_with("-")) {
    candidates = option_names(*place.verb, app);
  } else {
    for (const CLI::App* each : verbs_of(*place.verb)) candidates.push_back(each->get_name());
  }
  for (std::string& each : candidates) {
    if (each.starts_with(out.typed)) out.words.push_back(std::move(each));
  }
  if (!out.typed.starts_with("-") && place.arguments == 0) {
    for (const CLI::Option* option : place.verb->get_options()) {
      if (option->get_positional()) out.kind = option->get_name();
    }
  }
  return out;
}

}  // namespace eider::cli
