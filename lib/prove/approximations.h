// Approximations of LOG2, EXP2 and SIN by arithmetic on one float of at most 32 bits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

struct Approximation {
  UOp function;
  UOp expansion;
  UOp operand;
  std::string key;  // SHA-256 of both expressions in hexadecimal, the same in each build and graph
};

// Puts a leaf in place of `operand` in both. Returns nullopt unless scalar arithmetic replaces LOG2, EXP2 or SIN of a
// scalar float of 32 or 16 bits.
std::optional<Approximation> find_approximation(UOp function, UOp expansion, UOp operand);

// The largest error that counts as rounding, in units of the last place.
inline constexpr double kMaxUlp = 8;

struct ApproximationError {
  // The largest difference from the exact value, in units of its last place; for a sine, in units of the last place of
  // 1. Leaves out the operands that num_special_inputs counts.
  double max_ulp = 0;
  // The number of finite operands for which the exact value is a NaN or an infinity, and the approximation differs.
  uint64_t num_special_inputs = 0;
};

// Measures the error if it is not known already, which takes minutes for 2^32 values. Fails if the measurement fails or
// too little time is left.
Result<ApproximationError> error_of(const Approximation& a);

}  // namespace tgc
