// Files that land in the folders that eider.yaml says to watch, told to the loop as data from outside. The kernel says
// what happens there (inotify); Settling says when a file is whole; each whole file is one Materialize command, by a
// key that makes a second telling of the same file the same event. So everything here may be repeated: a scan at start
// and after lost events, a refused or failed command.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "engine/inbox.h"
#include "model/pipeline.h"

namespace eider::watch {

struct WatcherParts {
  engine::Inbox& inbox;
  /// Of the machine, also where the server has a test clock: files land in real time.
  const Clock& clock;
  std::string root;  ///< of the workspace, absolute
  /// How often a folder is looked for that is not there, at the longest, and one that is whether it is the same still.
  Micros look_every = std::chrono::seconds(5);
};

/// Has a thread of its own as soon as there is a folder to watch; it never waits for the loop. The parts outlive it.
class Watcher {
 public:
  explicit Watcher(WatcherParts parts);
  /// Ends the thread. What has not been told is found by the next server.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// These are the assets from now on; the same again costs nothing. One thread, not the watcher's own.
  /// Errors: io (the kernel has no more inotify instances for this user): nothing is watched.
  Result<void> follow(const std::map<std::string, model::ExternalAsset>& assets);

 private:
  struct Shared;
  class Watching;
  Result<void> start();

  std::map<std::string, model::ExternalAsset> followed_;
  std::shared_ptr<Shared> shared_;  ///< with the thread, and with replies that come after its end
  std::thread thread_;
};

}  // namespace eider::watch
