// From a kernel's source to what its device loads, by lib/compile.
#pragma once
#include <string>

#include "lib/compile/compile.h"
#include "lib/runtime/device.h"

namespace tgc {

// What its target's compiler is to compile.
Result<CompileJob> job_for(const KernelSource& source);

// The machine code, PTX or code object of a source for the compiler that its target names; with `lines` it says which
// instructions come of which line.
Result<std::string> compile_source(const KernelSource& source, bool lines = false);

// The text itself, for a device whose driver compiles; an error where it is not closed, as every source must be
// (lib/compile/closed.h): a driver's compiler would read the files that it names.
Result<std::string> closed_source(const KernelSource& source, Language language);

}  // namespace tgc
