// Perturbs the roundings of a kernel, to find elements that two correct devices may store differently: no tolerance
// covers an element that jumps if the last bit of an operand changes.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// Returns the distance from 1 to the next larger number of a float dtype (or a vector of it); 0 for other dtypes.
double dtype_epsilon(DType dtype);

inline constexpr int kNumPerturbations = 4;

// Returns the kernel `root`, a graph at any stage, perturbed in one of kNumPerturbations ways, as a graph that REF
// runs:
//   - a rounded float (a result of arithmetic or of a narrowing cast, or a term of a sum) is larger or smaller by its
//     last bit, except in way 0
//   - a comparison of such floats that differ by at most a few bits gives the other answer, in half of the ways
//   - a cast of such a float to an integer, or its TRUNC, has an operand that is a few bits larger or smaller
//   - a maximum with a NaN is one operand in some ways, and the other operand in others
//   - a result that C leaves undefined is another value in every way: a division by zero, a negative power of zero, a
//     shift by the width or more, an overflow of a signed ADD, SUB, MUL or SHL of at most 32 bits, a cast of a float
//     that does not fit the integer, and the bits of a computed NaN (the device chooses its sign and payload)
UOp perturb_rounding(UOp root, int way);

// Added to a way, this makes perturb_rounding() leave the results that C leaves undefined as REF computes them.
inline constexpr int kRoundingPerturbationOffset = 8;

// A further way for perturb_rounding(): it perturbs nothing, but computes sums of floats in float64.
inline constexpr int kWideSumsPerturbation = kNumPerturbations;

}  // namespace tgc
