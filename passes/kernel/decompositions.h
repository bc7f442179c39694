// Decompositions (tinygrad uop/decompositions.py): replace ops that the target cannot render by ops that it can, and
// integer divisions by constants by multiplications and shifts.
#pragma once
#include <utility>

#include "lib/rewrite/rules.h"
#include "lib/target/target.h"

namespace tgc {

struct KernelJob;

// Selects which of the late rules apply.
struct LateRules {
  OpSet ops;                        // the ops that the target renders (Target::code_for_op)
  bool force_transcendental = false;  // expand exp2, log2 and sin even if the target renders them
  bool fast_idiv = true;
  friend bool operator==(const LateRules&, const LateRules&) = default;
};

// Returns the late rules in tinygrad's order (get_late_rewrite_patterns), cached per choice. Context: const Target.
const RuleSet& late_rewrite_patterns(const LateRules& choice);

// Return the rules of the stages "decompositions" and "final rewrite".
const RuleSet* decompositions_stage(const KernelJob& job);
const RuleSet* final_rewrite_stage(const KernelJob& job);

// Returns (m, s) with x / d == (x * m) >> s for all 0 <= x <= vmax, for d > 0 (Hacker's Delight, chapter 10).
std::pair<Int, int> magicgu(Int vmax, Int d);
// Computes x / d by multiplication and shift, in a wider dtype if the product needs one and `dont_cast` is false.
// Returns the empty UOp if the product fits no allowed dtype. Throws Failure for d <= 0.
Taken fast_idiv(const Target& target, UOp x, Int d, bool dont_cast = false);

// Encrypts the uint64 `x` with the uint64 `key` by the Threefry 2x32 cipher, in uint32 arithmetic.
UOp threefry2x32(UOp x, UOp key);

}  // namespace tgc
