#include "store/conformance/backend.h"

namespace eider::store::conformance {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {{"sqlite",
                                            [](const std::string& path) {
                                              return open_sqlite_store({path, true});
                                            },
                                            open_sqlite_reader}};
  return all;
}

}  // namespace eider::store::conformance
