// The stage "remove_reduce": replaces every REDUCE by an accumulator register that is initialized before the reduce
// loops, updated inside and read after them (tinygrad codegen/late/devectorizer.py:pm_reduce).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

struct ReduceContext {
  int64_t num_accumulators = 0;
};

const RuleSet& pm_reduce();            // context: ReduceContext
const RuleSet& remove_reduce_stage();  // all rules of the stage
UOp remove_reduce(UOp sink);           // runs the stage

}  // namespace tgc
