#include "worker/publication.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/fault.h"
#include "base/fd.h"
#include "wire/publish.h"
#include "worker/content.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

using Kind = duck::ScriptOutcome::Kind;

/// Of all publications of one asset: a very wide table in very many partitions tells no columns.
constexpr std::size_t kColumnsLimitBytes = 1024 * 1024;

/// Nobody reads it: the work is begun again.
const Error kHeld{ErrorCode::unavailable, "the DuckDB file is held"};

struct Format {
  duck::FileFormat format;
  std::string compression;
};

/// By the name under which it is published.
std::optional<Format> format_of(const std::string& target) {
  std::string name;
  for (const char c : target.substr(target.rfind('/') + 1)) name += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  if (name.ends_with(".parquet")) return Format{duck::FileFormat::parquet, ""};
  std::string compression;
  for (const auto& [ending, method] : {std::pair{".gz", "gzip"}, std::pair{".zst", "zstd"}}) {
    if (!name.ends_with(ending)) continue;
    name.resize(name.rfind('.'));
    compression = method;
  }
  for (const char* ending : {".csv", ".tsv"}) {
    if (name.ends_with(ending)) return Format{duck::FileFormat::csv, compression};
  }
  for (const char* ending : {".json", ".jsonl", ".ndjson"}) {
    if (name.ends_with(ending)) return Format{duck::FileFormat::json, compression};
  }
  return std::nullopt;
}

/// The part of it that tells rows and columns: the file itself, or a folder's Parquet files.
std::vector<std::string> data_files(const Content& content, const wire::Rename& rename) {
  if (!rename.folder) return content.files;
  std::vector<std::string> out;
  for (const std::string& file : content.files) {
    const std::optional<Format> format = format_of(file);
    if (format && format->format == duck::FileFormat::parquet) out.push_back(rename.staged + "/" + file);
  }
  return out;
}

}  // namespace

std::vector<wire::Publication> publications_of(const model::Publish& publish, const Known& known,
                                               const std::vector<Said>& said, const std::string& run_partition) {
  std::vector<wire::Publication> out;
  const auto of_partition = [&](const std::string& partition) -> wire::Publication& {
    for (wire::Publication& one : out) {
      if (one.partition == partition) return one;
    }
    wire::Publication& made = out.emplace_back();
    made.asset = publish.asset;
    made.partition = partition;
    made.step = publish.after;
    made.rows = known.rows;
    made.bytes = known.bytes;
    made.fingerprint = known.fingerprint;
    return made;
  };
  for (const Said& line : said) {
    if (line.asset != publish.asset) continue;
    wire::Publication& one = of_partition(line.partition.value_or(run_partition));
    if (line.rows) one.rows = line.rows;
    if (line.bytes) one.bytes = line.bytes;
    if (!line.fingerprint.empty()) one.fingerprint = line.fingerprint;
    one.metadata = merge_objects(one.metadata, line.metadata);
  }
  if (out.empty()) of_partition(run_partition);
  if (known.columns.size() * out.size() <= kColumnsLimitBytes) {
    for (wire::Publication& one : out) one.columns = known.columns;
  }
  return out;
}

duck::ScriptOutcome PublishWork::go(SqlThread& thread) {
  publications_.clear();
  record_ = task_.before;
  auto renames = task_.publishing.collect(task_.after);
  if (!renames) return {Kind::failed, renames.error().message, 0};
  renames_ = std::move(*renames);
  const auto looked = look_at_all(thread);
  if (thread.interrupted()) return {Kind::interrupted, "", 0};
  if (!looked) return {Kind::failed, looked.error().message, 0};
  if (task_.after.empty()) return {};
  if (auto committed = commit(); !committed) return {Kind::failed, committed.error().message, 0};
  return {};
}

Result<void> PublishWork::look_at_all(SqlThread& thread) {
  for (const model::Publish& publish : task_.pipeline.publishes) {
    if (publish.after != task_.after) continue;
    Result<Known> known = Known{};
    for (const wire::Rename& rename : renames_) {
      if (rename.asset == publish.asset) known = look_at_path(publish, rename, thread);
    }
    if (!publish.table.empty()) known = look_at_table(publish, thread);
    if (!known) return known.error();
    for (wire::Publication& one : publications_of(publish, *known, task_.said, task_.run_partition)) {
      publications_.push_back(std::move(one));
    }
  }
  return {};
}

/// Only the file's bytes must be readable: that nobody can count rows in it is no fault.
Result<Known> PublishWork::look_at_path(const model::Publish& publish, const wire::Rename& rename,
                                        SqlThread& thread) const {
  const auto content = read_content(rename.staged, [&] { return thread.interrupted(); });
  if (!content) {
    return Error{content.error().code, fmt::format("can't publish {} as {}: can't read what was made: {}",
                                                   publish.asset, rename.target, content.error().message)};
  }
  Known known;
  known.bytes = content->bytes;
  known.fingerprint = content->fingerprint;
  if (known.fingerprint.empty()) {
    thread.note(fmt::format("{} is published without a fingerprint: {} is or holds a link or pipe", publish.asset,
                            rename.target));
  }
  const std::vector<std::string> files = data_files(*content, rename);
  const std::optional<Format> format = rename.folder ? Format{duck::FileFormat::parquet, ""} : format_of(rename.target);
  if (files.empty() || !format) return known;
  const auto connection = thread.connect();
  if (connection && *connection == nullptr) return kHeld;
  const auto dataset = connection ? (*connection)->look_at_files(format->format, files, format->compression)
                                  : Result<duck::Dataset>(connection.error());
  if (dataset) {
    known.rows = dataset->rows;
    known.columns = dataset->columns;
  } else if (!thread.interrupted()) {
    thread.note(
        fmt::format("{} is published with an unknown number of rows: {}", publish.asset, dataset.error().message));
  }
  return known;
}

Result<Known> PublishWork::look_at_table(const model::Publish& publish, SqlThread& thread) const {
  const auto& database = task_.pipeline.database;
  if (database && database->read_only) {
    return Error{ErrorCode::invalid,
                 fmt::format("can't publish {}: {} is opened to read only, so no step can have made its table {}; "
                             "remove `read_only` from the pipeline's `database`",
                             publish.asset, database->file, publish.table)};
  }
  const auto connection = thread.connect();
  if (!connection) {
    return Error{connection.error().code, fmt::format("no step made the table {}, which the pipeline publishes as {}: "
                                                      "{}",
                                                      publish.table, publish.asset, connection.error().message)};
  }
  if (*connection == nullptr) return kHeld;
  auto dataset = (*connection)->look_at_table(publish.table);
  if (dataset) return Known{dataset->rows, std::nullopt, std::move(dataset->columns), std::move(dataset->fingerprint)};
  if (dataset.error().code != ErrorCode::not_found) {
    return Error{dataset.error().code, fmt::format("can't publish the table {} as {}: it can't be read: {}",
                                                   publish.table, publish.asset, dataset.error().message)};
  }
  return Error{ErrorCode::invalid,
               fmt::format("no step{} made the table {}, which the pipeline publishes as {}: {}; make it in {}, or "
                           "correct `table`",
                           task_.after.empty() ? "" : " up to " + task_.after, publish.table, publish.asset,
                           dataset.error().message, database ? database->file : "a database that the pipeline names")};
}

Result<void> PublishWork::commit() {
  record_.publications.insert(record_.publications.end(), publications_.begin(), publications_.end());
  record_.renames.insert(record_.renames.end(), renames_.begin(), renames_.end());
  fault::point("publish.before_commit");
  if (auto written = write_record(); !written) {
    ::unlink((task_.record + ".tmp").c_str());
    record_ = task_.before;
    publications_.clear();
    return Error{written.error().code, fmt::format("nothing was published after {}, because {} can't be written: {}",
                                                   task_.after, task_.record, written.error().message)};
  }
  fault::point("publish.after_commit");
  std::string failed;
  for (const wire::Rename& rename : renames_) {
    const auto applied = wire::apply_renames({rename});
    if (applied) continue;
    failed += (failed.empty() ? "" : "\n") + applied.error().message;
    const auto of_asset = [&](const auto& one) { return one.asset == rename.asset; };
    std::erase_if(publications_, of_asset);
    std::erase_if(record_.publications, of_asset);
    std::erase_if(record_.renames, of_asset);
  }
  fault::point("publish.after_renames");
  if (failed.empty()) return {};
  // What can't become visible is taken back: else a server would try it once more, long after.
  if (auto written = write_record(); !written) failed += "\n" + written.error().message;
  return Error{ErrorCode::io, failed};
}

Result<void> PublishWork::write_record() const {
  if (auto synced = sync_path(task_.record_folder); !synced) return synced;
  return write_file_durably(task_.record, wire::encode_published(record_));
}

}  // namespace eider::worker
