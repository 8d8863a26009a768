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

Result<Parameter> parameter_of(std::string_view fact, const std::optional<std::string>& value) {
  if (!value) return Parameter();
  if (value->find('\0') != std::string::npos) return Error{ErrorCode::invalid, "it holds a NUL character"};
  if (type_of(fact) != "TIMESTAMPTZ") return Parameter(*value);
  const auto instant = parse_rfc3339(*value);
  if (!instant) return instant.error();
  return Parameter(InstantUs{to_us(*instant)});
}

}  // namespace

Result<void> prepare_usual_facts(const Library& library, ReadyConnection& connection, const Facts& usual) {
  for (const char* name : usual_facts) {
    auto statement = prepare(library, connection.handle.get(), statement_for(name));
    if (!statement) return statement.error();
    const auto likely = usual.find(name);
    const auto value = likely == usual.end() ? std::nullopt : likely->second;
    const auto parameter = parameter_of(name, value);
    if (!parameter) return parameter.error();
    // NULL has its type, too.
    if (auto set = run_prepared(library, *statement, {*parameter}); !set) return set.error();
    connection.known.emplace(name, KnownFact{std::move(*statement), value});
  }
  return {};
}

Result<void> Connection::Impl::set_fact(const std::string& name, const std::optional<std::string>& value) {
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorCode::invalid, fmt::format("the run's value \"{}\" cannot be a DuckDB variable: {}", name, why)};
  };
  if (name.empty() || name.find('\0') != std::string::npos) return refuse("its name is empty or holds a NUL");
  const auto parameter = parameter_of(name, value);
  if (!parameter) return refuse(parameter.error().message);
  const auto usual = known.find(name);
  const auto set = usual == known.end() ? run_bound(library, handle.get(), statement_for(name), {*parameter})
                                        : run_prepared(library, usual->second.set, {*parameter});
  if (!set) return refuse(set.error().message);
  return {};
}

Result<void> Connection::Impl::set_facts(const Facts& facts) {
  for (const auto& [name, fact] : known) {
    const auto found = facts.find(name);
    const auto value = found == facts.end() ? std::nullopt : found->second;
    if (value == fact.value) continue;
    if (auto set = set_fact(name, value); !set) return set;
  }
  for (const auto& [name, value] : facts) {
    if (known.contains(name)) continue;
    if (auto set = set_fact(name, value); !set) return set;
  }
  known.clear();
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
