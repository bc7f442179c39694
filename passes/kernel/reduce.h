// remove_reduce: every REDUCE becomes a register, initialised before its loops, updated in them and read after them
// (tinygrad codegen/late/devectorizer.py: pm_reduce).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

struct ReduceContext {
  int64_t num_accumulators = 0;
};

const RuleSet& pm_reduce();            // the context is a ReduceContext
const RuleSet& remove_reduce_stage();  // the stage "remove_reduce"
UOp remove_reduce(UOp sink);           // the stage's run

}  // namespace tgc
