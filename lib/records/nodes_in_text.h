// Reads a graph and returns which part of the text makes which node, for editors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/read_graph.h"

namespace tgc {

// Like read_graph with `take_malformed`. Sets `nodes` to the nodes in the order of the text. If reading fails, `nodes`
// has the nodes above the error.
Result<GraphFile> read_graph_with_nodes(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                                        ReadReport& report, std::vector<NodeAt>& nodes);

}  // namespace tgc
