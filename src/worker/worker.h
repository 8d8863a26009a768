// The worker process: one run at a time, from its Job frame to its result (design section 3).
//
// Threads: the main thread is a Reactor and does everything but SQL: it starts programs, reads their output, keeps
// the time-outs and talks to the server. Each SQL step has a thread of its own that posts its end back. The process
// has nice 5 and DuckDB's threads nice 10, so that starting programs and answering stay prompt beside a computation.
//
// How it ends: Quit or the server's end of the channel closed, once idle. With its server gone a busy worker finishes
// its run alone, leaves the result beside the log, and exits. SIGTERM (or SIGINT) to a busy worker ends its attempt
// as `interrupted`: it is for a machine that shuts down, and the run is eligible again without an attempt counted.
// A query that ignores its interrupt can only end with the process: then all else of the attempt is ended, the result
// is on disk, and the worker leaves (exit code 0) without a Finished frame, its lock and file held until it is gone.
#pragma once

#include "base/clock.h"
#include "base/time.h"

namespace eider::worker {

/// The waits of the worker, which tests shorten.
struct Limits {
  Micros after_interrupt = std::chrono::seconds(5);  ///< from an interrupted query to the second interrupt
  Micros after_term = std::chrono::seconds(5);       ///< from SIGTERM to SIGKILL; and from there to giving up
  Micros left_over_grace = std::chrono::seconds(1);  ///< for what a finished step left running (O-14)
  Micros progress_every = std::chrono::milliseconds(200);
  Micros log_flush_every = std::chrono::milliseconds(100);
  Micros held_file_first_wait = std::chrono::milliseconds(100);  ///< then doubled, up to 5 s
};

/// Takes over the process until the worker's end, and returns its exit code: 0, or 1 when the channel spoke nonsense.
/// `channel_fd` is the worker's end of the socket pair and belongs to it from now on. Call it on the main thread,
/// before any other thread is started.
int worker_main(int channel_fd, const Clock& clock, const Limits& limits = {});

}  // namespace eider::worker
