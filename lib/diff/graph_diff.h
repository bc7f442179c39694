// Computes the difference of two graphs. Does not list a node that differs only because nodes below it changed.
#pragma once
#include <string>
#include <vector>

#include "lib/diff/graph_match.h"

namespace tgc {

// One changed property of a node. `property_name` is "op", "dtype", "arg", "source 1" or the like. It begins with
// "kernel: " if the change is inside the graph of a KERNEL; for a node added or removed there, only one text is set.
struct PropertyDifference {
  std::string property_name;
  std::string before, after;
};

struct NodeChange {
  enum class Kind : uint8_t { Changed, Added, Removed };
  Kind kind;
  int32_t position_a = -1, position_b = -1;  // positions of the node in the two graphs; -1: not in this graph
  std::string before, after;            // the node as a line of text; "" if the graph lacks it
  std::vector<PropertyDifference> differences;
  // nodes below this node that were added or removed together with it
  std::vector<std::string> grouped_lines;
  std::string usage_text;                     // an index expression or users of the node; may be empty
};

// Returns true if only the number of a buffer or parameter differs.
bool is_renumbering(const NodeChange& change);

struct GraphDiff {
  bool is_same = true;
  size_t num_nodes_a = 0, num_nodes_b = 0;
  std::vector<NodeChange> changes;  // renumberings (is_renumbering()) last

  size_t count_changes(NodeChange::Kind kind) const;
};

// Compares the graphs with the roots `a` and `b`, which must be nodes of one Graph.
GraphDiff diff_graphs(UOp a, UOp b, const DiffOptions& options = {});

// Returns node `i` of the toposort as a line of text: "%12 = MUL dtypes.index (%10, 4)".
std::string node_as_line(const DiffSide& side, uint32_t i);

struct DiffStyle {
  bool uses_color = false;
  size_t max_changes = 40;
};
// Returns the diff as text; "" if `diff.is_same`.
std::string diff_as_text(const GraphDiff& diff, const DiffStyle& style = {});
// Returns the diff as JSON: {"same":..,"nodes":[a,b],
//  "changes":[{"kind","before","after","differences":[{"what","before","after"}],"with","place"}]}
// Omits members of a change that have no value.
std::string diff_as_json(const GraphDiff& diff);

}  // namespace tgc
