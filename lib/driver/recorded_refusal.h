// Finds records of compilations that tinygrad did not finish.
#pragma once
#include "lib/compilation/input_graph.h"

namespace tgc {

// Returns the first line of a message, at most 200 bytes of it.
std::string first_line(std::string_view message);

// Returns the error of a record that has nothing to run or compare: tinygrad raised an error while it compiled, or the
// record of a kernel has neither a linear list nor a source. The error has tinygrad's own message and the stage. Does
// not fail for an input without a record.
Status check_compiled(const InputGraph& in);

}  // namespace tgc
