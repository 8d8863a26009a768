// What made each version of state.db of the one before. What has been released is never changed, only added to.
#pragma once

#include <span>

namespace eider::store::sqlite {

/// Position n makes version n + 1 of version n.
std::span<const char* const> migrations();

}  // namespace eider::store::sqlite
