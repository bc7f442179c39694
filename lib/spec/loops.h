// Static checks of loops beyond tinygrad's specification: loops whose iterations store different values to the same
// element, and ranges of negative size. REF detects such stores at run time; these checks find the cases that are
// certain from the graph alone, without false positives.
#pragma once
#include <span>

#include "lib/spec/spec.h"

namespace tgc {

// Returns the first of `nodes` (sources before users) that is
//   - a STORE in a loop (an END closes both) whose address and gate do not depend on the loop's range but whose value
//     does. A value that reads the stored buffer is an intended accumulation and is not reported.
//   - a RANGE of negative constant size.
std::optional<SpecViolation> verify_loops(std::span<const UOp> nodes);

// Returns true if a generated or reduced graph is worth running: it is well formed, satisfies `spec` and verify_loops,
// and no RANGE has a size that is always 0.
bool is_sound(UOp root, Spec spec);

}  // namespace tgc
