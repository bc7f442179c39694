// Faults on demand (TGC_FAULT=llvm:NAME, kLlvmFaults): passes that do wrong, for testing what finds the pass to blame.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

#include <string_view>

namespace tgc {

// Adds that pass to the optimizations; nothing for a fault that is none.
void add_wrong_pass(llvm::PassBuilder& builder, std::string_view fault);

// sqrt as fabs, before any pass runs: a compiler that takes an intrinsic for another.
void mistake_intrinsics(llvm::Module& module);

}  // namespace tgc
