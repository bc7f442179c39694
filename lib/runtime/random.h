// Inputs drawn from a seed: the same on every machine and for every other input of the kernel,
// so that a failure can be repeated.
#pragma once
#include <cstdint>
#include <string_view>

#include "lib/runtime/array.h"

namespace tgc {

// Floats as they are drawn: near the standard normal distribution, none beyond 3.5; or between 1/64 and 0.9, where
// square roots, logarithms and quotients (of x and of 1 - x) are finite.
enum class Floats : uint8_t { Normal, Unit };

// Fills `array` with values that depend on the arguments alone. Floats are rounded to the dtype. Integers: -50..50
// without 0 (unsigned ones 1..50), so that dividing by an input is defined. Bools: either.
void fill_random(Array& array, uint64_t seed, std::string_view name, Floats floats = Floats::Normal);

// How random inputs are drawn.
struct InputDistribution {
  uint64_t seed = 0;
  Floats floats = Floats::Normal;
};

}  // namespace tgc
