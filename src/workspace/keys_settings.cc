// The rows of eider.yaml.
#include "workspace/key_rows.h"

namespace eider::workspace {
namespace {

using model::ExternalAsset;
using model::Pool;
using model::Settings;

// One row a key, in a form that can be read as a table.
// clang-format off
constexpr Key kSharesKeys[] = {
    {.name = "data", .type = Type::ratio, .read = into<Settings, &Settings::data_share>,
     .about = "Runs that published data has caused. At least one worker.", .fallback = "75%", .least = 0, .most = 1},
    {.name = "backfill", .type = Type::ratio, .read = into<Settings, &Settings::backfill_share>,
     .about = "Runs of backfills. At least one worker.", .fallback = "50%", .least = 0, .most = 1},
};
constexpr Section kShares = {.name = "shares", .title = "workers.share",
                             .about = "The part of the workers that one cause may take.", .keys = kSharesKeys};

constexpr Key kWorkersKeys[] = {
    {.name = "max", .type = Type::integer, .read = into<Settings, &Settings::max_workers>,
     .about = "How many runs execute at once, in all.", .fallback = "16", .least = 1, .most = 1000},
    {.name = "share", .type = Type::section, .read = into_same,
     .about = "How much of `max` runs of one cause may take, so that clocks and people always find a worker.",
     .of = &kShares},
};
constexpr Section kWorkers = {.name = "workers", .title = "workers", .about = "The processes that execute runs.",
                              .keys = kWorkersKeys, .later = "recycle_after"};

constexpr Key kPoolKeys[] = {
    {.name = "slots", .type = Type::integer, .read = into<Pool, &Pool::slots>,
     .about = "How many may be taken at once. Default: 1, or without a bound (0) when there is a rate.", .least = 0,
     .most = 100'000},
    {.name = "rate", .type = Type::rate, .read = into<Pool, &Pool::rate>,
     .about = "How many runs that take it may start, whatever number of slots each takes: `100/min`, `5/10s`."},
};
constexpr Section kPool = {
    .name = "pool", .title = "pools.NAME",
    .about = "A named limit on what runs at once, across pipelines.",
    .keys = kPoolKeys, .short_key = "slots"};

constexpr Key kAssetKeys[] = {
    {.name = "description", .type = Type::text, .read = into<ExternalAsset, &ExternalAsset::description>,
     .about = "What it is, shown beside its name."},
    {.name = "watch", .type = Type::any_path, .read = into<ExternalAsset, &ExternalAsset::watch>,
     .about = "A folder, in the workspace or absolute: each file that lands in it is new data of the asset.",
     .expands = true},
    {.name = "files", .type = Type::file_pattern, .read = into<ExternalAsset, &ExternalAsset::files>,
     .about = "Which files of the folder, as a shell pattern like \"*.csv\". Default: all but hidden ones, *.tmp and "
              "*.part."},
    {.name = "settle", .type = Type::duration, .read = into<ExternalAsset, &ExternalAsset::settle>,
     .about = "A file is whole when it was closed and did not change for so long.", .fallback = "1s",
     .most = kMonth / 30},
};
constexpr Section kAsset = {
    .name = "asset", .title = "assets.NAME",
    .about = "An asset whose data something outside Eider makes. Its name alone is enough to declare it: `raw.events:`.",
    .keys = kAssetKeys};

constexpr Key kDefaultsKeys[] = {
    {.name = "timezone", .type = Type::timezone, .read = into<Settings, &Settings::timezone>,
     .about = "Zone of pipelines that name none.", .fallback = "UTC"},
    {.name = "retry", .type = Type::section, .read = into<Settings, &Settings::retry>,
     .about = "Retry policy of pipelines, key by key.", .of = &kRetry},
};
constexpr Section kDefaults = {.name = "defaults", .title = "defaults",
                               .about = "What pipelines use unless they say otherwise.", .keys = kDefaultsKeys,
                               .later = "timeout overlap misfire"};

constexpr Key kCeilingKeys[] = {
    {.name = "memory", .type = Type::size, .read = into<Settings, &Settings::memory_bytes>,
     .about = "The sum of resources.memory over running runs stays within this. Default: no bound.",
     .least = 16 * kMiB},
    {.name = "temp", .type = Type::size, .read = into<Settings, &Settings::temp_bytes>,
     .about = "The sum of resources.temp over running runs stays within this. Default: no bound.", .least = 0},
};
constexpr Section kCeiling = {.name = "ceiling", .title = "resources",
                              .about = "What all running runs together may use.", .keys = kCeilingKeys,
                              .later = "threads"};

constexpr Key kLogsKeys[] = {
    {.name = "limit", .type = Type::size, .read = into<Settings, &Settings::log_limit_bytes>,
     .about = "How long the log of one attempt may get; then it is cut, and its end kept.", .fallback = "64MiB",
     .least = 64 * kKiB},
};
constexpr Section kLogs = {.name = "logs", .title = "logs", .about = "Logs of attempts.", .keys = kLogsKeys};

constexpr Key kServerKeys[] = {
    {.name = "drain_timeout", .type = Type::duration, .read = into<Settings, &Settings::drain_timeout>,
     .about = "How long `eider stop` lets running runs finish before it interrupts them.", .fallback = "30s"},
};
constexpr Section kServer = {.name = "server", .title = "server", .about = "The server itself.", .keys = kServerKeys,
                             .later = "listen tokens"};

constexpr Key kWorkspaceKeys[] = {
    {.name = "server", .type = Type::section, .read = into_same, .about = "The server itself.", .of = &kServer},
    {.name = "workers", .type = Type::section, .read = into_same, .about = "The processes that execute runs.",
     .of = &kWorkers},
    {.name = "pools", .type = Type::named, .read = into<Settings, &Settings::pools>,
     .about = "Pools by name; {heavy: 1} is short for {heavy: {slots: 1}}.", .of = &kPool},
    {.name = "assets", .type = Type::assets, .read = into<Settings, &Settings::assets>,
     .about = "Assets that are made outside Eider, by name.", .of = &kAsset},
    {.name = "defaults", .type = Type::section, .read = into_same,
     .about = "What pipelines use unless they say otherwise.", .of = &kDefaults},
    {.name = "resources", .type = Type::section, .read = into_same, .about = "What all running runs together may use.",
     .of = &kCeiling},
    {.name = "logs", .type = Type::section, .read = into_same, .about = "Logs of attempts.", .of = &kLogs},
};
constexpr Section kWorkspace = {
    .name = "workspace", .title = "eider.yaml",
    .about = "Settings of the server. An empty file is fine; an error in it refuses the whole workspace.",
    .keys = kWorkspaceKeys, .later = "retention locks alerts notify secrets"};

// clang-format on

}  // namespace

const Section& workspace_section() { return kWorkspace; }

std::vector<const Section*> settings_sections() {
  return {&kWorkspace, &kServer, &kWorkers, &kShares, &kPool, &kAsset, &kDefaults, &kCeiling, &kLogs};
}

}  // namespace eider::workspace
