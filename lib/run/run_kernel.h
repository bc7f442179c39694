// Runs one kernel as `tgc run` does: lowers it for its device, makes its input arrays, runs it in a worker, and
// compares what it stores with the expected arrays (from a file, from another device, or from REF).
#pragma once
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Stores errors in the report, also those of the input. If the kernel fails, writes its arrays to files and reports the
// command that repeats the run, or writes a repro bundle instead (OutputOptions).
RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
