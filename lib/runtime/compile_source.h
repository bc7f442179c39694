#pragma once
#include <string>

#include "lib/compile/compile.h"
#include "lib/runtime/device.h"

namespace tgc {

Result<CompileJob> compile_job_for(const KernelSource& source);

// With `lines`, the result maps instructions to source lines.
Result<std::string> compile_source(const KernelSource& source, bool lines = false);

// Returns the source text, for a device whose driver compiles it. Returns an error if check_self_contained() rejects
// the source.
Result<std::string> check_source(const KernelSource& source, Language language);

// Returns the error of a source that the driver does not compile. `log` says why.
Diag invalid_source_error(std::string_view language, const KernelSource& source, std::string log);
bool is_invalid_source(const Diag& error);

}  // namespace tgc
