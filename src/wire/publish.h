// Files become visible: the renames that follow an attempt's commit point (design section 3, "Effects once").
// The worker does them right after it has written its result; a server that finds such a result does them again.
#pragma once

#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace eider::wire {

/// Does what of the renames is not done yet, in order, and syncs the folders, so that when it returns they survive a
/// power cut. May be repeated, and started again after a crash at any instruction. A file replaces its target in one
/// step; a folder changes places with it (renameat2, RENAME_EXCHANGE), then the old one is removed.
/// The caller holds the attempt's lock or knows that it is free: two that exchange the same folder would undo each
/// other.
/// Errors stop at the first rename that can't be done; its message names the target, and the staged file is still
/// there. What can't be removed of an old folder is no error: it lies at the staged path, for remove_staged().
/// Any thread; it blocks on the disk, so not the engine's.
Result<void> apply_renames(const std::vector<Rename>& renames);

/// Where apply_renames puts the old folder for a moment on file systems that can't exchange.
std::string aside(const std::string& staged);

}  // namespace eider::wire
