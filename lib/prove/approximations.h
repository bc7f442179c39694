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

// Returns the approximation of `function`, which is LOG2, EXP2 or SIN of `operand`, by `expansion`; a leaf replaces the
// operand in both. Returns nullopt if `operand` is no scalar float of 32 or 16 bits, or if `expansion` depends on
// anything else or is `function` itself.
std::optional<Approximation> approximation_of(UOp function, UOp expansion, UOp operand);

// The largest error that counts as rounding, in units of the last place.
inline constexpr double kMostUlp = 8;

// The error of an approximation, over all values of the operand.
struct ApproximationError {
  // The largest difference where the exact value is finite or the operand is not, divided by the distance of two
  // neighbouring floats at the exact value; for a sine, at 1. Infinity if only one of the values is a NaN, or if the
  // exact value is zero and the other one is not.
  double max_ulp = 0;
  // The number of finite operands for which the exact value is a NaN or an infinity, and the value of the approximation
  // differs. A proof in FloatSense::Finite or a weaker sense says nothing about these operands.
  uint64_t num_special_inputs = 0;
};

// Returns the error of an approximation. Those of tinygrad's releases are in known_approximations.def. Other errors are
// measured, with REF for the 2^16 values of a 16-bit float, else with compiled code for 2^32 values, and are stored in
// the compile cache. Measuring 2^32 values takes minutes; fails if less time is left. Without a time limit, the errors
// in known_approximations.def are measured, too.
Result<ApproximationError> error_of(const Approximation& a);

}  // namespace tgc
