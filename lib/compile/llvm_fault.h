// Whether a fault in LLVM (compile.h, kLlvmFaults) has made any code another one: its pass may have found no place.
#pragma once

namespace tgc {

// Of the code that compile() was asked for in this process.
bool llvm_fault_came_about();

}  // namespace tgc
