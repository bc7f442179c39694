// Decompositions (tinygrad uop/decompositions.py): ops that the target cannot render become ones that it can, and
// integer divisions by constants become multiplications and shifts.
#pragma once
#include <utility>

#include "lib/rewrite/rules.h"
#include "lib/target/target.h"

namespace tgc {

struct KernelJob;

// Which of the late rules apply.
struct LateRules {
  OpSet ops;                        // what the target renders (Target::code_for_op)
  bool force_transcendental = false;  // expand exp2, log2 and sin even where it has them
  bool fast_idiv = true;
  friend bool operator==(const LateRules&, const LateRules&) = default;
};

// The rules for a target, in tinygrad's order (get_late_rewrite_patterns); made once for each choice. The context is a
// const Target.
const RuleSet& late_rewrite_patterns(const LateRules& choice);

// The rules of the stages "decompositions" and "final rewrite".
const RuleSet* decompositions_stage(const KernelJob& job);
const RuleSet* final_rewrite_stage(const KernelJob& job);

// (m, s) such that x / d == (x * m) >> s for all 0 <= x <= vmax, for d > 0 (Hacker's Delight, chapter 10).
std::pair<Int, int> magicgu(Int vmax, Int d);
// x / d by multiplication and shift, in a wider dtype where the product needs it (unless `dont_cast`); the empty UOp
// when no integer dtype of the target is wide enough. Throws Failure for d <= 0.
Taken fast_idiv(const Target& target, UOp x, Int d, bool dont_cast = false);

// The Threefry 2x32 cipher: `x` enciphered with `key`, both uint64, in uint32 arithmetic.
UOp threefry2x32(UOp x, UOp key);

}  // namespace tgc
