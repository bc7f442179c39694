// Whether texts hold all of a graph: it is written, read into a graph of its own, and compared node by node.
#pragma once
#include <optional>
#include <string>

#include "lib/text/formats.h"

namespace tgc {

// Whether two graphs, of one Graph or of two, are the same to the last detail: ops, dtypes, args, tags, sources, and
// what is shared. nullopt when they are.
struct GraphDifference {
  UOp node;          // of `a`, the first that differs; the empty UOp: one graph is the beginning of the other
  std::string text;  // "node 12 (REDUCE): ...", by its number in the toposort
};
std::optional<GraphDifference> first_difference(UOp a, UOp b);
// Its text, empty when they are the same.
std::string graph_difference(UOp a, UOp b);
inline bool same_graph(UOp a, UOp b) { return graph_difference(a, b).empty(); }

// The graph under `root` written in that format (Pyrender, Repr or Json) and read into the graph `into`. A Diag where
// it cannot be written or read, where it comes back as another graph, or where `info` does. The graph need not be well
// formed.
Result<UOp> round_trip(Format format, UOp root, const GraphInfo& info, Graph& into);

}  // namespace tgc
