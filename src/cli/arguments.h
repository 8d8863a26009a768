// The command line: its verbs, options and help. The library behind it (CLI11) stays in arguments.cc and
// verb_tree.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace eider::cli {

/// A line that is understood, or what is said instead of doing anything.
struct Parsed {
  std::optional<Options> options;
  std::string output;  ///< of --help and --version: to standard output, exit 0
  std::string error;   ///< what is wrong: to standard error, exit 2
};
/// `arguments` without the program's name.
Parsed parse_arguments(const std::vector<std::string>& arguments, const std::string& version);

/// What may stand at the end of a line that is being typed.
struct Completion {
  std::vector<std::string> words;  ///< verbs or options that begin like it
  std::string kind;                ///< of a value: PIPELINE, SCHEDULE, RUN, STATE …; empty: none is wanted here
  std::string typed;               ///< the part of the last word that the value stands for
  std::string verb;                ///< whose: `eider deliveries list`
  std::string before;              ///< what precedes it in that word: `--pipeline=`
  std::string workspace;           ///< --workspace as typed so far
};
/// `words`: the line after the program's name; the last is the one being typed, perhaps empty.
Completion complete_arguments(const std::vector<std::string>& words);

}  // namespace eider::cli
