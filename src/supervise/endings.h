// The end of an attempt whose worker is done or dead: nothing of it lives, its lock is free, what it published is in
// place. Only then may what the run took be given to others (design section 3).
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "supervise/background.h"
#include "supervise/left_overs.h"
#include "wire/layout.h"
#include "wire/messages.h"

namespace eider::supervise {

/// What was found when nothing of the attempt was left.
struct Remains {
  std::optional<wire::AttemptResult> result;
  std::vector<wire::Publication> published;  ///< before its end (`after: STEP`), and in place
  int left_over_processes = 0;               ///< had to be killed
  std::string error;                         ///< what is on disk can't be read, or can't be put in place
};

/// The result that an attempt left on disk; none where there is none. `corrupt`: damaged, of another attempt, or of a
/// newer version. It reads a file: small, but any thread that may wait for the disk.
Result<std::optional<wire::AttemptResult>> read_result(const std::string& folder, const std::string& run_id,
                                                       int attempt);

/// Engine thread. The two background threads outlive it.
class Endings {
 public:
  /// `report_after`: an end that takes longer is told to the server's log, with who holds it up.
  Endings(Reactor& reactor, Background& spawner, Background& files, wire::Layout layout, Micros report_after);
  ~Endings();
  Endings(const Endings&) = delete;
  Endings& operator=(const Endings&) = delete;

  struct Request {
    std::string run_id;
    int attempt = 0;
    /// The worker reported it, and whatever it published before; otherwise both are looked for on disk, and their
    /// renames are done again.
    std::optional<wire::AttemptResult> reported;
    /// So long its processes may end by themselves: a worker that has left its result is about to go.
    Micros grace{};
  };
  /// Kills what is left, again and again until nothing is; gives up never. Then calls `done`.
  void begin(Request request, std::function<void(Remains)> done);

 private:
  struct Ending;
  using Handle = std::weak_ptr<Ending>;  // completions and timers may come after the end of this object
  using Next = void (Endings::*)(const std::shared_ptr<Ending>&);
  void call_after_pause(const std::shared_ptr<Ending>& ending, Next next);
  void wait_for_lock(const std::shared_ptr<Ending>& ending);
  void sweep(const std::shared_ptr<Ending>& ending);
  void swept(const std::shared_ptr<Ending>& ending, const Sweep& sweep);
  void finish(const std::shared_ptr<Ending>& ending, Remains remains);
  void report_later(const std::shared_ptr<Ending>& ending, Micros delay);

  Reactor& reactor_;
  Background& spawner_;
  Background& files_;
  const wire::Layout layout_;
  const Micros report_after_;
  std::list<std::shared_ptr<Ending>> endings_;
};

}  // namespace eider::supervise
