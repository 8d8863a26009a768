// Verbs about assets and what was published of them.
#include <charconv>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_keys.h"
#include "base/fd.h"
#include "base/ids.h"
#include "cli/data_views.h"
#include "cli/fields.h"
#include "cli/graph.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"
#include "workspace/words.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kMetadataLimitBytes = 64 * 1024;

std::string joined(const json::array& names, const char* joint) {
  std::string out;
  for (const json::value& name : names) {
    if (name.is_string()) out += (out.empty() ? "" : joint) + std::string(name.get_string());
  }
  return out;
}

/// Who makes it: pipelines, something outside, or nobody any more.
std::string makers(const json::value& asset) {
  std::string out = joined(list_of(asset, "producers"), ", ");
  if (flag_of(asset, "external")) {
    const std::string watch = text_of(asset, "watch");
    out += (out.empty() ? "" : ", ") + (watch.empty() ? "outside" : fmt::format("outside ({})", watch));
  }
  return out;
}

int show_assets(Session& session, const json::value& body) {
  Table table({"ASSET", "MADE BY", "STARTS", "NEWEST", "ROWS", "PENDING"});
  for (const json::value& asset : list_of(body, "items")) {
    const json::value& last = field(asset, "last_materialization");
    const auto committed = time_of(last, "committed_at");
    const auto pending = number_of(asset, "pending_deliveries").value_or(0);
    table.row({text_of(asset, "name"),
               flag_of(asset, "declared") ? Cell(makers(asset)) : Cell("nobody any more", Colour::grey),
               joined(list_of(asset, "consumers"), ", "), committed ? relative(*committed, session.now()) : "",
               text_of(last, "rows"), pending > 0 ? std::to_string(pending) : ""});
  }
  if (table.empty()) {
    session.note("no assets: a pipeline `publishes` them, or eider.yaml declares some under `assets`");
    return exit_done;
  }
  table.print(session.out());
  say_next_page(session, body);
  return exit_done;
}

int show_asset(Session& session, const json::value& asset) {
  Facts facts;
  facts.add("asset", text_of(asset, "name"));
  facts.add("description", text_of(asset, "description"));
  facts.add("made by", flag_of(asset, "declared") ? makers(asset) : "nobody any more: no file declares it",
            flag_of(asset, "declared") ? Colour::none : Colour::yellow);
  facts.add("path", text_of(asset, "path"));
  facts.add("table", text_of(asset, "table"));
  facts.add("starts", joined(list_of(asset, "consumers"), "\n"));
  if (const auto pending = number_of(asset, "pending_deliveries").value_or(0); pending > 0)
    facts.add("pending", counted_deliveries(pending) + " of what it starts");
  const json::value& last = field(asset, "last_materialization");
  if (const auto committed = time_of(last, "committed_at")) {
    facts.add("newest", event_in_words(last) + ", " + with_relative(*committed, session.now()));
    if (field(last, "metadata").is_object()) facts.add("metadata", json::serialize(field(last, "metadata")));
  }
  facts.print(session.out());
  const json::value& history = field(asset, "history");
  if (list_of(history, "items").empty()) {
    session.note("nothing was published of it yet");
    return exit_done;
  }
  session.out().line("");
  print_materializations(session, list_of(history, "items"), false);
  say_next_page(session, history);
  return exit_done;
}

int show_graph(Session& session, const json::value& body) {
  const std::vector<std::string> lines = tree_lines(body);
  for (const std::string& line : lines) session.out().line(line);
  if (lines.empty()) session.note("no assets: a pipeline `publishes` them, or eider.yaml declares some under `assets`");
  return exit_done;
}

/// The JSON object that --metadata is, or that the file holds which it names.
Result<json::object> metadata_of(const Session& session) {
  const std::string& given = session.options.metadata;
  std::string text = given;
  std::string where = "--metadata";
  if (!given.starts_with('{')) {
    const std::string name = given.substr(given.starts_with('@') ? 1 : 0);
    auto content = read_file(name.starts_with('/') ? name : session.around.folder + "/" + name, kMetadataLimitBytes);
    if (!content && content.error().code == ErrorCode::not_found) {
      return Error{
          ErrorCode::invalid,
          fmt::format("--metadata: `{}` is neither a JSON object, such as '{{\"file\": \"a.csv\"}}', nor a file",
                      shown(given))};
    }
    if (!content) return Error{content.error().code, "--metadata: " + content.error().message};
    text = *std::move(content);
    where += ": " + name;
  }
  auto value = api::parse_strict_json(text);
  if (value && value->is_object()) return std::move(value->get_object());
  return Error{ErrorCode::invalid, fmt::format("{}: expected a JSON object, such as '{{\"file\": \"a.csv\"}}': {}",
                                               where, value ? "it is another value" : value.error().message)};
}

Result<void> add_count(json::object& body, const char* name, const std::string& text) {
  if (text.empty()) return {};
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 0) {
    return Error{ErrorCode::invalid,
                 fmt::format("--{}: `{}` is wrong: expected a whole number that is not negative", name, shown(text))};
  }
  body[name] = value;
  return {};
}

/// The run whose step this is, where it is one of this workspace.
std::string cause_run(const Session& session) {
  std::string run = session.around.environment("EIDER_RUN_ID");
  const std::string home = session.around.environment("EIDER_WORKSPACE");
  if (!is_uuid(run)) return {};
  if (home.empty()) return run;
  const auto root = find_workspace(home, session.around.folder);
  return root && *root == session.workspace ? run : std::string();
}

Result<json::object> body_of(const Session& session) {
  const Options& options = session.options;
  json::object body;
  if (!options.metadata.empty()) {
    auto metadata = metadata_of(session);
    if (!metadata) return metadata.error();
    body["metadata"] = *std::move(metadata);
  }
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string*>{"rows", &options.rows}, {"bytes", &options.bytes}}) {
    if (auto added = add_count(body, name, *text); !added) return added.error();
  }
  if (!options.partition.empty()) body["partition"] = options.partition;
  if (!options.fingerprint.empty()) body["fingerprint"] = options.fingerprint;
  if (const std::string run = cause_run(session); !run.empty()) body["cause_run_id"] = run;
  return body;
}

int show_recorded(Session& session, const json::value& body) {
  const std::string id = safe(text_of(body, "id"));
  if (flag_of(body, "repeated")) {
    session.out().line(id + " was recorded before: nothing new is owed");
  } else {
    const auto owed = number_of(body, "owed").value_or(0);
    const std::string what = owed == 0 ? "no trigger waits for it" : counted_deliveries(owed) + " owed";
    session.out().line(fmt::format("{} is recorded: {}", id, what));
  }
  return exit_done;
}

int show_materializations(Session& session, const json::value& body) {
  if (!print_materializations(session, list_of(body, "items"), true)) {
    const Options& options = session.options;
    const bool all = options.asset.empty() && options.pipeline.empty() && options.run.empty();
    session.note(all ? "nothing was published yet" : "no materializations match");
    return exit_done;
  }
  say_next_page(session, body);
  return exit_done;
}

int show_materialization(Session& session, const json::value& event) {
  Facts facts;
  facts.add("materialization", text_of(event, "id"));
  facts.add("asset", text_of(event, "asset"));
  facts.add("partition", text_of(event, "partition"));
  facts.add("made by", maker_of(event));
  const std::string run = text_of(event, "run_id");
  const std::string attempt = text_of(event, "attempt");
  facts.add("run", attempt.empty() ? run : fmt::format("{}, attempt {}", run, attempt));
  if (const auto at = time_of(event, "committed_at")) facts.add("committed", with_relative(*at, session.now()));
  facts.add("rows", text_of(event, "rows"));
  if (const auto size = number_of(event, "bytes")) facts.add("size", bytes(*size));
  const std::string fingerprint = text_of(event, "fingerprint");
  facts.add("fingerprint", fingerprint + (flag_of(event, "unchanged") ? ", as the one before" : ""));
  std::string columns;
  for (const json::value& column : list_of(event, "columns"))
    columns += (columns.empty() ? "" : "\n") + text_of(column, "name") + " " + text_of(column, "type");
  facts.add("columns", columns);
  if (field(event, "metadata").is_object()) facts.add("metadata", json::serialize(field(event, "metadata")));
  facts.print(session.out());
  session.note(fmt::format("`eider explain {}` shows what led to it and what followed", safe(text_of(event, "id"))));
  return exit_done;
}

std::string asset_path(const Session& session) {
  return "/api/v1/assets/" + api::encode_segment(session.options.target);
}

}  // namespace

int assets_list(Session& session) {
  const Options& options = session.options;
  return ask_and_show(session, get("/api/v1/assets", {{"limit", options.limit}, {"cursor", options.cursor}}),
                      Backend::Mode::server_or_files, show_assets);
}

int assets_show(Session& session) {
  const Options& options = session.options;
  return ask_and_show(session, get(asset_path(session), {{"limit", options.limit}, {"cursor", options.cursor}}),
                      Backend::Mode::server_or_files, show_asset);
}

int assets_graph(Session& session) {
  const bool dot = session.options.dot;
  return ask_and_show(session, get("/api/v1/assets/graph"), Backend::Mode::server_or_files,
                      [dot](Session& in, const json::value& body) {
                        if (!dot) return show_graph(in, body);
                        in.out().print(dot_text(body));
                        return exit_done;
                      });
}

int assets_materialize(Session& session) {
  auto body = body_of(session);
  if (!body) return session.fail(body.error());
  api::Request request = post(asset_path(session) + "/materializations", *body);
  if (const std::string& key = session.options.idempotency_key; !key.empty()) request.headers["idempotency-key"] = key;
  return ask_and_show(session, request, Backend::Mode::server_only, show_recorded);
}

int materializations(Session& session) {
  const Options& options = session.options;
  return ask_history(session,
                     get("/api/v1/materializations", {{"asset", options.asset},
                                                      {"pipeline", options.pipeline},
                                                      {"run", options.run},
                                                      {"limit", options.limit},
                                                      {"cursor", options.cursor}}),
                     show_materializations);
}

int materializations_show(Session& session) {
  return ask_history(session, get("/api/v1/materializations/" + api::encode_segment(session.options.target)),
                     show_materialization);
}

}  // namespace eider::cli
