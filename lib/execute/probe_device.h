// Probes whether any kernel runs for a placement (device, target). If none does, because a compiler, a driver or one of
// tgc's engines is missing, a failure there says nothing about the kernel that failed.
#pragma once
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

// Compiles and runs a kernel that stores one number, without rewrites and therefore without seeded faults. Always
// succeeds for REF. Remembers successful placements. Thread-safe. Error: "CPU:CLANG runs no kernel at all: ...".
Status probe_device(const Placement& place, const Settings& settings, const ExecuteOptions& options = {});

}  // namespace tgc
