// The stage "rewrite for sched cache": normalizes a tensor graph so that graphs with the same schedule have equal cache
// keys. Renumbers buffers in rewrite order and removes the values of bound variables.
// Mirrors tinygrad engine/schedule.py:pm_pre_sched_cache.
#pragma once
#include "lib/support/sha256.h"
#include "passes/tensor/tensor_job.h"

namespace tgc {

// Runs the stage. Records job.given, job.keyed, job.inputs and job.var_vals.
// Throws Failure if a variable is bound to two values.
UOp rewrite_for_sched_cache(TensorJob& job, UOp sink);
const RuleSet& pm_pre_sched_cache();

// Returns the cache key of `rewritten`, the result of rewrite_for_sched_cache().
Sha256 sched_cache_key(UOp rewritten);

}  // namespace tgc
