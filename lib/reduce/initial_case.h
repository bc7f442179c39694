// Where a reduction begins: the case as it was given.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/driver/session.h"
#include "lib/reduce/test_case.h"
#include "lib/run/run_kernel.h"

namespace tgc {

// The graph of `in` in a Graph of its own, with its target, opts, fault and every array that it reads: what `spec` or a
// bundle gives, else drawn. `runs_nowhere`: its texts alone matter. Throws Failure: a linear list, a device or a target
// that is not known, arrays that do not fit.
TestCase given_case(const Session& session, InputGraph& in, const RunOptions& spec, bool runs_nowhere);

}  // namespace tgc
