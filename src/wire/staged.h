// What an attempt stages beside the targets of what it publishes, and its list of that:
// `.eider/staged/<run>.<attempt>`. The worker writes the list before anything can be staged and removes it at its end;
// where it can't (it was killed, or its renames failed), the server does what is left once the attempt is over.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/layout.h"

namespace eider::wire {

struct AttemptId {
  std::string run_id;
  int attempt = 0;

  auto operator<=>(const AttemptId&) const = default;
};

/// `<folder of target>/.<name>.<run>.<attempt>.tmp`: in the target's folder, so that a rename takes it there.
std::string staged_path(const std::string& target, const AttemptId& id);

/// Writes the attempt's list; none when it stages nothing. It is not synced: after a power cut, what was staged in the
/// seconds before may stay (ADR 0008).
Result<void> list_staged(const Layout& layout, const AttemptId& id, const std::vector<std::string>& staged);

/// Removes what the attempt's list names, whole folders too, and what its renames or DuckDB put beside; then the list.
/// A list is believed only as far as its paths could be staged by that attempt. Without a list there is nothing to do.
/// An Error names what can't be removed, and the list stays. Only for an attempt that is over, or by its worker; never
/// while its renames may still be repeated. It blocks on the disk.
Result<void> remove_staged(const Layout& layout, const AttemptId& id);

/// The attempts that have a list.
std::vector<AttemptId> staged_lists(const Layout& layout);

}  // namespace eider::wire
