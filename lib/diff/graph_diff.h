// Computes the difference of two graphs: which nodes were added, which were removed, and which changed their op, dtype,
// arg or sources. A node that differs only because a node below it changed is not listed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/diff/graph_match.h"

namespace tgc {

// One property of a node that changed. `what` names the property: "op", "dtype", "arg", "axis type", "size", "tag",
// "source 1", "order of sources", "ranges", "validity" or "kernel".
struct Difference {
  std::string what;
  std::string before, after;
};

struct NodeChange {
  enum class Kind : uint8_t { Changed, Added, Removed };
  Kind kind;
  int32_t a = -1, b = -1;               // the node's position in each graph; -1: not in that graph
  std::string before, after;            // the node as a line of text
  std::vector<Difference> differences;  // set for a changed node
  std::vector<std::string> with;        // for an added or removed node: the nodes added or removed below it
  std::string place;                    // text: the users of the node, or the index expression with it; may be empty
};

struct GraphDiff {
  bool same = true;
  size_t nodes_a = 0, nodes_b = 0;
  std::vector<NodeChange> changes;

  size_t count(NodeChange::Kind kind) const;
};

// Compares the graphs under `a` and `b`, two nodes of one Graph.
GraphDiff diff_graphs(UOp a, UOp b, const DiffOptions& options = {});

// Returns a node as a line: "%12 = MUL dtypes.index (%10, 4)". %N is the node's position in the graph's toposort, as in
// pyrender's cN.
std::string node_line(const DiffSide& side, uint32_t i);

struct DiffStyle {
  bool color = false;
  size_t max_changes = 40;  // maximum number of changes in the text; further changes are only counted
};
// Formats a diff as text: one line per change, followed by "-" and "+" lines. Empty if the graphs are the same.
std::string to_text(const GraphDiff& diff, const DiffStyle& style = {});
// Returns {"same":..,"nodes":[a,b],
//  "changes":[{"kind","before","after","differences":[{"what","before","after"}],"with","place"}]}
std::string to_json(const GraphDiff& diff);

}  // namespace tgc
