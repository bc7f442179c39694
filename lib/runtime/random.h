// Fills arrays with inputs for kernels. An input's values do not depend on the machine or on the kernel's other inputs.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/array.h"

namespace tgc {

// Normal: nearly standard normal, magnitude at most 3.5. Unit: between 1/64 and 0.9, where square roots, logarithms and
// quotients of x and of 1 - x are finite.
enum class FloatKind : uint8_t { Normal, Unit };

// Integers are in -50..50 (unsigned 1..50) without 0, so that dividing by an input is defined.
void fill_random(Array& array, uint64_t seed, std::string_view name, FloatKind floats = FloatKind::Normal);

// Fills `array` with values of all sizes, which depend only on the arguments. About a third of the floats are as
// fill_random() draws them. The others are zeros, ones and denormals of both signs, and normally distributed numbers
// scaled by 2**-14 to 2**16 (2**-4 to 2**12 if the dtype has at most 5 bits of exponent). With FloatKind::Unit, no
// float is negative. Each row of eight integers has, in random order, 0 or 1, the bits of -1, of the least and of the
// greatest signed integer, two integers of any bits, and two as fill_random() draws them. Bools are as fill_random()
// draws them.
void fill_wide_range(Array& array, uint64_t seed, std::string_view name, FloatKind floats = FloatKind::Normal);

// Fills `array` with the numbers of `pool`, which is not empty, in an order that depends on `name`. Starts where the
// call with the previous `turn` ended. For integers of n bits, 1 replaces a number that is not whole, or whose
// magnitude is at least 2**(min(n, 53) - 1); a negative number wraps if they are unsigned. Bools are random.
void fill_from_pool(Array& array, std::string_view name, std::span<const double> pool, uint64_t turn);

// Gives each number the sign `sign`, which is 1 or -1, and replaces zeros, denormals and the least integer by another
// number. Does not change unsigned integers and bools.
void set_signs(Array& array, int sign);

struct InputDistribution {
  uint64_t seed = 0;
  FloatKind floats = FloatKind::Normal;  // kind of the floats in arrays that `unit_inputs` does not name
  std::set<std::string, std::less<>> unit_inputs = {};

  FloatKind float_kind_of(std::string_view array) const {
    return unit_inputs.contains(array) ? FloatKind::Unit : floats;
  }
  bool has_unit_arrays() const { return floats == FloatKind::Unit || !unit_inputs.empty(); }
  // Returns text such as "between 0 and 1 in data1"; empty if no array is of FloatKind::Unit.
  std::string text() const;
};

}  // namespace tgc
