// Finds the Tensor methods of the user's program for which a rewrite of a recorded schedule was made.
#pragma once
#include <string>

#include "lib/compilation/pipeline.h"

namespace tgc {

// Returns the methods, with their lines of the program, that made the node which the rewrite `m` replaced: "add at
// net.py:6". `pipeline` is a recorded pipeline of the tensor graph `in`, and `m` is one of its rewrites. Returns "" if
// the recording does not say which nodes the methods made, or if the node cannot be traced back to them.
std::string methods_of_rewrite(Pipeline& pipeline, const InputGraph& in, const Rewrite& m);

}  // namespace tgc
