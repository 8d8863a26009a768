// Result<T>: a value, or an Error that says what went wrong in words a person can act on.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace eider {

/// What kind of thing went wrong; it decides the exit code of a command and the status of an HTTP answer.
enum class ErrorCode {
  invalid,      ///< the request or a file is wrong: exit 2, HTTP 400
  not_found,    ///< the thing named does not exist: exit 2, HTTP 404
  conflict,     ///< it exists already, or is in a state that does not allow this: exit 2, HTTP 409
  unavailable,  ///< try again: a locked store, a busy server, a full disk: exit 1, HTTP 503
  refused,      ///< a limit says no: exit 2, HTTP 429
  corrupt,      ///< stored data is damaged or of a newer version: exit 2, HTTP 500
  io,           ///< the operating system said no: exit 1, HTTP 500
  no_server,    ///< nobody listens on the socket: exit 3
};

struct Error {
  ErrorCode code = ErrorCode::io;
  /// Says where, what was expected and how to mend it; no trailing full stop needed, no newline at the end.
  std::string message;
};

/// The error of the last failed system call: `what: strerror(errno_value)`.
Error io_error(std::string what, int errno_value);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    EIDER_CHECK(ok(), error_text());
    return std::get<0>(content_);
  }
  const T& value() const& {
    EIDER_CHECK(ok(), error_text());
    return std::get<0>(content_);
  }
  T&& value() && {
    EIDER_CHECK(ok(), error_text());
    return std::get<0>(std::move(content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    EIDER_CHECK(!ok(), "the result is a value");
    return std::get<1>(content_);
  }

 private:
  std::string error_text() const { return ok() ? std::string() : std::get<1>(content_).message; }

  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    EIDER_CHECK(error_.has_value(), "the result is a value");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace eider
