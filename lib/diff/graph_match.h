// Matches the corresponding nodes of two graphs, which must be in one Graph: read both texts into it. The match depends
// on structure, not on numbers: ranges, local buffers, registers, buffers of a schedule and unique nodes may be
// numbered differently, if each number of one graph corresponds to one number of the other. Nor does it depend on the
// order of lines in a text.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Properties of graphs whose differences are reported, in addition to differences of the structure.
struct DiffOptions {
  bool compare_names = true;     // names of kernels, without the suffix n1 of "E_4n1", and names of variables
  bool compare_tags = true;
  bool compare_metadata = true;  // metadata of kernels
  bool compare_buffers = true;   // numbers of a kernel's arguments (DEFINE_GLOBAL)
  bool compare_order = true;     // order of sources of commutative ops and of SINK, GROUP, BARRIER, AFTER and END

  // Parses a list of properties to ignore, such as "names,tags". Returns an error for an unknown word.
  static Result<DiffOptions> options_ignoring(std::string_view list);
};

// Compares nodes by label: their op, dtype, arg and tag, but not the numbers that may differ (see above), nor the
// properties that the options exclude.
class NodeLabels {
 public:
  NodeLabels(Graph& graph, const DiffOptions& options) : graph_(graph), options_(options) {}

  bool are_equal(UOp a, UOp b) const {
    return a.op() == b.op() && a.dtype() == b.dtype() && compared_arg(a) == compared_arg(b) &&
           compared_tag(a) == compared_tag(b);
  }
  uint64_t hash_labels(UOp u) const;
  Arg compared_arg(UOp u) const;
  Arg compared_tag(UOp u) const { return options_.compare_tags ? u.tag() : Arg(); }
  // Returns the graph in the arg of a KERNEL; the empty UOp for other nodes. This graph is compared separately, because
  // its numbers are local to it.
  static UOp inner_ast(UOp u) { return u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel) ? u.arg()[0].uop() : UOp(); }
  bool ignores_source_order(UOp u) const;
  const DiffOptions& options() const { return options_; }

 private:
  Graph& graph_;
  DiffOptions options_;
};

// Returns true if two graphs are equal when consistently renumbered nodes count as equal.
bool is_same_graph(UOp a, UOp b, const NodeLabels& labels);

// One of the two graphs, with its match. Constants and devices ("values") are not matched; they are compared as sources
// of their users.
struct DiffSide {
  DiffSide(UOp root, const NodeLabels& labels);

  UOp root;
  std::vector<UOp> nodes;           // nodes in toposort order; nodes[i] is printed as %i
  UOpMap<uint32_t> node_positions;  // position of each node in `nodes`
  // by position: hash of the labels of the node and of all nodes below it
  std::vector<uint64_t> structure_hashes;
  std::vector<std::vector<uint32_t>> users;  // by position: distinct users of the node
  // by position: position of the matching node in the other graph, or -1
  std::vector<int32_t> matched_positions;

  uint32_t at(UOp u) const { return *node_positions.find(u); }
  bool is_value(uint32_t i) const { return is_value_[i]; }

 private:
  std::vector<uint8_t> is_value_;
};

// Sets DiffSide::matched_positions of both graphs to a one-to-one mapping of some of their nodes: matches equal
// subgraphs, then similar nodes.
void match_graphs(DiffSide& a, DiffSide& b, const NodeLabels& labels);

}  // namespace tgc
