// Writes a graph as text, reads the text into another Graph, and compares both graphs node by node.
#pragma once
#include <optional>
#include <string>

#include "lib/text/formats.h"

namespace tgc {

// The first difference in op, dtype, arg, tag, sources, or sharing of nodes.
struct GraphDifference {
  UOp node;          // the node under `a`; empty if only the numbers of nodes differ
  std::string text;  // such as "node 12 (REDUCE): ...", by position in the toposort
};
std::optional<GraphDifference> first_difference(UOp a, UOp b);
// Returns the text of the first difference; "" if the graphs are equal.
std::string graph_difference(UOp a, UOp b);
inline bool is_same_graph(UOp a, UOp b) { return graph_difference(a, b).empty(); }

// Writes the graph in `format` (Pyrender, Repr or Json), reads it into `into` and returns the new root. Fails if
// writing or reading fails, if detect_input_kind() takes the text for another format, or if the graph or the stated
// GraphInfo differs. Accepts malformed graphs.
Result<UOp> round_trip_graph(GraphFormat format, UOp root, const GraphInfo& info, Graph& into);

}  // namespace tgc
