// Makes the test case that a reduction begins with.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/driver/session.h"
#include "lib/reduce/test_case.h"
#include "lib/run/run_options.h"

namespace tgc {

// Returns a copy of the input `in`: its graph in a new Graph, its target, opts and seeded fault, and the arrays that it
// reads (from the options or a bundle, else random). If `runs_nowhere`, the case is only compiled and needs no device.
// Throws Failure for a linear list, an unknown device or target, or arrays that do not fit.
TestCase initial_case(const Session& session, InputGraph& in, const RunOptions& options, bool runs_nowhere);

// Returns the session without --opts, --from and --target, because each test case has its own, and without a listener.
Session without_overrides(const Session& session);

}  // namespace tgc
