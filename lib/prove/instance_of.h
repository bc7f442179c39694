#pragma once
#include "lib/compilation/rewrite_log.h"

namespace tgc {

// Returns true if both sides of `instance` are those of `general` with expressions, without Invalid, in place of its
// unknown values: the elements of memories, and elements of int64 cast to the dtype of indices. An element must be
// unknown either by itself or by its cast. Then `instance` holds if `general` does.
bool is_instance_of(const Rewrite& instance, const Rewrite& general);

}  // namespace tgc
