// Round-trip check: writes a graph as text, reads the text into another Graph, and compares both graphs node by node.
#pragma once
#include <optional>
#include <string>

#include "lib/text/formats.h"

namespace tgc {

// The first difference in op, dtype, arg, tag or sources, or in the sharing of nodes, between the graphs under `a` and
// `b`.
struct GraphDifference {
  UOp node;          // the first node under `a` that differs; empty if only the numbers of nodes differ
  std::string text;  // "node 12 (REDUCE): ..."; the number is the position in the toposort
};
std::optional<GraphDifference> first_difference(UOp a, UOp b);
// Returns the text of the first difference between the graphs under `a` and `b`; empty if they are equal.
std::string graph_difference(UOp a, UOp b);
inline bool same_graph(UOp a, UOp b) { return graph_difference(a, b).empty(); }

// Writes the graph under `root` in `format` (Pyrender, Repr or Json), reads the text into the graph `into` and returns
// the new root. Returns an error if writing or reading fails, if detect_kind() takes the text for another format, or if
// the read graph, or the GraphInfo that the text states, differs from the written one. Accepts malformed graphs.
Result<UOp> round_trip(Format format, UOp root, const GraphInfo& info, Graph& into);

}  // namespace tgc
