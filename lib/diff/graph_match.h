// Matches the corresponding nodes of two graphs. Graphs are compared by structure: the numbers of ranges, local buffers
// and unique nodes are treated as names, which may be renamed one-to-one without a difference. The order in which a
// text lists its nodes does not matter either. Both graphs must be in the same Graph: read both texts into it.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Which properties count as differences; the structure of the graphs always does.
struct DiffOptions {
  bool names = true;     // the names of kernels and variables
  bool tags = true;
  bool metadata = true;  // the metadata of kernels
  bool buffers = true;   // the numbers of a kernel's arguments (DEFINE_GLOBAL)
  bool order = true;     // the operand order of commutative ops and of SINK, GROUP, BARRIER and AFTER

  // Parses a list of properties to ignore: "names,tags". Errors: an unknown word.
  static Result<DiffOptions> ignoring(std::string_view list);
};

// Compares nodes by their labels. A node's label is its op, dtype, arg and tag without names, and without its sources.
class Labels {
 public:
  Labels(Graph& graph, const DiffOptions& options) : graph_(graph), o_(options) {}

  bool equal(UOp a, UOp b) const {
    return a.op() == b.op() && a.dtype() == b.dtype() && arg(a) == arg(b) && tag(a) == tag(b);
  }
  uint64_t hash(UOp u) const;
  Arg arg(UOp u) const;
  Arg tag(UOp u) const { return o_.tags ? u.tag() : Arg(); }
  // Returns the graph inside a KERNEL, else the empty UOp. It is compared separately, because its names are local.
  static UOp inner(UOp u) { return u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel) ? u.arg()[0].uop() : UOp(); }
  bool any_order(UOp u) const;
  const DiffOptions& options() const { return o_; }

 private:
  Graph& graph_;
  DiffOptions o_;
};

// Returns whether the graphs are the same except for names.
bool same_graph(UOp a, UOp b, const Labels& labels);

// One of the two graphs to match. Constants and devices are called values: they are never matched, only compared as
// sources of their users.
struct DiffSide {
  DiffSide(UOp root, const Labels& labels);

  UOp root;
  std::vector<UOp> nodes;                    // in toposort order: nodes[i] is printed as %i
  UOpMap<uint32_t> index;                    // the position of each node in `nodes`
  std::vector<uint64_t> shape;               // for each node, a hash of it and all nodes below it, without names
  std::vector<std::vector<uint32_t>> users;  // the distinct users of each node
  std::vector<int32_t> match;                // for each node, the index of its match in the other graph; -1: none

  uint32_t at(UOp u) const { return *index.find(u); }
  bool is_value(uint32_t i) const { return value_[i]; }

 private:
  std::vector<uint8_t> value_;
};

// Fills `match` of both sides with a one-to-one mapping: first of equal subgraphs, then of similar nodes.
void match_graphs(DiffSide& a, DiffSide& b, const Labels& labels);

}  // namespace tgc
