// Matches the corresponding nodes of two graphs that are in one Graph. NodeLabels says which numbers may differ.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

struct DiffOptions {
  bool compares_names = true;    // names of kernels and variables
  bool compares_tags = true;
  bool compares_metadata = true;  // metadata of kernels
  bool compares_buffers = true;  // numbers of a kernel's arguments (DEFINE_GLOBAL)
  bool compares_order = true;    // order of sources of commutative ops and of SINK, GROUP, BARRIER, AFTER and END

  // Parses a list of properties to ignore, such as "names,tags". Returns an error for an unknown word.
  static Result<DiffOptions> parse_ignore_list(std::string_view list);
};

// A node's label: its op, dtype, arg and tag without the properties that the options exclude, and without numbers such
// as those of ranges and local buffers.
class NodeLabels {
 public:
  NodeLabels(Graph& graph, const DiffOptions& options) : graph_(graph), options_(options) {}

  bool are_equal(UOp a, UOp b) const {
    return a.op() == b.op() && a.dtype() == b.dtype() && compared_arg(a) == compared_arg(b) &&
           compared_tag(a) == compared_tag(b);
  }
  uint64_t label_hash(UOp u) const;
  Arg compared_arg(UOp u) const;
  Arg compared_tag(UOp u) const { return options_.compares_tags ? u.tag() : Arg(); }
  // Returns the root of the AST in the arg of a KERNEL; the empty UOp if `u` has none.
  static UOp inner_ast(UOp u) { return u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel) ? u.arg()[0].uop() : UOp(); }
  bool ignores_source_order(UOp u) const;
  const DiffOptions& options() const { return options_; }

 private:
  Graph& graph_;
  DiffOptions options_;
};

// Returns true if the nodes of two graphs correspond one to one, with equal labels and sources in the same order.
bool is_same_graph(UOp a, UOp b, const NodeLabels& labels);

// One of the two compared graphs, with the match of each node. Constants and devices ("values") are not matched.
struct DiffSide {
  DiffSide(UOp root, const NodeLabels& labels);

  UOp root;
  std::vector<UOp> nodes;           // in toposort order; nodes[i] is printed as %i
  UOpMap<uint32_t> node_positions;
  // by position: hash of the labels of the node and the nodes below it
  std::vector<uint64_t> structure_hashes;
  std::vector<std::vector<uint32_t>> users;  // by position: the users' positions, without duplicates
  // by position: position of the matching node in the other graph, or -1
  std::vector<int32_t> matched_positions;

  uint32_t position_of(UOp u) const { return *node_positions.find(u); }
  bool is_value(uint32_t i) const { return is_value_[i]; }

 private:
  std::vector<uint8_t> is_value_;
};

// Sets DiffSide::matched_positions of both graphs, one to one: matches equal subgraphs and similar nodes.
void match_graphs(DiffSide& a, DiffSide& b, const NodeLabels& labels);

}  // namespace tgc
