// What the conformance suite needs to know of a store backend. A new backend adds itself to backends_test.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace eider::store::conformance {

struct Backend {
  std::string name;
  /// Opens the store that lives at `path` (a file in an empty folder), and makes it at first.
  std::function<Result<std::unique_ptr<Store>>(const std::string& path)> open;
  /// A reader alone, as a command without a server uses it.
  std::function<Result<std::unique_ptr<Reader>>(const std::string& path)> reader;
};

const std::vector<Backend>& backends();

}  // namespace eider::store::conformance
