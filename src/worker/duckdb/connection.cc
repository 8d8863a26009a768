#include "worker/duckdb/connection.h"

#include <fmt/format.h>

#include "base/time.h"
#include "worker/duckdb/script_run.h"

namespace eider::worker::duck {
namespace {

struct TypedFact {
  std::string_view name;
  std::string_view type;
};
constexpr TypedFact typed_facts[] = {
    {"scheduled_for", "TIMESTAMPTZ"}, {"scheduled_until", "TIMESTAMPTZ"}, {"params", "JSON"}, {"facts", "JSON"}};

std::string_view type_of(std::string_view name) {
  for (const TypedFact& fact : typed_facts) {
    if (fact.name == name) return fact.type;
  }
  return "VARCHAR";
}

}  // namespace

Result<void> Connection::Impl::set_facts(const Facts& facts) {
  for (const auto& [name, value] : facts) {
    const auto refuse = [&, &fact = name](std::string_view why) {
      return Error{ErrorCode::invalid,
                   fmt::format("the run's value \"{}\" cannot be a DuckDB variable: {}", fact, why)};
    };
    if (name.empty() || name.find('\0') != std::string::npos) return refuse("its name is empty or holds a NUL");
    if (value && value->find('\0') != std::string::npos) return refuse("it holds a NUL character");
    const std::string_view type = type_of(name);
    Parameter parameter;
    if (value && type == "TIMESTAMPTZ") {
      const auto instant = parse_rfc3339(*value);
      if (!instant) return refuse(instant.error().message);
      parameter = InstantUs{to_us(*instant)};
    } else if (value) {
      parameter = *value;
    }
    const auto set = run_bound(library, handle.get(),
                               fmt::format("SET VARIABLE {} = $1::{}", quote_identifier(name), type), {parameter});
    if (!set) return refuse(set.error().message);
  }
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
