// Which nodes of two graphs correspond. Graphs are compared by structure: the numbers of ranges, of local buffers and
// of unique nodes are names, and any renaming of them that is one-to-one changes nothing; neither does the order in
// which a text lists its nodes. Both graphs live in one Graph (read both texts into it).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// What counts as a difference besides structure.
struct DiffOptions {
  bool names = true;     // of kernels and variables
  bool tags = true;
  bool metadata = true;  // of kernels
  bool buffers = true;   // the numbers of a kernel's arguments (DEFINE_GLOBAL)
  bool order = true;     // of the operands of commutative ops, and of what a SINK, GROUP, BARRIER or AFTER gathers

  // From a list of what to ignore, "names,tags"; an unknown word is an error.
  static Result<DiffOptions> ignoring(std::string_view list);
};

// A node's own part, its sources apart, without what is only a name: equal labels are equal nodes but for sources and
// names.
class Labels {
 public:
  Labels(Graph& graph, const DiffOptions& options) : graph_(graph), o_(options) {}

  bool equal(UOp a, UOp b) const {
    return a.op() == b.op() && a.dtype() == b.dtype() && arg(a) == arg(b) && tag(a) == tag(b);
  }
  uint64_t hash(UOp u) const;
  Arg arg(UOp u) const;
  Arg tag(UOp u) const { return o_.tags ? u.tag() : Arg(); }
  // Whether what distinguishes the node from others of its label is a number that may be renamed.
  bool is_renamable(UOp u) const;
  // The graph inside a KERNEL, else the empty UOp. It is compared on its own: its names are its own.
  static UOp inner(UOp u) { return u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel) ? u.arg()[0].uop() : UOp(); }
  bool any_order(UOp u) const;
  const DiffOptions& options() const { return o_; }

 private:
  Graph& graph_;
  DiffOptions o_;
};

// Whether the graphs are the same, but for names.
bool same_graph(UOp a, UOp b, const Labels& labels);

// One of the two graphs as the matcher sees it. Constants and devices are values: they are compared where they are
// used, never matched.
struct DiffSide {
  DiffSide(UOp root, const Labels& labels);

  UOp root;
  std::vector<UOp> nodes;                      // in toposort order: nodes[i] is %i
  UOpMap<uint32_t> index;
  std::vector<uint64_t> shape;                 // a hash of the node with everything below, names left out
  std::vector<std::vector<uint32_t>> users;    // distinct ones
  std::vector<int32_t> match;                  // the node of the other side, -1: none

  uint32_t at(UOp u) const { return *index.find(u); }
  bool is_value(uint32_t i) const { return value_[i]; }

 private:
  std::vector<uint8_t> value_;
};

// Fills `match` on both sides, one-to-one: by structure first, by likeness next.
void match_graphs(DiffSide& a, DiffSide& b, const Labels& labels);

}  // namespace tgc
