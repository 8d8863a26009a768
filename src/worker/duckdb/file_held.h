// Who holds a DuckDB file: DuckDB allows one writing process or several readers, and says so with a lock.
#pragma once

#include <string>
#include <string_view>

namespace eider::worker::duck {

/// True for the error of an ATTACH that another process's lock refused.
bool is_lock_error(std::string_view message);
/// The process that DuckDB's message names (`… (PID 4711)`), or 0.
int pid_in_message(std::string_view message);
/// The first process that holds a lock of this file in the text of /proc/locks, or 0. The file is found by device and
/// inode and never opened: closing any descriptor of it would drop the locks that this process has on it.
int pid_in_locks(const std::string& path, std::string_view proc_locks);
/// The message's process, else that of /proc/locks; 0 when neither knows (a holder in another pid namespace).
int holder_of(const std::string& path, std::string_view message);

}  // namespace eider::worker::duck
