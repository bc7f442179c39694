// Round-trip check: writes a graph as text, reads it into another Graph, and compares the two node by node.
#pragma once
#include <optional>
#include <string>

#include "lib/text/formats.h"

namespace tgc {

// The first difference between two graphs, of one Graph or of two, in ops, dtypes, args, tags, sources or sharing.
// nullopt: they are equal.
struct GraphDifference {
  UOp node;          // first differing node of `a`; the empty UOp: one graph is a prefix of the other
  std::string text;  // "node 12 (REDUCE): ...", numbered by the toposort
};
std::optional<GraphDifference> first_difference(UOp a, UOp b);
// Returns the difference's text; empty if the graphs are equal.
std::string graph_difference(UOp a, UOp b);
inline bool same_graph(UOp a, UOp b) { return graph_difference(a, b).empty(); }

// Writes the graph under `root` in `format` (Pyrender, Repr or Json), reads it into the graph `into` and returns the
// result. Fails if it cannot be written or read, or if the graph or `info` comes back different. The graph need not be
// well formed.
Result<UOp> round_trip(Format format, UOp root, const GraphInfo& info, Graph& into);

}  // namespace tgc
