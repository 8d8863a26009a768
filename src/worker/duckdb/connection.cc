#include "worker/duckdb/connection.h"

#include <fmt/format.h>

#include "base/time.h"
#include "worker/duckdb/script_run.h"
#include "worker/duckdb/script_text.h"

namespace eider::worker::duck {
namespace {

struct TypedFact {
  std::string_view name;
  std::string_view type;
};
constexpr TypedFact typed_facts[] = {{"scheduled_for", "TIMESTAMPTZ"},
                                     {"scheduled_until", "TIMESTAMPTZ"},
                                     {"params", "JSON"},
                                     {"facts", "JSON"},
                                     {"events", "JSON"}};
/// What every step gets (environment.h). A name more or less here changes only how long it takes.
constexpr const char* usual_facts[] = {
    "attempt", "event_asset", "event_id",  "event_partition", "event_run", "events",
    "facts",   "params",      "partition", "pipeline",        "run_id",    "scheduled_for",
    "step",    "temp",        "trigger",   "trigger_id",      "workspace"};

std::string_view type_of(std::string_view name) {
  for (const TypedFact& fact : typed_facts) {
    if (fact.name == name) return fact.type;
  }
  return "VARCHAR";
}

std::string statement_for(std::string_view fact) {
  return fmt::format("SET VARIABLE {} = $1::{}", quote_identifier(fact), type_of(fact));
}

}  // namespace

Result<void> prepare_usual_facts(const Library& library, ReadyConnection& connection) {
  for (const char* name : usual_facts) {
    auto statement = prepare(library, connection.handle.get(), statement_for(name));
    if (!statement) return statement.error();
    // NULL of its type, which it stays where the run has none.
    if (auto set = run_prepared(library, *statement, {Parameter()}); !set) return set.error();
    connection.set_fact.emplace(name, std::move(*statement));
  }
  return {};
}

Result<void> Connection::Impl::set_facts(const Facts& facts) {
  for (const auto& [name, value] : facts) {
    const auto refuse = [&, &fact = name](std::string_view why) {
      return Error{ErrorCode::invalid,
                   fmt::format("the run's value \"{}\" cannot be a DuckDB variable: {}", fact, why)};
    };
    if (name.empty() || name.find('\0') != std::string::npos) return refuse("its name is empty or holds a NUL");
    if (value && value->find('\0') != std::string::npos) return refuse("it holds a NUL character");
    const auto prepared = set_fact.find(name);
    if (!value && prepared != set_fact.end()) continue;
    Parameter parameter;
    if (value && type_of(name) == "TIMESTAMPTZ") {
      const auto instant = parse_rfc3339(*value);
      if (!instant) return refuse(instant.error().message);
      parameter = InstantUs{to_us(*instant)};
    } else if (value) {
      parameter = *value;
    }
    const auto set = prepared == set_fact.end() ? run_bound(library, handle.get(), statement_for(name), {parameter})
                                                : run_prepared(library, prepared->second, {parameter});
    if (!set) return refuse(set.error().message);
  }
  set_fact.clear();
  return {};
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() = default;

ScriptOutcome Connection::run(const ScriptRequest& request, const LineSink& log) {
  return ScriptRun(*impl_, request, log).go();
}

std::optional<double> Connection::progress() const {
  const double percentage = impl_->library.query_progress(impl_->handle.peek()).percentage;
  if (percentage < 0) return std::nullopt;
  return std::min(percentage / 100, 1.0);
}

void Connection::interrupt() {
  impl_->interrupted.store(true);
  impl_->library.interrupt(impl_->handle.peek());
}

}  // namespace eider::worker::duck
