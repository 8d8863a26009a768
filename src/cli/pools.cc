// `eider pools`: what admission counts, who holds it and who waits for it.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/ids.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

std::string holders_of(Session& session, const json::value& thing) {
  return runs_named(list_of(thing, "held_by"), session.out().terminal() ? short_id_length : std::string::npos);
}

/// Nobody counts what is without a bound.
std::string used_text(std::int64_t used, std::optional<std::int64_t> most) {
  return most ? fmt::format("{}/{}", used, *most) : fmt::format("{}", used);
}

Cell used_cell(std::int64_t used, std::optional<std::int64_t> most) {
  const Colour colour = used == 0 ? Colour::none : !most || used < *most ? Colour::green : Colour::yellow;
  return {used_text(used, most), colour};
}

/// `4 of 5 in 1m`, `5 of 5 in 1m, next in 12 s`
std::string rate_text(const json::value& rate, Instant now) {
  if (!rate.is_object()) return {};
  std::string out =
      fmt::format("{} of {} in {}", text_of(rate, "started"), text_of(rate, "starts"), text_of(rate, "per"));
  if (const auto next = time_of(rate, "next")) out += ", next " + relative(*next, now);
  if (const auto waiting = number_of(rate, "waiting").value_or(0); waiting > 0)
    out += fmt::format(", {} wait", waiting);
  return out;
}

void show_named_pools(Session& session, const json::value& body) {
  Table table({"POOL", "USED", "WAITING", "RATE", "HOLDERS"});
  for (const json::value& pool : list_of(body, "items")) {
    const auto slots = number_of(pool, "slots").value_or(0);
    const auto used = number_of(pool, "used").value_or(0);
    // A pool without slots has a rate, or is gone and holds what it held.
    table.row({text_of(pool, "name"), used_cell(used, slots == 0 ? std::nullopt : std::optional(slots)),
               text_of(pool, "waiting"), rate_text(field(pool, "rate"), session.now()), holders_of(session, pool)});
  }
  if (table.empty()) return session.note("no pools; eider.yaml may declare some: `pools: { heavy: { slots: 1 } }`");
  table.drop_empty_columns();
  table.print(session.out());
}

void show_locks(Session& session, const json::value& body) {
  Table table({"LOCK", "HELD TO", "WAITING", "HOLDERS"});
  for (const char* kind : {"locks", "files"}) {
    for (const json::value& lock : list_of(body, kind)) {
      table.row({text_of(lock, "name"), text_of(lock, "mode"), text_of(lock, "waiting"), holders_of(session, lock)});
    }
  }
  if (table.empty()) return;
  session.out().line("");
  table.drop_empty_columns();
  table.print(session.out());
}

void show_sums(Session& session, const json::value& body) {
  Table table({"OF ALL", "USED", "WAITING"});
  const auto add = [&table](const std::string& name, const json::value& sum, bool in_bytes) {
    const auto most = number_of(sum, "max");
    const auto used = number_of(sum, "used").value_or(0);
    if (!most && used == 0) return;
    Cell cell = used_cell(used, most);
    if (in_bytes) cell.text = bytes(used) + (most ? " of " + bytes(*most) : std::string());
    table.row({name, std::move(cell), text_of(sum, "waiting")});
  };
  const json::value& workers = field(body, "workers");
  add("workers", workers, false);
  for (const json::value& share : list_of(workers, "shares")) {
    add("workers for " + text_of(share, "cause"), share, false);
  }
  add("memory", field(body, "memory"), true);
  add("temporary space", field(body, "temp"), true);
  if (table.empty()) return;
  session.out().line("");
  table.print(session.out());
}

int show_limits(Session& session, const json::value& body) {
  show_named_pools(session, body);
  show_locks(session, body);
  show_sums(session, body);
  return exit_done;
}

}  // namespace

int pools(Session& session) {
  return ask_and_show(session, get("/api/v1/pools"), Backend::Mode::server_or_files, show_limits);
}

}  // namespace eider::cli
