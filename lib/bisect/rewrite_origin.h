#pragma once
#include <string>

#include "lib/compilation/pipeline.h"

namespace tgc {

// Returns the Tensor methods of the user's program, with their lines, that made the node which the rewrite `m`
// replaced: "add at net.py:6". `pipeline` is a recorded pipeline of the tensor graph `in`. Returns "" if the methods
// are not known.
std::string methods_of_rewrite(Pipeline& pipeline, const InputGraph& in, const Rewrite& m);

}  // namespace tgc
