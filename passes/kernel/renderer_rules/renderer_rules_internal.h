// For the files of this folder: the rules of each renderer, and those that several share.
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
const RuleSet& amd_llvm_rules(const Target& target);  // by the arch
const RuleSet& ptx_rules();
const RuleSet& wgsl_rules();

// ---- shared (renderer/cstyle.py)
const RuleSet& extra_pm();             // vectors that C dialects cannot print
const RuleSet& pm_manual_bf16_cast();  // float32 to bfloat16 and back by their bits

// Arithmetic on `dtypes` as float32; with `casting` also every cast from and to them goes through float32
// (create_non_native_float_pats).
std::vector<Rule> non_native_float_rules(DTypeSet dtypes, bool casting = true);

// The bfloat16 of a float32, rounded to nearest even. Throws Failure for vectors.
UOp cast_float_to_bf16(UOp x);

// The WMMA with operands `a` and `b` instead of its own.
UOp wmma_with_operands(UOp wmma, UOp a, UOp b);

}  // namespace tgc
