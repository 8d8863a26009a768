#include "model/run.h"

#include <fmt/format.h>
#include <array>
#include <boost/json.hpp>

#include "base/check.h"
#include "base/ids.h"
#include "base/time.h"

namespace eider::model {
namespace {

namespace json = boost::json;

constexpr std::array<const char*, 5> run_states = {"queued", "running", "succeeded", "failed", "cancelled"};
constexpr std::array<const char*, 7> outcomes = {"succeeded", "failed",      "timed_out", "cancelled",
                                                 "crashed",   "interrupted", "released"};
constexpr std::array<const char*, 4> trigger_kinds = {"schedule", "data", "manual", "backfill"};
constexpr std::array<const char*, 6> decisions = {"run", "skipped", "missed", "coalesced", "excluded", "paused"};

template <typename Enum, std::size_t N>
const char* name_of(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  EIDER_CHECK(index < N, "a value outside its enum");
  return names[index];
}

struct Sentence {
  std::string_view code;
  std::string_view text;
};
constexpr Sentence sentences[] = {
    {reason::due, "it was due"},
    {reason::late, "it was due and is run late, as misfire: latest says"},
    {reason::caught_up, "it was missed and is caught up, as misfire: all says"},
    {reason::active_run, "a run of the pipeline was active, and overlap: skip says not to start another"},
    {reason::queue_full, "as many runs were waiting as queue_limit allows"},
    {reason::server_queue_full, "the server's queue was full"},
    {reason::misfire_skip, "it was decided later than grace, and misfire: skip says not to run it"},
    {reason::newer_due, "a newer instant of the schedule was due as well, and misfire: latest runs only the newest"},
    {reason::catchup_limit, "more was missed than max_catchup allows, and only the newest are caught up"},
    {reason::catchup_window, "it is older than catchup_window"},
    {reason::paused, "the schedule was paused"},
    {reason::starts_paused, "the file of the new schedule says paused: true"},
    {reason::paused_after_failures, "so many of its runs failed one after the other as pause_after_failures says"},
    {reason::resumed, "it fell due while the schedule was paused, and is caught up as the resume asked"},
    {reason::excluded_by_calendar, "it lies in a calendar that exclude names"},
    {reason::not_in_calendar, "it lies in none of the calendars that only names"},
    {reason::before_start, "it lies before the schedule's start"},
    {reason::after_end, "it lies after the schedule's end"},
    {reason::rule_changed, "the schedule is new or its rule was changed, and starts from then"},
    {reason::clock_stepped_back, "the clock was set back"},
    {reason::requested, "a person asked for it"},
    {reason::replaced, "a newer run of the schedule took its place, as overlap: replace says"},
    {reason::expired, "it waited longer than queue_timeout"},
    {reason::pipeline_removed, "the pipeline was removed from the workspace"},
    {reason::schedule_removed, "the schedule was removed from the pipeline"},
    {reason::budget_spent, "no attempts were left"},
    {reason::interruptions_spent, "it was interrupted too often"},
    {reason::cause_not_retried, "retry.on says not to try again what ended like that"},
    {reason::final_exit_code, "its exit code is one of retry.final_exit_codes: it would fail again"},
    {reason::interrupted_final, "it was interrupted, and on_interrupt: fail says not to run it again"},
    {reason::file_held, "a process outside Eider holds its DuckDB file"},
    {reason::not_started, "the server could not start it; that is tried again"},
    {reason::server_stopped, "the server was stopped before it was done"},
    {reason::definition_broken, "the pipeline's file is wrong"},
    {reason::data_published, "data that its trigger waits for was published"},
    {reason::run_failed, "its run failed"},
    {reason::run_cancelled, "its run was cancelled"},
    {reason::trigger_removed, "the trigger was removed from the pipeline"},
    {reason::unknown_partition, "the pipeline has no such partition"},
    {reason::chain_too_long, "its chain of causes is longer than any real one: most likely it is a loop"},
    {reason::skipped_by_person, "a person skipped it"},
    {reason::retried, "a person asked to try it again"},
};

}  // namespace

bool is_terminal(RunState state) { return state >= RunState::succeeded; }
const char* to_text(RunState value) { return name_of(run_states, value); }
const char* to_text(Outcome value) { return name_of(outcomes, value); }
const char* to_text(TriggerKind value) { return name_of(trigger_kinds, value); }
const char* to_text(Decision value) { return name_of(decisions, value); }

std::optional<RunState> run_state_from(std::string_view text) {
  for (std::size_t i = 0; i < run_states.size(); ++i) {
    if (text == run_states[i]) return static_cast<RunState>(i);
  }
  return std::nullopt;
}

std::string reason_sentence(std::string_view code) {
  for (const Sentence& sentence : sentences) {
    if (sentence.code == code) return std::string(sentence.text);
  }
  return std::string(code);
}

std::string taken_json(const Taken& taken) {
  json::object pools;
  for (const auto& [name, slots] : taken.pools) pools[name] = slots;
  json::array files;
  for (const Taken::File& file : taken.files)
    files.push_back(json::object{{"path", file.path}, {"read_only", file.read_only}});
  json::object out{{"pools", pools}, {"files", files}, {"memory_bytes", taken.memory_bytes}};
  // What few runs take is written only where it was taken: most rows stay short.
  if (taken.temp_bytes != 0) out["temp_bytes"] = taken.temp_bytes;
  if (!taken.concurrency.empty()) out["concurrency"] = taken.concurrency;
  if (!taken.locks.empty()) {
    json::object locks;
    for (const auto& [name, mode] : taken.locks) locks[name] = to_text(mode);
    out["locks"] = std::move(locks);
  }
  return json::serialize(out);
}

Result<Taken> parse_taken(std::string_view text) {
  const Error broken{ErrorCode::corrupt, fmt::format("what a claim took is not readable: {}", text.substr(0, 200))};
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  if (failed || !value.is_object()) return broken;
  Taken taken;
  const json::object& object = value.get_object();
  if (const json::value* pools = object.if_contains("pools"); pools && pools->is_object()) {
    for (const auto& [name, slots] : pools->get_object()) {
      if (!slots.is_int64()) return broken;
      taken.pools[std::string(name)] = static_cast<int>(slots.get_int64());
    }
  }
  if (const json::value* files = object.if_contains("files"); files && files->is_array()) {
    for (const json::value& file : files->get_array()) {
      const json::object* entry = file.if_object();
      const json::value* path = entry ? entry->if_contains("path") : nullptr;
      const json::value* read_only = entry ? entry->if_contains("read_only") : nullptr;
      if (!path || !path->is_string() || !read_only || !read_only->is_bool()) return broken;
      taken.files.push_back({std::string(path->get_string()), read_only->get_bool()});
    }
  }
  if (const json::value* memory = object.if_contains("memory_bytes"); memory && memory->is_int64()) {
    taken.memory_bytes = memory->get_int64();
  }
  if (const json::value* temp = object.if_contains("temp_bytes"); temp && temp->is_int64()) {
    taken.temp_bytes = temp->get_int64();
  }
  if (const json::value* concurrency = object.if_contains("concurrency"); concurrency && concurrency->is_string()) {
    taken.concurrency = std::string(concurrency->get_string());
  }
  if (const json::value* locks = object.if_contains("locks"); locks && locks->is_object()) {
    for (const auto& [name, mode] : locks->get_object()) {
      if (mode != "read" && mode != "write") return broken;
      taken.locks[std::string(name)] = mode == "write" ? LockMode::write : LockMode::read;
    }
  }
  return taken;
}

std::string occurrence_id(std::string_view schedule, Instant scheduled_for) {
  std::string id = derived_id({"occurrence", schedule, std::to_string(to_us(scheduled_for))});
  const std::int64_t minute = to_us(scheduled_for) / 60'000'000;
  id.replace(0, id_group_length, fmt::format("{:04x}", static_cast<std::uint16_t>(minute)));
  return id;
}

}  // namespace eider::model
