// Assets, what was published of them, and what is owed to whom for it (design sections 1, 4 and 5). Plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace eider::model {

/// Who says that an asset has new data.
enum class Source {
  run = 0,       ///< a run of Eider published it
  reported = 1,  ///< somebody outside said so (`eider assets materialize`, the API)
  watched = 2,   ///< a file landed in a watched folder
};
const char* to_text(Source value);

/// The event "asset A (partition P) has new data". One row each, for ever; never changed.
struct Materialization {
  std::string id;           ///< materialization_id()
  std::int64_t number = 0;  ///< place in the order of commits, given by the store; from 1
  std::string asset;
  std::string partition;  ///< empty: the whole asset
  Source source = Source::run;
  std::string pipeline;    ///< that published it; empty: it came from outside
  std::string run_id;      ///< that published it; from outside: the run whose step said so, or empty
  int attempt = 0;         ///< of that run
  std::string definition;  ///< hash of what ran
  std::string said_by;     ///< of what came from outside: `cli`, `api`, the path of the watched folder
  Instant committed_at{};
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> bytes;
  std::string columns;      ///< JSON array of {"name", "type"}, or empty
  std::string fingerprint;  ///< of the content; empty: not known
  bool unchanged = false;   ///< the materialization before had the same fingerprint
  std::string metadata;     ///< JSON object, or empty
  int depth = 0;            ///< how many deliveries lie between it and where its chain began
  bool operator==(const Materialization&) const = default;
};
/// What may be said of an event: a JSON object of at most 64 KiB, nested at most 16 deep, with finite numbers only, so
/// that whoever reads it again can. The one check at each border.
Result<void> check_metadata(std::string_view json);
/// identity = hash(origin, asset, partition, fingerprint): whatever is repeated, the same content that the same origin
/// published is one event (I6). `origin`: the run, or the idempotency key of what came from outside.
std::string materialization_id(std::string_view origin, std::string_view asset, std::string_view partition,
                               std::string_view fingerprint);

enum class DeliveryState { pending = 0, claimed = 1, delivered = 2, failed = 3, skipped = 4 };
const char* to_text(DeliveryState value);
std::optional<DeliveryState> delivery_state_from(std::string_view text);

/// One materialization owed to one trigger. From its claim on its state follows its run (transitions.h).
struct Delivery {
  std::string id;          ///< delivery_id()
  std::string trigger;     ///< `pipeline/id`
  std::string pipeline;    ///< the consumer
  std::int64_t event = 0;  ///< Materialization::number
  std::string event_id;    ///< its id
  std::string asset;       ///< of the event
  std::string partition;   ///< of the event
  DeliveryState state = DeliveryState::pending;
  std::string run_id;        ///< of the run that a claim made; a batch shares one
  int attempts = 0;          ///< of that run; like the next two only read, never written
  std::string event_run_id;  ///< Materialization::run_id of the event
  int event_depth = 0;       ///< its depth
  std::string owner;         ///< the server that claimed it: `HOST/PID`
  Instant created_at{};      ///< when it came to be owed
  std::optional<Instant> claimed_at;
  std::optional<Instant> finished_at;
  std::string reason;  ///< code, of skipped and failed ones
  std::string error;   ///< the same for people
  bool operator==(const Delivery&) const = default;
};
/// identity = hash(trigger, event): what makes a second delivery of one event impossible (I6).
std::string delivery_id(std::string_view trigger, std::string_view event_id);

/// What is pending of one trigger, by partition and asset.
struct PendingGroup {
  std::string partition;
  std::string asset;
  std::int64_t count = 0;
  Instant first_at{};  ///< created_at of the oldest and the newest of them
  Instant last_at{};
  bool operator==(const PendingGroup&) const = default;
};

/// A trigger that has been in force. One row a trigger; it stays when the trigger is removed, so that one that comes
/// back goes on from then and does not replay what it has seen.
struct TriggerCursor {
  std::string trigger;  ///< `pipeline/id`
  /// `start: earliest` owes events of the past in portions: those with replayed_to < number <= replay_until are still
  /// to be looked at. Equal: nothing is left. Newer events are owed with their materialization.
  std::int64_t replayed_to = 0;
  std::int64_t replay_until = 0;
  /// In replay_until: the trigger's file is wrong and no good version is known, so that nobody can say what it asks
  /// for. What is published meanwhile is looked at when it is back.
  static constexpr std::int64_t away = std::numeric_limits<std::int64_t>::max();
  bool operator==(const TriggerCursor&) const = default;
};

}  // namespace eider::model
