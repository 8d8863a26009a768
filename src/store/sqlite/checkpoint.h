// Moving committed pages from the WAL into the main file without stopping the writer. SQLite's own automatic
// checkpoint costs the writer 30 ms at p99; a passive one on a second connection costs it nothing, but under a
// writer that is never idle it never catches up, and the WAL grows without end. So: aside past 2,000 pages, then
// the writer does the little that has come since, after which its next commit starts the WAL anew.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "store/sqlite/connection.h"

namespace eider::store::sqlite {

/// Writes the WAL's file out with zeros to the size that it has when a checkpoint starts it anew. A commit that makes
/// its file longer has its blocks allocated and its inode written as well, which on ext4 takes twice as long as the
/// commit. SQLite takes zeros for the end of the log. Does nothing where the lock or the room is not to be had at the
/// moment.
void reserve_wal(Connection& writer);

class Checkpoint {
 public:
  /// Counts the WAL's pages by a hook on the writer; `writer` outlives this object.
  explicit Checkpoint(Connection& writer);

  /// Checkpointer thread. True when it did something, so that the writer should finish.
  Result<bool> aside();
  /// The writer's thread, between two transactions.
  Result<void> finish();

 private:
  static int on_commit(void* self, sqlite3*, const char*, int pages);
  /// Moves what no reader needs; how far it came is what moved_pages_ says.
  Result<void> run_passive(Connection& connection);

  Connection& writer_;
  std::unique_ptr<Connection> aside_;  // made by the checkpointer thread, used by it only
  std::atomic<int> wal_pages_{0};      // in the WAL after the newest commit
  std::atomic<int> moved_pages_{0};    // of them, already in the main file
};

}  // namespace eider::store::sqlite
