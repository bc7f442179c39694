// Reads and writes lists of Opts as Python pickles, as tinygrad's disk cache stores them. The reader allows
// only the names Opt and OptOps, and never calls anything; any other pickle is an error.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "passes/kernel/optimizer/opt.h"

namespace tgc {

// Returns the bytes of pickle.dumps (protocol 4). Equal Opts are one object, as in tinygrad's search.
std::string pickle_opts(std::span<const Opt> opts);

// Reads the Opts, and creates their args in `graph`. Any other pickle is an error.
Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes);

}  // namespace tgc
