#include "api/json_keys.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <set>
#include <string>
#include <vector>

#include "workspace/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;
using boost::system::error_code;

/// Handler of basic_parser: remembers the keys of each open object. The sink's functions that see nothing of
/// interest answer "go on".
struct KeyWatcher {
  static constexpr std::size_t max_array_size = -1;
  static constexpr std::size_t max_object_size = -1;
  static constexpr std::size_t max_string_size = -1;
  static constexpr std::size_t max_key_size = -1;

  std::vector<std::set<std::string, std::less<>>> open;
  std::string key;
  std::string twice;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return open.emplace_back(), true; }
  bool on_object_end(std::size_t, error_code&) { return open.pop_back(), true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    return key.append(part.data(), part.size()), true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& error) {
    key.append(part.data(), part.size());
    if (!open.back().insert(key).second) {
      twice = key;
      error = json::error::syntax;
    }
    key.clear();
    return !error;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

}  // namespace

Result<json::value> parse_strict_json(std::string_view text) {
  json::basic_parser<KeyWatcher> parser{json::parse_options{}};
  error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  const std::string& twice = parser.handler().twice;
  if (!twice.empty()) {
    return Error{ErrorCode::invalid, "the key `" + shown(twice) + "` is there twice; give it once"};
  }
  if (!error) {
    json::value value = json::parse({text.data(), text.size()}, error);
    if (!error) return value;
  }
  return Error{ErrorCode::invalid, error.message() + " after byte " + std::to_string(read)};
}

}  // namespace eider::api
