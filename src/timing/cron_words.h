// Cron expressions in words, for people.
#pragma once

#include <string>

#include "timing/cron.h"

namespace eider::timing {

/// `at 02:30 every day`, `every 15 minutes`; `cron EXPRESSION` for what is too much for words.
std::string cron_words(const Cron& cron);

}  // namespace eider::timing
