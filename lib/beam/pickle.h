// Lists of Opts as Python's pickle has them in tinygrad's disk cache. Only the opcodes that such a list is made of are
// read, only tinygrad's Opt and OptOps are known by name, and nothing is ever called: a foreign pickle is an error.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "passes/kernel/optimizer/opt.h"

namespace tgc {

// What pickle.dumps makes of the list, byte for byte (protocol 4). Equal Opts are one object, as those of a search are.
std::string pickle_opts(std::span<const Opt> opts);

// An error names the byte. Args are made in `graph`.
Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes);

}  // namespace tgc
