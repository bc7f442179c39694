#pragma once
#include <optional>
#include <string>

namespace tgc {

// Sets the fault of this thread's jobs, which then ignore TGC_FAULT: a fault's name, or "" for none. With nullopt,
// TGC_FAULT decides again.
void set_llvm_fault_of_thread(std::optional<std::string> fault);

// True if a fault changed the code of any compile() of this process.
bool has_llvm_fault_occurred();

}  // namespace tgc
