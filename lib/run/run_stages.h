// Finds the first stage after which a kernel computes wrong results (--each-stage).
#pragma once
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Runs in REF, on `inputs`, the input graph and then the graph after each stage of lowering the kernel for `target`.
// Compares what each graph stores with `expected` or, if `expected` is empty, with what the input graph stores. Stops
// at the first stage that differs. Throws Failure if a stage fails or REF cannot run a graph.
StageDifference run_stages(const Session& session, const InputGraph& in, const Target& target,
                           const RunOptions& options, const Arrays& inputs, const Arrays& expected);

// Returns `diag` as a Failure whose message begins with `where`: "after 'expander': ...".
Failure failure_at(const std::string& where, Diag diag);

}  // namespace tgc
