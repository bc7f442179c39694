// "rewrite for sched cache": a tensor graph without what is its own alone, so that equal graphs have equal keys:
// buffers are numbered by first use, bound variables lose their values.
// Mirrors tinygrad engine/schedule.py (pm_pre_sched_cache).
#pragma once
#include "lib/support/sha256.h"
#include "passes/tensor/tensor_job.h"

namespace tgc {

// Notes the inputs and the values of the variables in the job. Throws Failure when a variable is bound to two values.
UOp rewrite_for_sched_cache(TensorJob& job, UOp sink);
const RuleSet& pm_pre_sched_cache();

// The key of the result: equal for graphs that differ in nothing that scheduling looks at.
Sha256 sched_cache_key(UOp rewritten);

}  // namespace tgc
