// is_instance_of: finds out if a rewrite is a special case of another one, whose operands are unknown values. If the
// other one is proven for all of these values, so is the special case.
#pragma once
#include "lib/compilation/rewrite_log.h"

namespace tgc {

// Returns true if both sides of `instance` are those of `general` with expressions in place of its unknown values: the
// elements of memories, and elements of int64 cast to the dtype of indices. Both must be rewrites of a recorded graph.
// Each expression has the dtype of the unknown value, and does not contain Invalid.
bool is_instance_of(const Rewrite& instance, const Rewrite& general);

}  // namespace tgc
