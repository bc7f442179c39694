// Compiles a kernel's source to what its device loads, with lib/compile.
#pragma once
#include <string>

#include "lib/compile/compile.h"
#include "lib/runtime/device.h"

namespace tgc {

// Returns the compile job for `source`. The target of `source` determines the compiler.
Result<CompileJob> job_for(const KernelSource& source);

// Compiles `source` to machine code, PTX or a code object. With `lines`, the result maps instructions to source lines.
Result<std::string> compile_source(const KernelSource& source, bool lines = false);

// Returns the source text unchanged, for a device whose driver compiles it. Returns an error if the source is not
// self-contained (lib/compile/self_contained.h), because the driver's compiler would read the files that it includes.
Result<std::string> check_source(const KernelSource& source, Language language);

// Returns the error of a source that the device's driver does not compile. `log` says why.
Diag invalid_source(std::string_view language, const KernelSource& source, std::string log);
// Returns whether `error` says that a source does not compile: the error of invalid_source(), or of a compiler.
bool is_invalid_source(const Diag& error);

}  // namespace tgc
