// The tables of state.db, how a file becomes one, and how one is recognised. `user_version` counts the migrations
// that a file has been through; `application_id` says that it is Eider's.
#pragma once

#include <string>

#include "store/sqlite/connection.h"

namespace eider::store::sqlite {

/// "Eidr", in the header of every state.db.
inline constexpr std::int64_t application_id = 0x45696472;
/// The version that this program makes and needs.
int schema_version();

/// Looks at a file without writing a byte of it, whatever it is. Its cost does not grow with the file. The version
/// found, 0 for a file that holds nothing yet; an Error `corrupt` (foreign, newer or damaged) says what to do.
Result<int> inspect_file(const std::string& path);
/// Brings an inspected file to schema_version(), in one transaction. `unavailable` when another process writes.
Result<void> migrate(Connection& connection);
/// Reads the version with the same checks, on a connection that is open.
Result<int> read_version(Connection& connection);

}  // namespace eider::store::sqlite
