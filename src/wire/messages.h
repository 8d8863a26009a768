// What server and worker say to each other, and the result that a worker leaves on disk. Plain values with a JSON
// form; every frame and file carries `version`, and a reader accepts the versions 1 … wire_version, so that a new
// server adopts the runs of the previous one (design section 3).
//
// A connection is a stream socket; a frame is a 4-byte little-endian length and that many bytes of JSON
// (at most 64 MiB). Server -> worker on its socket pair: Welcome, Job (with the lock's descriptor), Cancel, Quit.
// Worker -> server: Ready, StepStarted, StepProgress, StepEnded, Published, Finished. On an attempt's own socket
// (`<attempt>.sock`), a server that came back connects and gets Adopted first, then the same frames; it may send
// Cancel and Quit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/run.h"

namespace eider::wire {

inline constexpr int wire_version = 1;

// ---- server -> worker --------------------------------------------------------------------------------------------

/// First frame: where the worker works and how.
struct Welcome {
  std::string workspace;       ///< absolute path; the worker's cwd
  bool warm_sql = false;       ///< open a DuckDB instance before a run arrives
  std::string duckdb_library;  ///< path of libduckdb.so
};

enum class StepOutcome { succeeded, failed, timed_out, cancelled, skipped, receipt_found };
const char* to_text(StepOutcome value);
bool went_well(StepOutcome value);

struct StepResult {
  std::string step;
  StepOutcome outcome = StepOutcome::succeeded;
  std::optional<Instant> started_at;
  std::optional<Instant> finished_at;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::int64_t> peak_memory_bytes;
  std::optional<std::int64_t> rows;
  std::string error;
  std::string facts;            ///< JSON object of what the step wrote to $EIDER_OUTPUT, or empty
  int left_over_processes = 0;  ///< processes of the step that had to be ended after it
  // What a retry must know that does not do the step again (decide/failure.h).
  std::string said{};     ///< its lines of $EIDER_OUTPUT about assets
  std::string content{};  ///< model::step_hash
  /// Assets that wait for publication with the step; known at the end of its attempt only.
  std::optional<std::vector<std::string>> unpublished{};
  int kept_from = 0;  ///< the attempt that did it; 0: this one
};

/// One attempt of one run, claimed and committed. The locked lock file's descriptor travels with this frame.
struct Job {
  std::string run_id;
  int attempt = 0;
  std::string definition;                    ///< model::definition_json
  std::map<std::string, std::string> facts;  ///< scheduled_for, partition, params, trigger …; absent = null
  std::string folder;                        ///< `.eider/runs/<run>`, absolute; made by the worker if missing
  std::int64_t log_limit_bytes = 0;
  Micros clock_offset{};           ///< added to the worker's wall clock (a test clock's), else 0
  std::vector<StepResult> kept{};  ///< steps that are not done again, as an earlier attempt left them
};

/// End the current attempt: interrupt, then SIGTERM, then SIGKILL (design section 6). A result that is committed
/// already wins over it.
struct Cancel {
  std::string run_id;
  int attempt = 0;
  std::string reason;
};

/// Exit when idle.
struct Quit {};

// ---- worker -> server --------------------------------------------------------------------------------------------

struct Ready {
  int pid = 0;
};

struct StepStarted {
  std::string run_id;
  int attempt = 0;
  std::string step;
  int pid = 0;  ///< 0 for SQL
  Instant at{};
};

struct StepProgress {
  std::string run_id;
  int attempt = 0;
  std::string step;
  double fraction = 0;  ///< 0 to 1
};

struct StepEnded {
  std::string run_id;
  int attempt = 0;
  StepResult result;
};

/// A staged file or folder that becomes visible at its target. Replaying it is harmless: it is done when `staged`
/// is gone or the target has `inode` already.
struct Rename {
  std::string staged;  ///< absolute
  std::string target;  ///< absolute
  std::uint64_t inode = 0;
  bool folder = false;
  std::string asset;  ///< what becomes visible by it
};

/// An asset that the attempt has published: what the server records as a materialization.
struct Publication {
  std::string asset;
  std::string partition;  ///< empty: the whole asset
  std::string step;       ///< `after: STEP`; empty: at the end of the run
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> bytes;
  std::string columns;      ///< JSON array of {"name", "type"}, or empty
  std::string fingerprint;  ///< of the content; empty: not known
  std::string metadata;     ///< JSON object, or empty
};

/// `after: STEP`: published while the run goes on. It is on disk already (`<attempt>.published.json`).
struct Published {
  std::string run_id;
  int attempt = 0;
  Publication publication;
};

/// A DuckDB file that somebody outside Eider holds: the attempt ends `released`, nothing is counted.
struct FileHeld {
  std::string path;
  int pid = 0;  ///< 0: unknown
};

/// How an attempt ended. As a file (`<attempt>.result.json`, written and synced) it is the commit point; the renames
/// follow it.
struct AttemptResult {
  std::string run_id;
  int attempt = 0;
  model::Outcome outcome = model::Outcome::succeeded;
  std::string error;  ///< one or more lines for people; empty when succeeded
  std::optional<Instant> started_at;
  Instant finished_at{};
  int worker_pid = 0;
  std::optional<int> exit_code;  ///< of the step that decided the outcome
  std::optional<int> signal;
  std::optional<std::int64_t> peak_memory_bytes;  ///< worker and steps, the largest
  std::vector<StepResult> steps;
  std::vector<Rename> renames;
  std::vector<Publication> publications;  ///< all of the attempt, those of `after: STEP` included; only with succeeded
  std::optional<FileHeld> file_held;
};

struct Finished {
  AttemptResult result;
};

/// First frame on an attempt's own socket: the attempt is alive.
struct Adopted {
  std::string run_id;
  int attempt = 0;
  int pid = 0;
  std::vector<StepResult> steps;  ///< ended so far
  std::vector<StepStarted> running;
  std::vector<Publication> published;  ///< of `after: STEP`, so far
};

using ToWorker = std::variant<Welcome, Job, Cancel, Quit>;
using ToServer = std::variant<Ready, StepStarted, StepProgress, StepEnded, Published, Finished, Adopted>;

std::string encode(const ToWorker& message);
std::string encode(const ToServer& message);
/// An Error `corrupt` names what is wrong: unknown kind, newer version, missing key.
Result<ToWorker> decode_to_worker(std::string_view json);
Result<ToServer> decode_to_server(std::string_view json);
std::string encode_result(const AttemptResult& result);
Result<AttemptResult> decode_result(std::string_view json);
/// What an attempt has published before its end (`<attempt>.published.json`), with the renames that make it visible:
/// written and synced before them, so that a server which finds the file can repeat them and record the publications.
struct PublishedSoFar {
  std::vector<Publication> publications;
  std::vector<Rename> renames;
};
std::string encode_published(const PublishedSoFar& published);
Result<PublishedSoFar> decode_published(std::string_view json);
/// The steps as they are stored: a JSON array, times as RFC 3339.
std::string steps_json(const std::vector<StepResult>& steps);
/// Reads it back; an empty text is no steps.
Result<std::vector<StepResult>> parse_steps(std::string_view json);

}  // namespace eider::wire
