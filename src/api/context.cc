#include "api/context.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/offline.h"
#include "api/parameters.h"
#include "base/ids.h"

namespace eider::api {

Context::Context(ServiceOptions options, store::Reader& reader, Offline& offline)
    : options_(std::move(options)), reader_(reader), offline_(offline) {}

void Context::deliver(engine::Command command, const Respond& respond) {
  if (!options_.inbox) {
    if (auto answered = offline_.answer(std::move(command)); !answered) respond(error_response(answered.error()));
  } else if (!options_.inbox->post(std::move(command))) {
    respond(error_response({ErrorCode::unavailable, "the server is stopping, or has too much to do; try again"}));
  }
}

/// Ids that begin so, of the kinds that are sought.
Result<std::vector<Context::Named>> Context::ids(const Sought& sought, const std::string& prefix) {
  const auto wanted = [&](Named::Kind kind) {
    return std::find(sought.kinds.begin(), sought.kinds.end(), kind) != sought.kinds.end();
  };
  std::vector<Named> out;
  if (wanted(Named::Kind::run)) {
    auto runs = reader_.run_ids(prefix);
    if (!runs) return runs.error();
    for (std::string& id : *runs) out.push_back({Named::Kind::run, std::move(id)});
    if (sought.kinds.size() == 1) return out;
  }
  auto others = reader_.ids(prefix);
  if (!others) return others.error();
  for (Named& each : *others) {
    if (each.kind != Named::Kind::run && wanted(each.kind)) out.push_back(std::move(each));
  }
  return out;
}

std::optional<Context::Named> Context::find(const Sought& sought, const std::string& id_or_prefix,
                                            const Respond& respond) {
  const bool plain = id_or_prefix.find_first_not_of("0123456789abcdef-") == std::string::npos;
  if (!plain || id_or_prefix.size() < 4 || id_or_prefix.size() > 36) {
    const std::string expected = fmt::format("the id of a {}, or its first 4 or more characters", sought.noun);
    respond(problem_response(
        parameter_problem(sought.parameter,
                          fmt::format("`{}` is no {}'s id: expected 4 or more of its characters 0-9, a-f and -; {}",
                                      shown(id_or_prefix), sought.noun, sought.hint),
                          expected)));
    return std::nullopt;
  }
  if (sought.kinds.size() == 1 && is_uuid(id_or_prefix)) return Named{sought.kinds[0], id_or_prefix};
  auto found = ids(sought, id_or_prefix);
  if (!found) return respond(error_response(found.error())), std::nullopt;
  if (found->size() > 1) {
    const std::string& first = (*found)[0].id;
    const std::string& second = (*found)[1].id;
    Problem problem{409,
                    "ambiguous",
                    fmt::format("`{}` begins more than one {}'s id, such as {} and {}; write more of it", id_or_prefix,
                                sought.noun, first, second),
                    {}};
    problem.extensions["matches"] = first + " " + second;
    return respond(problem_response(problem)), std::nullopt;
  }
  if (!found->empty()) return found->front();
  respond(error_response(
      {ErrorCode::not_found, fmt::format("there is no {} {}; {}", sought.noun, id_or_prefix, sought.hint)}));
  return std::nullopt;
}

template <typename T>
std::optional<T> Context::fetched(const Sought& sought, const std::string& id_or_prefix, Result<std::optional<T>> row,
                                  const Respond& respond) {
  if (!row) return respond(error_response(row.error())), std::nullopt;
  if (!*row) {
    respond(error_response(
        {ErrorCode::not_found, fmt::format("there is no {} {}; {}", sought.noun, id_or_prefix, sought.hint)}));
  }
  return *std::move(row);
}

std::optional<model::Run> Context::find_run(const std::string& id_or_prefix, const Respond& respond,
                                            const char* parameter) {
  const Sought sought{{Named::Kind::run}, "run", "`eider runs list` shows them", parameter};
  const auto named = find(sought, id_or_prefix, respond);
  return named ? fetched(sought, id_or_prefix, reader_.run(named->id), respond) : std::nullopt;
}

std::optional<model::Materialization> Context::find_materialization(const std::string& id_or_prefix,
                                                                    const Respond& respond, const char* parameter) {
  const Sought sought{
      {Named::Kind::materialization}, "materialization", "`eider materializations` shows them", parameter};
  const auto named = find(sought, id_or_prefix, respond);
  return named ? fetched(sought, id_or_prefix, reader_.materialization(named->id), respond) : std::nullopt;
}

std::optional<model::Delivery> Context::find_delivery(const std::string& id_or_prefix, const Respond& respond) {
  const Sought sought{{Named::Kind::delivery}, "delivery", "`eider deliveries list` shows them", "id"};
  const auto named = find(sought, id_or_prefix, respond);
  return named ? fetched(sought, id_or_prefix, reader_.delivery(named->id), respond) : std::nullopt;
}

std::optional<Context::Named> Context::find_any(const std::string& id_or_prefix, const Respond& respond) {
  using enum Named::Kind;
  const Sought sought{{run, materialization, delivery, occurrence},
                      "run, materialization, delivery or occurrence",
                      "`eider runs list`, `materializations`, `deliveries list` and `occurrences` show them",
                      "id"};
  return find(sought, id_or_prefix, respond);
}

}  // namespace eider::api
