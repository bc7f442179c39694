// From a kernel's source to what its device loads, by lib/compile.
#pragma once
#include <string>

#include "lib/runtime/device.h"

namespace tgc {

// The machine code, PTX or code object of a source for the compiler that its target names; with `lines` it says which
// instructions come of which line.
Result<std::string> compile_source(const KernelSource& source, bool lines = false);

}  // namespace tgc
