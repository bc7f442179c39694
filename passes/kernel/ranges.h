// Rewrites the loop ranges of a kernel: flattens, splits, merges and cuts them (tinygrad codegen/simplify.py).
#pragma once
#include "lib/rewrite/rewrite.h"

namespace tgc {

const RuleSet& pm_flatten_range();     // replaces expressions in the range list of END, REDUCE, STORE by their RANGEs
const RuleSet& pm_simplify_ranges();   // merges adjacent ranges if that adds no division or remainder
const RuleSet& check_merge();          // rules of the nested rewrite of the rule merge-adjacent-ranges
const RuleSet& pm_split_store();       // CPU only: cuts a loop at the constants that its range is compared with

// Splits each range r that is used as r % c into r / c and r % c.
const RuleSet& pm_split_ranges();
struct SplitRangesContext {
  // Each range and the constant to split it by, in the order of marking. The empty UOp means: do not split this range.
  std::vector<std::pair<UOp, UOp>> marks;
};

// Return the rules of the stages "split ranges" and "initial symbolic".
const RuleSet& split_ranges();
const RuleSet& initial_symbolic();

}  // namespace tgc
