// Finds the first stage after which the graph of a kernel computes wrong results (--each-stage).
#pragma once
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Runs the input graph in REF on `inputs`, then the graph after each stage of lowering for `target`. Compares the
// results of each graph with `expected`; if that is empty, with the results of the input graph. Stops at the first
// stage that differs. Throws Failure if a stage fails or REF cannot run a graph.
StageDifference run_stages(const Session& session, const InputGraph& in, const Target& target,
                           const RunOptions& options, const Arrays& inputs, const Arrays& expected);

// Returns the linear list that tinygrad recorded of an imported kernel, imported, with the dtypes of its own buffers.
// If the list cannot be imported, returns the last recorded graph that can be; `info.stage` names its stage. Fails if
// there is none.
Result<InputGraph> last_recorded(const Session& session, const InputGraph& in);
// Runs what last_recorded() returned in REF. `inputs` and the results have the dtypes of the buffers of `ast`.
Result<Execution> run_recorded_graph(const InputGraph& last, UOp ast, const Arrays& inputs, const RunOptions& options);

// Returns `diag` as a Failure whose message begins with `where`: "after 'expander': ...".
Failure failure_at(const std::string& where, Diag diag);

}  // namespace tgc
