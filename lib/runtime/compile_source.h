// From a kernel's source to what its device loads, by lib/compile.
#pragma once
#include <string>

#include "lib/runtime/device.h"

namespace tgc {

// The machine code, PTX or code object of a source for the compiler that its target names.
Result<std::string> compile_source(const KernelSource& source);

}  // namespace tgc
