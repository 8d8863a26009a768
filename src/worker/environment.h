// What a step is told about its run: the environment of a program, the variables of a SQL script (design section 8).
// Pure, but for the constructor that reads the process's environment.
//
// A program gets the worker's environment without what belongs to the server alone (EIDER_*, and systemd's variables
// of the service), then the step's `env:`, then:
//   EIDER_RUN_ID EIDER_ATTEMPT EIDER_PIPELINE EIDER_STEP EIDER_WORKSPACE   always
//   EIDER_SCHEDULED_FOR EIDER_PARTITION EIDER_TRIGGER and any other fact, in upper case; the first two empty where
//   absent EIDER_EVENTS   file with the fact `events`, which may be too large for an environment; only where the run
//   has it EIDER_OUTPUT   file for the step's own facts (facts.h) EIDER_FACTS    file with the facts of the steps it
//   needs; only for a step with `needs` EIDER_TEMP     folder of the attempt, removed at its end EIDER_OUT_NAME staged
//   path of a published file (publishing.h)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace eider::worker {

/// Entries `NAME=value` of the worker itself that steps inherit.
std::map<std::string, std::string> inherited_environment(const char* const* environment);

/// What is the same for all steps of an attempt.
struct RunContext {
  std::string run_id;
  int attempt = 0;
  std::string pipeline;
  std::string workspace;
  std::string temp_folder;
  std::map<std::string, std::string> facts;    ///< of the Job
  std::map<std::string, std::string> outputs;  ///< staged paths by name (publishing.h)
};

/// Puts the fact `events`, if the run has it, where EIDER_EVENTS says.
Result<void> write_events(const RunContext& run);
/// `NAME=value`, sorted by name. `facts_file` may be empty.
std::vector<std::string> program_environment(const std::map<std::string, std::string>& inherited,
                                             const std::map<std::string, std::string>& of_step, const RunContext& run,
                                             const std::string& step, const std::string& facts_file);
/// Where the step writes its facts.
std::string output_file(const RunContext& run, const std::string& step);

/// run_id, attempt, pipeline, step, workspace, temp, facts (JSON), out_NAME, and the Job's facts; those that only some
/// runs have (scheduled_for, event_asset …) are NULL in the others.
std::map<std::string, std::optional<std::string>> sql_variables(const RunContext& run, const std::string& step,
                                                                const std::string& facts_json);

/// The program to execute: argv0 itself where it holds a slash (relative to `folder`), else the first executable of
/// that name in `path`. The error says which step, what was looked for and where.
Result<std::string> find_program(const std::string& argv0, const std::string& path, const std::string& folder);

}  // namespace eider::worker
