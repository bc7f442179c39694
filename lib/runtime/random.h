// Inputs drawn from a seed: the same on every machine and for every other input of the kernel, so that a failure can be repeated.
#pragma once
#include <cstdint>
#include <string_view>

#include "lib/runtime/array.h"

namespace tgc {

// Fills `array` with values that depend on `seed` and `name` alone. Floats: near the standard normal distribution, rounded to the dtype,
// none beyond 3.5. Integers: -50..50 without 0 (unsigned ones 1..50), so that dividing by an input is defined. Bools: either.
void fill_random(Array& array, uint64_t seed, std::string_view name);

}  // namespace tgc
