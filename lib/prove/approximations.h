// Approximations of LOG2, EXP2 and SIN by arithmetic on one float of 16 or 32 bits, and their errors.
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

// Puts a leaf in place of `operand` in both expressions. Returns nullopt unless `function` is LOG2, EXP2 or SIN of
// `operand`, a scalar float of 32 or 16 bits, and `expansion` is other scalar arithmetic on `operand`, of its dtype.
std::optional<Approximation> find_approximation(UOp function, UOp expansion, UOp operand);

// The largest error that counts as rounding, in units of the last place.
inline constexpr double kMaxUlp = 8;

struct ApproximationError {
  // The largest measured difference from the exact value, in units of its last place (for a sine, of 1); 0.5 stands for
  // correctly rounded float32 values. Leaves out finite operands whose exact value is a NaN or an infinity.
  double max_ulp = 0;
  // The number of finite operands for which the exact value is a NaN or an infinity, and the approximation differs.
  uint64_t num_special_inputs = 0;
};

// Returns the error from the compile cache or, with a time limit, from known_approximations.def. Else measures it; this
// takes minutes for 2^32 values. Fails if the measurement fails or too little time is left.
Result<ApproximationError> measure_error(const Approximation& a);

}  // namespace tgc
