// tgc itself dies while it compiles: where.
#pragma once
#include "lib/bisect/failure_repro.h"

namespace tgc {

// Compiles the kernel in a process of its own. Whether that dies; the report then names the stage and the last rewrite
// that was done, and is confirmed when without that rewrite it lives.
bool blame_crash(FailureRepro& run, double timeout_seconds, BisectReport& report);

}  // namespace tgc
