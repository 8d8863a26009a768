// The chain of causes behind a run, an event, a delivery or an occurrence, and what follows from it, as the store has
// them (I10): occurrence -> run -> materialization -> delivery -> run … One thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/asset.h"
#include "model/run.h"
#include "store/store.h"

namespace eider::api {

using Thing = std::variant<model::Occurrence, model::Run, model::Materialization, model::Delivery>;
const std::string& id_of(const Thing& thing);

/// One thing of a chain.
struct Link {
  enum class Part { cause, asked, effect };
  Thing thing;
  Part part = Part::cause;
  int level = 0;           ///< of an effect: how many steps from what was asked for
  std::size_t others = 0;  ///< of a batch's run: how many more events it was made for, as far as they were counted
  bool more = false;       ///< it has more effects than are shown
  bool again = false;      ///< a run that several deliveries share: its effects follow the first of them
};

struct Trace {
  /// Causes, the first cause first; then what was asked for; then the effects, each before its own effects.
  std::vector<Link> links;
  bool truncated = false;  ///< the chain begins before its first link
};

inline constexpr std::size_t kMostCauses = 100;
inline constexpr std::size_t kMostEffects = 100;
inline constexpr int kMostEffectsOfOne = 20;

/// Of a batch, the chain of its newest event is followed. `thing` is a row of the store. Errors are the reader's.
Result<Trace> trace(store::Reader& reader, Thing thing);

}  // namespace eider::api
