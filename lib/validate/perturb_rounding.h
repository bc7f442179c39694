// What a kernel's results hang on besides its inputs: how each step is rounded, and what is made of what C leaves
// undefined. Two correct devices may differ in both, and where a result jumps when a step is off by its last bit (x ==
// maximum, a cast of 2.9999998 to an integer), they differ by much more than a tolerance. To find such elements, the
// kernel is run again in REF with every step a little off.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// The distance from 1 to the next float of a dtype, or of its elements; 0: they are no floats.
double epsilon(DType dtype);

inline constexpr int kPerturbations = 4;

// The kernel `root`, a graph at any stage, with every step off in one of kPerturbations ways, as a graph that REF runs:
//   - a float that is rounded (a sum, a product, a root, a narrowing cast) is its last bit more, or less, in all
//     ways but one
//   - a comparison of such floats that are equal but for a few bits gives the other answer, in half of the ways
//   - a float is cast to an integer, or truncated, from a few bits above, or below
//   - a maximum of a NaN is the one, or the other
//   - a division by zero, a negative power of it, a shift by the width or more, a sum, product or left shift of signed
//     integers that does not fit, a cast of a float that the integer does not hold, and the bits of a NaN that was
//     computed (its sign and payload are the device's own), give something else in every way
// Throws Failure.
UOp perturb_rounding(UOp root, int way);

}  // namespace tgc
