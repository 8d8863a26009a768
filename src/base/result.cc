#include "base/result.h"

#include <cstring>

namespace eider {

Error io_error(std::string what, int errno_value) {
  return Error{ErrorCode::io, std::move(what) + ": " + std::strerror(errno_value)};
}

}  // namespace eider
