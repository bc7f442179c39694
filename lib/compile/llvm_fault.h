// Faults in LLVM (compile.h, kLlvmFaults): which one a thread asks for, and whether it came about.
#pragma once
#include <optional>
#include <string>

namespace tgc {

// What this thread's jobs have in place of what the environment says, until it is called again: a name, or "" for none;
// nullopt: what the environment says. Of a repro bundle.
void set_llvm_fault_of_thread(std::optional<std::string> fault);

// Whether one has made any code another one, of what compile() was asked for in this process: its pass may have found
// no place.
bool llvm_fault_came_about();

}  // namespace tgc
