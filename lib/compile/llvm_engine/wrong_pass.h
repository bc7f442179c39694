// Seeded faults (TGC_FAULT=llvm:NAME, kLlvmFaults): deliberately wrong passes, to test bisection of compiler bugs.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

#include <string_view>

namespace tgc {

// Adds the fault's pass to the optimizations; does nothing for a fault that is not a pass.
void add_wrong_pass(llvm::PassBuilder& builder, std::string_view fault);

// Replaces sqrt with fabs before any pass runs: a miscompile that no pass limit avoids.
void mistake_intrinsics(llvm::Module& module);

}  // namespace tgc
