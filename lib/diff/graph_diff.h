// The difference of two graphs as a compiler person reads it: which nodes came, which went, which are the same node
// with another op, dtype, arg or source. What follows from a change (every user of a changed node) is not told again.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/diff/graph_match.h"

namespace tgc {

// One thing about a node that is not as it was: "op", "dtype", "arg", "axis type", "size", "tag", "source 1",
// "order of sources", "ranges", "validity", "kernel".
struct Difference {
  std::string what;
  std::string before, after;
};

struct NodeChange {
  enum class Kind : uint8_t { Changed, Added, Removed };
  Kind kind;
  int32_t a = -1, b = -1;                // the node, by its position in either graph; -1: not there
  std::string before, after;             // the node as a line of text
  std::vector<Difference> differences;   // of a changed node
  std::vector<std::string> with;         // of an added or removed node: the nodes below it that came or went with it
  std::string place;                     // where it is used, or what index expression it is part of; may be empty
};

struct GraphDiff {
  bool same = true;
  size_t nodes_a = 0, nodes_b = 0;
  std::vector<NodeChange> changes;

  size_t count(NodeChange::Kind kind) const;
};

// Compares the graphs under `a` and `b`, two nodes of one Graph.
GraphDiff diff_graphs(UOp a, UOp b, const DiffOptions& options = {});

// A node as a line, "%12 = MUL dtypes.index (%10, 4)": %N is its position in the graph's toposort, which pyrender's cN
// is too.
std::string node_line(const DiffSide& side, uint32_t i);

struct DiffStyle {
  bool color = false;
  size_t max_changes = 40;  // what is left out is said
};
// For people: a line per change, "-" and "+" lines below it. Empty when the graphs are the same.
std::string to_text(const GraphDiff& diff, const DiffStyle& style = {});
//
// {"same":..,"nodes":[a,b],
//  "changes":[{"kind","before","after","differences":[{"what","before","after"}],"with","place"}]}
std::string to_json(const GraphDiff& diff);

}  // namespace tgc
