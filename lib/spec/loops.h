// Static checks of loops beyond tinygrad's specification.
#pragma once
#include <span>

#include "lib/spec/spec.h"

namespace tgc {

// Returns the first violation in `nodes` (sources before users); nullopt if there is none. Violations are:
// - a STORE to global memory that is the first source of an END, if its value depends on a RANGE of the END but its
//   address and gate (condition) do not, and the RANGE may run twice. If the value reads the stored buffer, the STORE
//   is an intended accumulation and is not reported.
// - a RANGE of negative constant size.
std::optional<SpecViolation> verify_loops(std::span<const UOp> nodes);

// Returns true if a generated or reduced graph is worth running: it is well formed, satisfies `spec` and
// verify_loops(), and each of its RANGEs can have a positive size.
bool is_sound(UOp root, Spec spec);

}  // namespace tgc
