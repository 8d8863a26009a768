// A Reader's connection and statements, and its answers about materializations and deliveries.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace eider::store::sqlite {

/// The part of a Reader that answers DataReader. Owns the connection; one thread at a time.
class DataReaderPart : public Reader {
 public:
  Result<Page<model::Materialization>> materializations(const MaterializationFilter& filter, int limit,
                                                        const std::string& cursor) override;
  Result<std::optional<model::Materialization>> materialization(const std::string& id) override;
  Result<std::optional<model::Materialization>> newest_of(const std::string& asset) override;
  Result<std::vector<std::string>> materialized_assets() override;
  Result<Page<model::Delivery>> deliveries(const DeliveryFilter& filter, int limit, const std::string& cursor) override;
  Result<std::optional<model::Delivery>> delivery(const std::string& id) override;
  Result<std::optional<model::Occurrence>> occurrence_of_run(const std::string& run_id) override;
  Result<std::optional<model::Occurrence>> occurrence(const std::string& id) override;
  Result<std::vector<Named>> ids(const std::string& prefix) override;
  Result<std::vector<std::pair<std::string, std::int64_t>>> pending_counts() override;

 protected:
  explicit DataReaderPart(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  /// The statement of this text, made at its first use; there are as many as there are kinds of question.
  Statement& statement(const std::string& sql);
  /// Up to two ids of a table that begin with `prefix`; `invalid` when that is too short. `what`: in words.
  Result<std::vector<std::string>> ids_in(const char* table, const std::string& prefix, const char* what);

 private:
  std::unique_ptr<Connection> connection_;
  std::map<std::string, std::unique_ptr<Statement>> statements_;
};

/// The texts of its queries, for the test that reads their plans. Parameters of the lists in order: the cursor (one
/// number for materializations, two for deliveries), the limit, then what the filter names.
std::string materializations_sql(const MaterializationFilter& filter);
std::string deliveries_sql(const DeliveryFilter& filter);
std::string newest_of_asset_sql();
std::string occurrence_of_run_sql();
std::string ids_sql(const char* table);
extern const char* const materialized_assets_sql;

}  // namespace eider::store::sqlite
