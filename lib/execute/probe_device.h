// Whether kernels run at a place at all. Where none does (a compiler, a driver or an engine of tgc's own is missing)
// what is asked of a kernel there has no answer: that is trouble, and no failure of the kernel.
#pragma once
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

// Compiles and runs a kernel that stores one number: no rewrite, and so no fault, is in its way. Of REF always well; of
// a place where it went well it is not asked again in this process. From any thread.
// An error: "CPU:CLANG runs no kernel at all: ..."; where the place itself is to blame, every kernel has that.
Status probe_device(const Placement& place, const Settings& settings, const ExecuteOptions& options = {});

}  // namespace tgc
