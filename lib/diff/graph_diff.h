// Computes the difference of two graphs: the added nodes, the removed nodes, and the nodes whose op, dtype, arg, tag or
// sources changed. Does not list a node that differs only because nodes below it changed.
#pragma once
#include <string>
#include <vector>

#include "lib/diff/graph_match.h"

namespace tgc {

// One changed property of a node. `property` names the property, such as "op", "dtype", "arg", "axis type", "source 1"
// or "order of sources". For a node of the graph inside a KERNEL, the name has the prefix "kernel: ".
struct Difference {
  std::string property;
  std::string before, after;
};

struct NodeChange {
  enum class Kind : uint8_t { Changed, Added, Removed };
  Kind kind;
  int32_t a = -1, b = -1;  // positions of the node in the graphs a and b; -1 if the graph does not have the node
  std::string before, after;            // the node in each graph, as a line of text
  std::vector<Difference> differences;  // the changed properties, if the node is in both graphs
  // lines of the nodes below this node that were added or removed together with it
  std::vector<std::string> grouped_lines;
  std::string usage_place;                    // where the node is used: an index expression or its users; may be empty
};

// Returns true if the change is only another number of a buffer or parameter.
bool is_renumbering(const NodeChange& change);

struct GraphDiff {
  bool is_same = true;
  size_t num_nodes_a = 0, num_nodes_b = 0;
  std::vector<NodeChange> changes;  // changed and added nodes, then removed ones, sources before their users;
                                    // last, a root that is a constant, and renumbered buffers

  size_t count_changes(NodeChange::Kind kind) const;
};

// Compares the graphs with the roots `a` and `b`, which must be nodes of one Graph.
GraphDiff diff_graphs(UOp a, UOp b, const DiffOptions& options = {});

// Returns the node at position `i` of the toposort as a line of text, "%12 = MUL dtypes.index (%10, 4)". In
// pyrender text, this node has the name c12.
std::string node_line(const DiffSide& side, uint32_t i);

struct DiffStyle {
  bool use_color = false;
  size_t max_changes = 40;  // maximum number of changes in the text; further ones are only counted
};
// Returns the diff as text: for each change a heading with its "-" and "+" lines, then the numbers of changes. Returns
// "" if the graphs are equal.
std::string to_text(const GraphDiff& diff, const DiffStyle& style = {});
// Returns the diff as JSON: {"same":..,"nodes":[a,b],
//  "changes":[{"kind","before","after","differences":[{"what","before","after"}],"with","place"}]}
std::string to_json(const GraphDiff& diff);

}  // namespace tgc
