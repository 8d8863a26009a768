// What the texts of the lists share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace eider::store::sqlite {

/// One list of several walks, each of which comes in the order of the list: SQLite merges them without sorting. The
/// limit is the parameter after those of the cursor, which are as many as the columns of the order.
std::string merged(const std::vector<std::string>& arms, std::string_view order);

}  // namespace eider::store::sqlite
