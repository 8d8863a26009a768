// How the kernel shares the processors out to this process's threads.
#pragma once

namespace eider {

/// The calling thread runs soon after it was woken, also where every processor is at work: it says that it needs the
/// processor for moments only. A thread with the usual slice (milliseconds) is let on when somebody else's slice is
/// over; a commit, which sleeps three times, then takes 2.4 ms beside busy processors where it takes 0.4 with this one.
/// What the thread starts (threads, processes) has the usual slice. Costs no fairness: shares stay as they are.
/// Linux 6.12 and later (EEVDF; sched(7), sched_setattr(2)); elsewhere it does nothing.
void ask_for_short_slices();

}  // namespace eider
