// Perturbs the roundings of a kernel, to find elements that two correct devices may store differently: devices round
// differently, and where C leaves a result undefined, they may give any. No tolerance covers an element that jumps when
// an operation is off in its last bit (x == maximum, a cast of 2.9999998 to an integer).
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// Returns the distance from 1 to the next number of a float dtype, or of a vector's element dtype; 0 for other dtypes.
double epsilon(DType dtype);

inline constexpr int kPerturbations = 4;

// Returns the kernel `root`, a graph at any stage, perturbed in one of kPerturbations ways, as a graph that REF runs:
//   - a float that is rounded (a sum, a product, a root, a narrowing cast) is its last bit more, or less (not in way 0)
//   - a comparison of such floats that differ by at most a few bits gives the other answer, in half of the ways
//   - a float is cast to an integer, or truncated, from a few bits above, or below
//   - a maximum with a NaN is one operand in some ways, the other in others
//   - a division by zero, a negative power of zero, a shift by the width or more, a sum, product or left shift of
//     signed integers that overflows, a cast of a float that does not fit the integer, and the bits of a computed NaN
//     (its sign and payload are the device's own) give another value in every way
// Throws Failure.
UOp perturb_rounding(UOp root, int way);

}  // namespace tgc
