// The rules of each renderer and the rules that several renderers share. Include from this folder only.
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/target/target.h"

namespace tgc {

const RuleSet& clang_rules();
const RuleSet& opencl_rules();
const RuleSet& metal_rules();
const RuleSet& cuda_rules();
const RuleSet& hip_rules();
const RuleSet& llvm_rules();
const RuleSet& amd_llvm_rules(const Target& target);  // the rules depend on the arch
const RuleSet& ptx_rules();
const RuleSet& wgsl_rules();

// ---- shared (renderer/cstyle.py)
const RuleSet& extra_pm();             // splits vectors that C dialects cannot print
const RuleSet& pm_manual_bf16_cast();  // casts between float32 and bfloat16 by integer ops on their bits

// Returns rules that compute ALU ops on `dtypes` in float32. With `casting`, also returns rules that split each cast
// from or to these dtypes, except from or to float32, into two casts by way of float32 (create_non_native_float_pats).
std::vector<Rule> non_native_float_rules(DTypeSet dtypes, bool casting = true);

// Casts a scalar float32 to bfloat16, rounded to nearest even. Throws Failure for other dtypes.
UOp cast_float_to_bf16(UOp x);

UOp wmma_with_operands(UOp wmma, UOp a, UOp b);

}  // namespace tgc
