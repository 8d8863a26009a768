// Instants and zones as tests write them.
#pragma once

#include "base/time.h"
#include "timing/zone.h"

namespace eider::timing {

inline Instant at(const char* text) { return *parse_rfc3339(text); }
inline Zone brussels() { return *Zone::load("Europe/Brussels"); }
inline Zone zone(const char* name) { return *Zone::load(name); }

}  // namespace eider::timing
