// Runs one kernel as `tgc run` does: lowers it for its device, gives it arrays, runs it in a worker and compares the
// results with the expected arrays (of a file, of another device, or of REF).
#pragma once
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Every error (an input that does not fit, a kernel that dies) is the report's error. A kernel that fails leaves its
// arrays in files and the command that repeats it, or a repro bundle (OutputOptions).
RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
