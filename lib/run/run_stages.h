#pragma once
#include <vector>

#include "lib/execute/executable.h"
#include "lib/import/import.h"
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"
#include "lib/runtime/array.h"

namespace tgc {

// Runs the input graph in REF, then the graph after each stage of lowering for `target`, up to the first whose results
// differ from `expected` (if empty, from those of the input graph). Skips graphs that cannot be imported. Fails if the
// input is a linear list, if a stage fails, if REF cannot run a graph, or if the time limit ends a comparison.
Result<StageDifference> run_stages(const Session& session, const InputGraph& in, const Target& target,
                                   const RunOptions& options, const Arrays& inputs, const Arrays& expected);

// The last recorded graph or linear list of a kernel. Its buffers have the dtypes that tinygrad's stages gave them.
struct LastRecordedGraph {
  ImportedGraph graph;
  std::string stage;  // the stage that made it; empty for the linear list
};
// Returns the last linear list or graph of the record that can be imported. Fails if there is none.
Result<LastRecordedGraph> last_recorded_graph(const Session& session, const InputGraph& in);
// Runs `last` in REF. `inputs` and the results have the dtypes of the buffers of `ast`.
Result<ExecutionResult> run_recorded_graph(const LastRecordedGraph& last, UOp ast, const Arrays& inputs,
                                           const VariableValues& variables, const ExecuteOptions& ref);

// The message begins with `where`: "after 'expander': ...".
Failure failure_with_prefix(const std::string& where, Diag diag);

// Gives each array the dtype of the buffer of its name if the number of bytes is the same. tinygrad emulates dtypes: a
// bfloat16 buffer becomes one of uint16, and a buffer of n longs one of 2n ints.
Arrays arrays_with_dtypes_of(const Arrays& arrays, const std::vector<BufferSpec>& buffers);

}  // namespace tgc
