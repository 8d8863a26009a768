// What every test program uses, on top of the common headers.
#pragma once
#include "base/precompiled.h"

#include <gtest/gtest.h>
