#include "store/sqlite/schema_versions.h"

#include <array>

namespace eider::store::sqlite {
namespace {

// Instants are microseconds since 1970, UTC. Enumerations are the numbers of model/run.h. A text that is not there
// is empty; it is NULL only where it is unique when set.
//
// The indexes are few, because each costs on the way of every run:
// (runs_queued went with version 4, and runs_open is another one since version 5.)
// - runs_queued holds queued runs only, in the order of claim: finished history never slows a claim. It carries
//   not_before so that runs which wait for their backoff are passed over without a look at the table.
// - runs_open and runs_running hold what has not ended, runs_ended_by_* what has. So a claim touches no index of the
//   history, and a run enters each of those once. All of them are in the order of the list, so that a list is a walk
//   backwards through one of them, or a merge of a few such walks (lists.cc).
// - runs_occurrence makes a second run of one occurrence impossible (I6). An id is a hash; with the instant before
//   it new entries go to the end, and not to a random page of the whole history.
// - A live attempt is the newest one of a running run, so that live attempts need no index.
constexpr const char* version_1 = R"sql(
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  pipeline TEXT NOT NULL,
  trigger_kind INTEGER NOT NULL,
  trigger_id TEXT NOT NULL,
  occurrence_id TEXT,
  parent TEXT NOT NULL,
  failures INTEGER NOT NULL,
  interruptions INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  catch_up INTEGER NOT NULL,
  scheduled_for INTEGER,
  partition TEXT NOT NULL,
  params TEXT NOT NULL,
  idempotency_key TEXT,
  created_at INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  cancel_asked_at INTEGER,
  definition TEXT NOT NULL,
  reason TEXT NOT NULL,
  error TEXT NOT NULL,
  CHECK (occurrence_id IS NULL OR scheduled_for IS NOT NULL),
  CHECK ((state >= 2) = (finished_at IS NOT NULL))
) STRICT;
CREATE INDEX runs_queued ON runs (priority DESC, seq, not_before) WHERE state = 0;
CREATE INDEX runs_open ON runs (seq, pipeline) WHERE state < 2;
CREATE INDEX runs_running ON runs (seq) WHERE state = 1;
CREATE INDEX runs_ended_by_state ON runs (state, seq) WHERE finished_at IS NOT NULL;
CREATE INDEX runs_ended_by_pipeline ON runs (pipeline, state, seq) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX runs_occurrence ON runs (scheduled_for, occurrence_id) WHERE occurrence_id IS NOT NULL;
CREATE UNIQUE INDEX runs_idempotency ON runs (idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE attempts (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  outcome INTEGER,
  claimed_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  worker_pid INTEGER,
  exit_code INTEGER,
  signal INTEGER,
  peak_memory_bytes INTEGER,
  definition TEXT NOT NULL,
  taken TEXT NOT NULL,
  error TEXT NOT NULL,
  steps TEXT NOT NULL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE occurrences (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  schedule TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  scheduled_for INTEGER NOT NULL,
  scheduled_until INTEGER NOT NULL,
  count INTEGER NOT NULL,
  timezone TEXT NOT NULL,
  offset_s INTEGER NOT NULL,
  shifted INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX occurrences_instant ON occurrences (schedule, scheduled_for);
CREATE INDEX occurrences_by_schedule ON occurrences (schedule, decision, scheduled_for);
CREATE INDEX occurrences_by_pipeline ON occurrences (pipeline, decision, scheduled_for);
CREATE INDEX occurrences_by_decision ON occurrences (decision, scheduled_for);

CREATE TABLE cursors (
  schedule TEXT PRIMARY KEY NOT NULL,
  rule TEXT NOT NULL,
  decided_until INTEGER NOT NULL,
  paused INTEGER NOT NULL,
  note TEXT NOT NULL,
  paused_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE definitions (
  seq INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  pipeline TEXT NOT NULL,
  stored_at INTEGER NOT NULL,
  json TEXT NOT NULL
) STRICT;
)sql";

// A run's depth in its chain, and what data triggers need.
//
// - Every index ends with the row's number, which SQLite adds. Deliveries are listed by event and then by that number,
//   in every list, so that one index a way of asking answers it, in pages.
// - The state comes first in the deliveries' indexes, although none is asked for by it alone: what is pending, what is
//   claimed and what has ended then lie apart. An event that is owed to many triggers, and the claims that follow,
//   touch the few pages of what is still to be done, and never one page a trigger of the whole history.
// - deliveries_pending_partition is for triggers with `partition: same`, which take the deliveries of one partition out
//   of many; deliveries_by_trigger is in commit order for all others.
// - deliveries_of_run has all that were ever claimed. A run's are few (a batch at most), and their state is seen in the
//   row, so that no second index has the claimed ones alone.
// - An index over ids puts each row on a random page of the whole history. One page an event is bearable, one a
//   delivery is not: so deliveries of one event begin with the same characters (model::delivery_id), and so do
//   decisions about one minute (model::occurrence_id).
// - materializations_of_partition finds what a republication is compared with; the others are the lists'. What
//   nothing published (from outside) is in neither the pipelines' nor, as a rule, the runs'.
constexpr const char* version_2 = R"sql(
ALTER TABLE runs ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
CREATE INDEX occurrences_id ON occurrences (id);

CREATE TABLE materializations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  asset TEXT NOT NULL,
  partition TEXT NOT NULL,
  source INTEGER NOT NULL,
  pipeline TEXT NOT NULL,
  run_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  definition TEXT NOT NULL,
  said_by TEXT NOT NULL,
  committed_at INTEGER NOT NULL,
  rows INTEGER,
  bytes INTEGER,
  columns TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  unchanged INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  depth INTEGER NOT NULL
) STRICT;
CREATE INDEX materializations_of_asset ON materializations (asset);
CREATE INDEX materializations_of_partition ON materializations (asset, partition);
CREATE INDEX materializations_of_pipeline ON materializations (pipeline) WHERE pipeline <> '';
CREATE INDEX materializations_of_run ON materializations (run_id) WHERE run_id <> '';

CREATE TABLE deliveries (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  trigger TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  event INTEGER NOT NULL,
  asset TEXT NOT NULL,
  partition TEXT NOT NULL,
  state INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  claimed_at INTEGER,
  finished_at INTEGER,
  reason TEXT NOT NULL,
  error TEXT NOT NULL,
  CHECK ((state >= 2) = (finished_at IS NOT NULL)),
  CHECK (state = 0 OR state = 4 OR run_id <> '')
) STRICT;
CREATE INDEX deliveries_of_event ON deliveries (event);
CREATE INDEX deliveries_of_run ON deliveries (run_id, event) WHERE run_id <> '';
CREATE INDEX deliveries_by_state ON deliveries (state, event);
CREATE INDEX deliveries_by_trigger ON deliveries (state, trigger, event);
CREATE INDEX deliveries_by_pipeline ON deliveries (state, pipeline, event);
CREATE INDEX deliveries_pending_partition ON deliveries (trigger, partition, event) WHERE state = 0;

CREATE TABLE triggers (
  trigger TEXT PRIMARY KEY NOT NULL,
  replayed_to INTEGER NOT NULL,
  replay_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

// What the policies need: the steps that a retry keeps, the calendar that excluded an instant, why a schedule is paused
// and since when its failures count.
//
// - runs_queued is in the order of turns (decide::rank): a step of priority counts as ten minutes of age.
// - attempts_of_pools holds the claims that took pools, by time: what rates count. What takes none costs nothing here.
constexpr const char* version_3 = R"sql(
ALTER TABLE runs ADD COLUMN kept TEXT NOT NULL DEFAULT '';
ALTER TABLE occurrences ADD COLUMN calendar TEXT NOT NULL DEFAULT '';
ALTER TABLE cursors ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE cursors ADD COLUMN resumed_at INTEGER;
DROP INDEX runs_queued;
CREATE INDEX runs_queued ON runs (created_at - priority * 600000000, seq, not_before) WHERE state = 0;
CREATE INDEX attempts_of_pools ON attempts (claimed_at) WHERE substr(taken, 1, 11) = '{"pools":{"';
)sql";

// The queue's order is kept in memory (engine/queue.h), and made from runs_open at a start: an index of it is in the
// way of every run, and nobody reads it.
constexpr const char* version_4 = "DROP INDEX runs_queued";

// What is open, by state: one index in the way of a run instead of two. A claim moves the run's entry within it.
constexpr const char* version_5 = R"sql(
DROP INDEX runs_open;
DROP INDEX runs_running;
CREATE INDEX runs_open ON runs (state, seq, pipeline) WHERE finished_at IS NULL;
)sql";

constexpr std::array<const char*, 5> all = {version_1, version_2, version_3, version_4, version_5};

}  // namespace

std::span<const char* const> migrations() { return all; }

}  // namespace eider::store::sqlite
