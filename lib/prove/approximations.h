// Approximations of LOG2, EXP2 and SIN by arithmetic, such as those of tinygrad's codegen/decomp/transcendental.py.
// An approximation has one operand, a float of at most 32 bits, so that it can be compared with the function for all
// values of the operand.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Two expressions whose only leaf is `operand`.
struct Approximation {
  UOp function;   // LOG2, EXP2 or SIN of the operand
  UOp expansion;  // the arithmetic that replaces the function
  UOp operand;
  std::string key;  // SHA-256 of both expressions in hexadecimal, the same in each build and graph
};

// Returns the approximation of `function` by `expansion`, with a leaf in place of `operand` in both. Returns nullopt if
// `function` is not LOG2, EXP2 or SIN of `operand`, if `operand` is no scalar float of 32 or 16 bits, or if `expansion`
// is not scalar arithmetic of the same dtype on `operand` alone, or is `function` itself.
std::optional<Approximation> approximation_of(UOp function, UOp expansion, UOp operand);

// The largest error that counts as rounding, in units of the last place.
inline constexpr double kMaxUlp = 8;

// The error of an approximation, over all values of the operand.
struct ApproximationError {
  // The largest difference from the exact value, divided by the distance of two neighbouring floats at the exact value;
  // for a sine, at 1. Infinity if only one of the two values is a NaN or, except for a sine, if only the exact value is
  // zero. Leaves out the operands that num_special_inputs counts.
  double max_ulp = 0;
  // The number of finite operands for which the exact value is a NaN or an infinity, and the value of the approximation
  // differs. A proof in FloatSense::Finite or a weaker sense says nothing about these operands.
  uint64_t num_special_inputs = 0;
};

// Returns the error of an approximation. The errors of approximations by tinygrad's releases are in
// known_approximations.def; without a time limit, they are measured nevertheless. Other errors are measured with REF
// for the 2^16 values of a 16-bit float, else with compiled code for 2^32 values, until the error exceeds kMaxUlp.
// Measured errors are stored in the compile cache. Measuring 2^32 values takes minutes; fails if less time is left.
Result<ApproximationError> error_of(const Approximation& a);

}  // namespace tgc
