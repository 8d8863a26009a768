// The border of the API: every parameter of a query, path or body is checked here, once. What is wrong becomes a
// Problem that names it, says what was expected and, where it can, what was probably meant.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/http.h"
#include "base/utf8.h"
#include "engine/inbox.h"
#include "model/asset.h"
#include "model/run.h"

namespace eider::api {

inline constexpr int kDefaultPageSize = 100;
inline constexpr int kLargestPage = 1000;

/// 400 about one parameter: the detail is "the parameter `…`: " and the sentence, which stands alone as well, and what
/// was probably meant. `expected` completes "expected …".
Problem parameter_problem(std::string_view parameter, std::string_view sentence, std::string_view expected,
                          std::string_view suggestion = {});
/// The ordinary sentence: "`runing` is wrong: expected one of …".
std::string wrong_value(std::string_view value, std::string_view expected);
/// A name that stands for nothing here.
struct UnknownName {
  std::string parameter;  ///< 400 about it; empty: the name is part of the path, and it is a 404
  std::string sentence;   ///< "there is no pipeline `flight_daily` in this workspace"
  std::string name;
  std::string hint;  ///< how to find the right one, where none is near: "`eider pipelines list` shows them"
};
/// Says what was probably meant of `known`, or the hint.
Problem unknown_name(const UnknownName& unknown, const std::vector<std::string>& known);
/// The one about a pipeline, of all that there are.
Problem unknown_pipeline(const std::string& parameter, const std::string& name, const std::vector<std::string>& known);
Problem unknown_pipeline(const std::string& parameter, const std::string& name,
                         const std::vector<engine::PipelineView>& views);
bool has_pipeline(const std::vector<engine::PipelineView>& views, const std::string& name);
/// `nightly` for `nigthly`, or empty.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// Reads a request's query. The first thing that is wrong is kept in problem(); what is read after it is a default.
class QueryReader {
 public:
  /// A parameter that is not in `known` is a problem.
  QueryReader(const Request& request, std::initializer_list<std::string_view> known);

  const std::optional<Problem>& problem() const { return problem_; }

  /// 1 to 1000, default 100.
  int limit();
  /// A cursor as a page gave it; the store checks the rest.
  std::string cursor();
  std::optional<model::RunState> state();
  std::optional<model::Decision> decision();
  std::optional<Instant> time(const std::string& name);
  std::optional<std::int64_t> number(const std::string& name, std::int64_t least, std::int64_t most);
  /// `true` or `false`; absent is false, and a name alone is true.
  bool flag(const std::string& name);
  /// A name by model::check_name; empty when absent.
  std::string name(const std::string& parameter);
  /// `pipeline/id`, or a pipeline's name; empty when absent.
  std::string schedule(const std::string& parameter);
  /// `pipeline/id`; empty when absent.
  std::string trigger(const std::string& parameter);
  /// By model::check_asset_name; empty when absent.
  std::string asset(const std::string& parameter);
  std::optional<model::DeliveryState> delivery_state();
  /// As it is, for who checks it; empty when absent.
  std::string text(const std::string& parameter);
  /// 400 when more than one of these is given.
  void only_one_of(std::initializer_list<std::string_view> parameters);

 private:
  const std::string* find(const std::string& name) const;
  void fail(const std::string& parameter, std::string_view expected, std::string_view suggestion = {});
  void fail_with(Problem problem);

  const Request& request_;
  std::optional<Problem> problem_;
};

/// Reads a request's body: nothing, or one JSON object, at most 32 levels deep, each key once and known.
class BodyReader {
 public:
  BodyReader(const Request& request, std::initializer_list<std::string_view> known);

  const std::optional<Problem>& problem() const { return problem_; }

  bool has(std::string_view key) const { return object_.contains(key); }
  /// Up to `most` characters without control characters; empty when absent.
  std::string text(std::string_view key, std::size_t most);
  /// A name by model::check_name; a problem when it is absent.
  std::string required_name(std::string_view key);
  bool flag(std::string_view key);
  /// A name by model::check_name; empty when absent.
  std::string name(std::string_view key);
  /// `pipeline/id`; empty when absent.
  std::string trigger(std::string_view key);
  /// By model::check_partition; empty when absent, null or empty.
  std::string partition(std::string_view key);
  /// A whole number, not negative.
  std::optional<std::int64_t> count(std::string_view key);
  std::optional<model::DeliveryState> delivery_state(std::string_view key);
  /// An object as JSON text of at most `most` bytes; empty when absent, null or `{}`.
  std::string object(std::string_view key, std::size_t most = kBodyLimitBytes);
  std::optional<Instant> time(std::string_view key);
  std::optional<Micros> duration(std::string_view key);

  /// 400 about a key of the body: it is something else than what was expected.
  void fail(std::string_view key, std::string_view expected, std::string_view suggestion = {});

 private:
  boost::json::object object_;
  std::optional<Problem> problem_;
};

/// Who asks, as commands of the loop say it: `cli` or `api`.
std::string asked_by(const Request& request);
/// The value of an Idempotency-Key header: 1 to 200 visible ASCII characters; empty when absent.
Result<std::string> idempotency_key(const Request& request);

}  // namespace eider::api
