// Requests and answers as values, free of any transport: the server reads them from a socket, a command without a
// server calls Service::handle with them, tests write them down.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace eider::api {

/// A request holds no more than this; the transport refuses the rest (413, 431).
inline constexpr std::size_t kBodyLimitBytes = 1024 * 1024;
inline constexpr std::size_t kHeaderLimitBytes = 64 * 1024;

struct Request {
  std::string method = "GET";
  /// Percent-encoded, without the query: `/api/v1/runs/0192…`. Build it with encode_segment().
  std::string path;
  std::map<std::string, std::string> query;    ///< decoded; each name once
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

/// A body that grows: the log of a live run. Pulled on the thread of the Service; owned by the answer.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  struct Chunk {
    std::string bytes;  ///< empty and not done: nothing new yet, ask again in about 100 ms
    bool done = false;  ///< nothing follows
  };
  /// An Error ends the body early; the transport then breaks the connection off, so that no client takes the part
  /// for the whole.
  virtual Result<Chunk> read() = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;
  std::string body;
  std::shared_ptr<BodyStream> stream;  ///< set: it is the body, and `body` is empty
};

using Respond = std::function<void(Response)>;
using Handler = std::function<void(Request, Respond)>;

/// A JSON answer; one line end after it, for people with curl.
Response json_response(int status, const boost::json::value& body);

/// An answer of type application/problem+json (RFC 9457): what was wrong, what was expected, how to mend it.
struct Problem {
  int status = 400;
  std::string code;  ///< the last part of `type`: `urn:eider:problem:<code>`
  std::string detail;
  std::map<std::string, std::string> extensions;  ///< `parameter`, `expected`, `suggestion`, `active_run` …
};
Response problem_response(const Problem& problem);
/// 400 for invalid, 404 for not_found … the table at ErrorCode.
int http_status(ErrorCode code);
Response error_response(const Error& error);

/// Splits `/path?query` (origin form) into `path` and `query` of a Request. An Error `invalid` for any other form,
/// a bad escape, a control character or a query name that comes twice.
Result<void> parse_target(std::string_view target, Request& into);
/// The other way round, for a client.
std::string make_target(const Request& request);
/// Percent-encodes all but RFC 3986's unreserved characters.
std::string encode_segment(std::string_view text);
/// The decoded segments of a path. An Error `invalid` for `.`, `..`, a bad escape, a control character or bytes that
/// are not UTF-8, however they are written.
Result<std::vector<std::string>> path_segments(std::string_view path);

}  // namespace eider::api
