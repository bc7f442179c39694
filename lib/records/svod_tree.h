// Reads the trees that Svod, a port of tinygrad to Rust, prints of its graphs (UOp::tree and UOp::tree_full).
#pragma once
#include <string_view>

#include "lib/support/result.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns true if `line` looks like the first line of a tree: "[97] SINK[KERNEL] : Scalar(Void)".
bool is_start_of_svod_tree(std::string_view line);

// Reads a tree as a graph of tinygrad 0.14. A KernelInfo, whose fields a tree omits, has tinygrad's defaults. Fails,
// naming the line, for example for an op that tinygrad 0.14 does not have or whose arg the tree omits.
Result<UOp> read_svod_tree(Graph& graph, std::string_view text, std::string_view file = {},
                           NodePlaces* places = nullptr);

}  // namespace tgc
