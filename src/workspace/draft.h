// What a pipeline file says, before it is put together and checked as a whole: the model's values plus the forms that
// a person may choose from. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/pipeline.h"
#include "timing/calendar.h"

namespace eider::workspace {

struct SqlText {
  std::string text;    ///< a path or a script
  int first_line = 0;  ///< of the script in the pipeline file; 0: its lines are not those of the file
};

struct Command {
  std::vector<std::string> arguments;
  std::string line;  ///< for the shell; empty when arguments were given
};

struct StepDraft {
  model::Step step;
  std::optional<SqlText> sql;
  std::optional<Command> command;
  bool shell = false;
};

struct PipelineDraft {
  model::Pipeline pipeline;  ///< without steps
  std::vector<StepDraft> steps;
  std::optional<std::string> pool;
  std::optional<int> max_active_runs;
};

enum class Weekday { sun, mon, tue, wed, thu, fri, sat };

/// What a file of calendars/ says.
struct CalendarDraft {
  std::string description;
  std::string timezone;
  std::optional<std::vector<timing::Day>> dates;
  std::optional<std::vector<timing::DayRange>> ranges;
  std::optional<std::vector<Weekday>> weekdays;
  std::optional<std::vector<timing::DayHours>> hours;
};

}  // namespace eider::workspace
