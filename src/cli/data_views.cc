#include "cli/data_views.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/ids.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {

namespace json = boost::json;

std::string event_in_words(const json::value& event) {
  std::string out = text_of(event, "asset");
  if (const std::string partition = text_of(event, "partition"); !partition.empty()) out += " " + partition;
  std::string about;
  if (const auto rows = number_of(event, "rows")) about = counted(*rows, "row");
  if (const auto size = number_of(event, "bytes")) about += (about.empty() ? "" : ", ") + bytes(*size);
  if (flag_of(event, "unchanged")) about += about.empty() ? "unchanged" : ", unchanged";
  return about.empty() ? out : fmt::format("{} ({})", out, about);
}

std::string maker_of(const json::value& event) {
  const std::string said_by = text_of(event, "said_by");
  const std::string source = text_of(event, "source");
  if (source == "watched") return fmt::format("outside (a file in {})", said_by);
  if (source == "reported") return fmt::format("outside ({})", said_by);
  return text_of(event, "pipeline");
}

std::string counted_deliveries(std::int64_t count) {
  return count == 1 ? "1 delivery" : fmt::format("{} deliveries", count);
}

bool print_materializations(Session& session, const json::array& items, bool with_asset) {
  const bool terminal = session.out().terminal();
  std::vector<std::string> ids;
  for (const json::value& event : items) ids.push_back(text_of(event, "id"));
  if (terminal) ids = short_ids(ids);
  std::vector<std::string> titles{"MATERIALIZATION", "ASSET", "PARTITION", "BY", "RUN",
                                  "COMMITTED",       "ROWS",  "SIZE",      ""};
  if (!with_asset) titles.erase(titles.begin() + 1);
  Table table(titles);
  table.keep("RUN");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::value& event = items[i];
    const auto committed = time_of(event, "committed_at");
    const auto size = number_of(event, "bytes");
    std::vector<Cell> row{ids[i],
                          text_of(event, "asset"),
                          text_of(event, "partition"),
                          maker_of(event),
                          text_of(event, "run_id").substr(0, terminal ? short_id_length : std::string::npos),
                          committed ? relative(*committed, session.now()) : "",
                          text_of(event, "rows"),
                          size ? bytes(*size) : "",
                          {flag_of(event, "unchanged") ? "unchanged" : "", Colour::grey}};
    if (!with_asset) row.erase(row.begin() + 1);
    table.row(std::move(row));
  }
  if (table.empty()) return false;
  table.drop_empty_columns();
  table.print(session.out());
  return true;
}

}  // namespace eider::cli
