// A DuckDB file that does not exist yet. DuckDB writes the first blocks of a new file one after the other; a process
// that is killed between them leaves a file that nobody can open. So it is made beside its place and renamed when
// whole.
#pragma once

#include <string>

#include "base/result.h"
#include "worker/duckdb/library.h"

namespace eider::worker::duck {

/// Makes the file `path` (absolute), with the table of receipts and the folders above it, unless something lies there;
/// where another process makes it meanwhile, that one stays. It is whole on the disk when this returns. Made as
/// `.<name>.<pid>.new` in its folder; those of makers that were killed are removed.
Result<void> make_file(const Library& library, duckdb_connection connection, const std::string& path);

}  // namespace eider::worker::duck
