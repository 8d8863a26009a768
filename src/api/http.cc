#include "api/http.h"

#include <algorithm>

#include <boost/json.hpp>

#include "workspace/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Decodes `%41`, and `+` as a space in a query. What comes out is text: UTF-8 without control characters.
Result<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      const int high = at + 1 < text.size() ? hex_value(text[at + 1]) : -1;
      const int low = at + 2 < text.size() ? hex_value(text[at + 2]) : -1;
      if (high < 0 || low < 0) {
        return Error{ErrorCode::invalid, "the address holds a `%` without two hexadecimal digits after it"};
      }
      c = static_cast<char>(high * 16 + low);
      at += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return Error{ErrorCode::invalid, "the address holds a control character; none is allowed"};
    }
    out += c;
  }
  if (!workspace::is_utf8_text(out)) return Error{ErrorCode::invalid, "the address is not UTF-8"};
  return out;
}

const char* title_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::not_found:
      return "not-found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::io:
      return "io";
    case ErrorCode::no_server:
      return "no-server";
  }
  return "io";
}

/// How many characters come before the first `mark`: all of them when there is none. (Not find(): g++ 12 reports an
/// overread in it where it can't bound the length.)
std::size_t length_up_to(std::string_view text, char mark) {
  return static_cast<std::size_t>(std::find(text.begin(), text.end(), mark) - text.begin());
}

}  // namespace

Response json_response(int status, const json::value& body) {
  Response response;
  response.status = status;
  response.body = json::serialize(body) + "\n";
  return response;
}

Response problem_response(const Problem& problem) {
  json::object body;
  body["type"] = "urn:eider:problem:" + problem.code;
  body["title"] = title_of(problem.status);
  body["status"] = problem.status;
  body["detail"] = problem.detail;
  for (const auto& [name, text] : problem.extensions) body[name] = text;
  Response response = json_response(problem.status, body);
  response.content_type = "application/problem+json";
  return response;
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return 400;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::refused:
      return 429;
    case ErrorCode::no_server:
      return 503;
    case ErrorCode::corrupt:
    case ErrorCode::io:
      return 500;
  }
  return 500;
}

Response error_response(const Error& error) {
  return problem_response({http_status(error.code), code_name(error.code), error.message, {}});
}

Result<void> parse_target(std::string_view target, Request& into) {
  if (target.empty() || target.front() != '/') {
    return Error{ErrorCode::invalid,
                 "the request names no path: expected one that begins with `/`, such as /api/v1/status"};
  }
  const std::size_t mark = target.find('?');
  into.path = std::string(target.substr(0, mark));
  into.query.clear();
  if (mark == std::string_view::npos) return {};
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = length_up_to(rest, '&');
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = length_up_to(pair, '=');
    auto name = decode(pair.substr(0, equals), true);
    if (!name) return name.error();
    auto value = decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!value) return value.error();
    if (!into.query.emplace(*name, *std::move(value)).second) {
      return Error{ErrorCode::invalid, "the parameter `" + *name + "` is given twice; give it once"};
    }
  }
  return {};
}

std::string make_target(const Request& request) {
  std::string out = request.path;
  char mark = '?';
  for (const auto& [name, value] : request.query) {
    out += mark + encode_segment(name) + "=" + encode_segment(value);
    mark = '&';
  }
  return out;
}

std::string encode_segment(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

Result<std::vector<std::string>> path_segments(std::string_view path) {
  std::vector<std::string> out;
  if (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (true) {
    const std::size_t end = length_up_to(path, '/');
    auto segment = decode(path.substr(0, end), false);
    if (!segment) return segment.error();
    if (*segment == "." || *segment == "..") {
      return Error{ErrorCode::invalid, "the path holds `" + *segment + "`; write the address without it"};
    }
    out.push_back(*std::move(segment));
    if (end == path.size()) return out;
    path.remove_prefix(end + 1);
  }
}

}  // namespace eider::api
