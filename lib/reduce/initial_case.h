// Where a reduction begins: the case as it was given.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/driver/session.h"
#include "lib/reduce/test_case.h"
#include "lib/run/run_options.h"

namespace tgc {

// The graph of `in` in a Graph of its own, with its target, opts, fault and every array that it reads: what `options` or a
// bundle gives, else drawn. `runs_nowhere`: its texts alone matter. Throws Failure: a linear list, a device or a target
// that is not known, arrays that do not fit.
TestCase given_case(const Session& session, InputGraph& in, const RunOptions& options, bool runs_nowhere);

}  // namespace tgc
