// The stage where a kernel begins to compute something else.
#pragma once
#include <functional>

#include "lib/run/run_kernel.h"

namespace tgc {

// Runs the kernel's graph as it came and after every stage in REF, on `inputs`, and compares what it stores with
// `expected`, as judge does (judge.h); when that is empty, with what the first graph stores. Stops at the first that
// differs. `target` is what it is lowered for, `tolerance` that of an expected array. Throws Failure: a stage that
// fails, a graph that REF cannot run.
StageDifference run_stages(const Session& session, const InputGraph& in, const Target& target, const RunOptions& spec,
                           const Arrays& inputs, Arrays expected,
                           const std::function<ToleranceOptions(const Array& expected)>& tolerance);

// The same failure, as it is at that place: "after 'expander': ...".
Failure failure_at(const std::string& where, Diag diag);

}  // namespace tgc
