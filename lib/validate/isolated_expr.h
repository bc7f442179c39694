// Closed forms: what a node in the middle of a kernel computes, as a node that stands alone and that REF can run at
// chosen points. Ranges, specials, variables and what cannot be computed here (registers after a loop, a reduction that
// is too long, a tensor core) become leaves: numbers that are given for each point. Loads read the run's own arrays;
// local memory and registers hold numbers that are drawn. Each node has one closed form, however many rewrites it is
// part of, so that a kernel's whole trace costs little more than its graph.
#pragma once
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Numbers that are given from outside: `count` of them for each point. Local memory and registers are leaves without
// numbers of their own: what they hold is known to whoever reads the same ones alone.
struct Leaf {
  UOp node;
  int64_t slot = 0;  // of the first number; -1: it is memory
};

// Memory that loads read: a DEFINE_GLOBAL of the closed graph.
struct ClosedMemory {
  UOp define, of;      // `of`: the kernel's own
  int64_t number = 0;
  int64_t size = 0;    // in scalars
};

struct IsolatedExpr {
  UOp value;           // of a place its offset, in scalars of the memory; null: it has no value
  UOp valid;           // a bool for each element; null: always
  UOp memory;          // of a place: a DEFINE_GLOBAL of the closed graph
  uint32_t leaves = 0; // which it depends on: Closing::leaves
  bool is_place() const { return bool(memory); }
};

class ExprIsolator {
 public:
  static constexpr int64_t kPoints = 32;       // evaluated at once
  static constexpr int64_t kLeaves = 1000000;  // number of the DEFINE_GLOBAL with the leaves, of doubles; + 1: of longs
  struct MemoryOf {
    int64_t elements = -1;  // of the run's array; -1: there is none
  };

  // `arrays`: the size of the run's array of each DEFINE_GLOBAL. New nodes are made in the graph itself.
  ExprIsolator(Graph& graph, std::map<int64_t, int64_t> arrays);

  const IsolatedExpr& of(UOp u) { return close(u, {}); }
  // Whether a node is a leaf because it could not be computed: what it is made of does not count.
  bool is_opaque(UOp u) const { return leaf_of_.contains(u.id()) && !u.in({Op::RANGE, Op::SPECIAL, Op::DEFINE_VAR}); }
  UOp loaded(UOp u);  // the value of a node; what a place that stands for its element points to. Null: it has none

  UOp point() const { return point_; }                   // the RANGE over the points
  std::span<const Leaf> leaf_list() const { return leaves_; }
  const std::vector<uint32_t>& leaves(uint32_t set) const { return sets_[set]; }
  uint32_t joined(uint32_t a, uint32_t b);               // the set of the leaves of both
  std::span<const ClosedMemory> memories() const { return memories_; }
  int64_t leaf_slots() const { return slots_; }

 private:
  using Bound = std::vector<UOp>;  // ranges of reductions around a node, by id
  using Memo = std::unordered_map<uint32_t, IsolatedExpr>;

  const IsolatedExpr& close(UOp u, const Bound& bound);
  const IsolatedExpr* known(UOp u, const Bound& bound);
  Bound bound_at(UOp u, const Bound& bound) const;
  IsolatedExpr make(UOp u, const Bound& bound);
  const IsolatedExpr& source(UOp u, size_t i, const Bound& bound) { return *known(u.src(i), bound); }
  UOp value_of(UOp u, const Bound& bound);
  IsolatedExpr elementwise(UOp u, const Bound& bound);
  IsolatedExpr vector_of_places(UOp u, const Bound& bound);
  IsolatedExpr where(UOp u, const Bound& bound);
  IsolatedExpr constant(UOp u);
  IsolatedExpr define(UOp u);
  IsolatedExpr index(UOp u, const Bound& bound);
  IsolatedExpr load(UOp u, const Bound& bound);
  IsolatedExpr reduce(UOp u, const Bound& bound);
  IsolatedExpr axis_leaf(int64_t axis, int64_t size);
  UOp at_position(UOp vector, std::span<const Arg> axes, int64_t each);
  std::vector<UOp> at_all(UOp value, std::span<const Arg> axes);
  uint32_t without(uint32_t leaves, std::span<const Arg> axes);
  IsolatedExpr unroll(UOp u, const Bound& bound);
  IsolatedExpr contract(UOp u, const Bound& bound);
  IsolatedExpr leaf(UOp u, const Bound& bound);
  UOp load_from(const IsolatedExpr& place, DType dtype, UOp alt);
  UOp both(UOp a, UOp b);
  uint32_t set_of(std::vector<uint32_t> leaves);
  uint32_t joined_of(UOp u, const Bound& bound);

  Graph& graph_;
  std::map<int64_t, int64_t> arrays_;
  UOp point_;
  std::map<std::vector<uint32_t>, Memo> memos_;  // by the ids of the bound ranges
  std::vector<Leaf> leaves_;
  std::map<uint32_t, IsolatedExpr> leaf_of_;  // by node id
  std::vector<ClosedMemory> memories_;
  std::vector<std::vector<uint32_t>> sets_;
  std::map<std::vector<uint32_t>, uint32_t> set_numbers_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> joins_;
  int64_t slots_ = 0;
  int64_t work_ = 0;  // of reductions: evaluations so far
};

}  // namespace tgc
