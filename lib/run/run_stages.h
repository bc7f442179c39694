// Finds the stage after which a kernel computes something else.
#pragma once
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Runs the kernel's graph as it came in, and after each stage, in REF on `inputs`, and compares what it stores with
// `expected`; if that is empty, with what the first graph stores. Stops at the first stage that differs. `target` is
// the target that the kernel is lowered for. Throws Failure if a stage fails or REF cannot run a graph.
StageDifference run_stages(const Session& session, const InputGraph& in, const Target& target,
                           const RunOptions& options, const Arrays& inputs, const Arrays& expected);

// Returns `diag` as a Failure whose message begins with `where`: "after 'expander': ...".
Failure failure_at(const std::string& where, Diag diag);

}  // namespace tgc
