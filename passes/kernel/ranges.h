// Rewrites of the loop ranges of a kernel: flatten, split, merge, cut (tinygrad codegen/simplify.py).
#pragma once
#include "lib/rewrite/rewrite.h"

namespace tgc {

const RuleSet& pm_flatten_range();     // what ends ranges ends real ranges alone
const RuleSet& pm_simplify_ranges();   // merges adjacent ranges where that costs no division
const RuleSet& check_merge();          // what merge-adjacent-ranges rewrites the merged loops with
const RuleSet& pm_split_store();       // on the CPU: cuts a loop where a comparison of its range changes

// Splits each range r that is used as r % c into r / c and r % c.
const RuleSet& pm_split_ranges();
struct SplitRangesContext {
  // in order: a range, and the constant it is split by; empty: it must not be split
  std::vector<std::pair<UOp, UOp>> marks;
};

// The stages "split ranges" and "initial symbolic".
const RuleSet& split_ranges();
const RuleSet& initial_symbolic();

}  // namespace tgc
