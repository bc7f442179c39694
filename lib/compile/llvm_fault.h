// Seeded LLVM faults (kLlvmFaults in compile.h): the fault that a thread's jobs use, and whether it changed any code.
#pragma once
#include <optional>
#include <string>

namespace tgc {

// Sets the fault of this thread's jobs, which then ignore TGC_FAULT: a fault's name, or "" for none. With nullopt,
// TGC_FAULT decides again. Used to run repro bundles, which name their fault.
void set_llvm_fault_of_thread(std::optional<std::string> fault);

// True if a fault changed the code of any compile() of this process. A wrong pass changes nothing if the code has no
// instruction of its kind.
bool llvm_fault_occurred();

}  // namespace tgc
