// ExprIsolator turns a node of a kernel into an expression that REF can evaluate at sample points without the rest of
// the kernel. Specials, variables, ranges other than those of reductions, and nodes that cannot be isolated become
// leaves, for which the caller supplies a value for each point. Loads read arrays that the caller supplies. Each node
// is isolated once for each set of reductions around it.
#pragma once
#include <map>
#include <string>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// A node whose values the caller supplies: one for each element and sample point. Local memory, registers and memory
// after stores are leaves without values.
struct ExprLeaf {
  UOp node;
  int64_t first_slot = 0;  // index of the node's first element among the elements of all leaves; -1 for memory
};

// Memory that loads read: a DEFINE_GLOBAL in the graph of the isolated expressions.
struct IsolatedMemory {
  UOp define;
  // the kernel's DEFINE_* of this memory, or the AFTER that makes loads wait for stores to it
  UOp source_node;
  int64_t define_number = 0;
  int64_t num_scalars = 0;    // size of the memory, in scalars
};

struct IsolatedExpr {
  UOp value;           // the node's value; for an address ("place"), the offset in scalars; null if it has no value
  // a bool for each element: false if `value` is Invalid, or if the gate of an address is false; null: always true
  UOp valid;
  UOp memory;          // for an address: the DEFINE_GLOBAL that the address points into; else null
  uint32_t leaf_set = 0; // the leaves on which the value depends, for ExprIsolator::leaf_set()
  bool is_address() const { return bool(memory); }  // true for an address, false for a value
};

// Returns a text that describes the size of a loop: loops with equal texts have equal sizes.
std::string loop_size_text(UOp loop);

class ExprIsolator {
 public:
  static constexpr int64_t kPointsPerRun = 32;  // number of sample points that one run evaluates
  // Number of the DEFINE_GLOBAL with the values of float leaves, as doubles. The DEFINE_GLOBAL with the next number has
  // the values of the other leaves, as longs.
  static constexpr int64_t kLeafArrayNumber = 1000000;

  // `arrays` maps the number of each DEFINE_GLOBAL to the number of elements that its array has when REF evaluates the
  // expressions. New nodes are added to `graph`.
  ExprIsolator(Graph& graph, std::map<int64_t, int64_t> arrays);

  const IsolatedExpr& expr_of(UOp u) { return isolate_node(u, {}); }
  // Returns true if `u` became a leaf because it could not be isolated. Returns false for loops, launch indices and
  // variables.
  bool is_opaque(UOp u) const {
    return exprs_of_leaves_.contains(u.id()) && !u.in({Op::RANGE, Op::SPECIAL, Op::DEFINE_VAR});
  }
  // Returns the node's value, or a load of its element for an INDEX that is used as a value; null if there is none.
  UOp load_value(UOp u);

  UOp point_range() const { return sample_point_; }            // returns the RANGE over the sample points
  std::span<const ExprLeaf> leaf_list() const { return leaves_; }
  const std::vector<uint32_t>& leaf_set(uint32_t set) const { return leaf_sets_[set]; }  // indices into leaf_list()
  uint32_t union_set(uint32_t a, uint32_t b);                // returns the number of the union of two sets of leaves
  std::span<const IsolatedMemory> memories() const { return memories_; }
  int64_t num_leaf_slots() const { return num_leaf_slots_; }

 private:
  using BoundRanges = std::vector<UOp>;
  using ExprMemo = std::unordered_map<uint32_t, IsolatedExpr>;

  const IsolatedExpr& isolate_node(UOp u, const BoundRanges& bound);
  const IsolatedExpr* known_expr(UOp u, const BoundRanges& bound);
  BoundRanges bound_ranges_at(UOp u, const BoundRanges& bound) const;
  IsolatedExpr make_expr(UOp u, const BoundRanges& bound);
  const IsolatedExpr& source(UOp u, size_t i, const BoundRanges& bound) { return *known_expr(u.src(i), bound); }
  UOp value_of(UOp u, const BoundRanges& bound);
  IsolatedExpr isolate_elementwise(UOp u, const BoundRanges& bound);
  IsolatedExpr vector_of_places(UOp u, const BoundRanges& bound);
  IsolatedExpr isolate_where(UOp u, const BoundRanges& bound);
  IsolatedExpr isolate_constant(UOp u);
  IsolatedExpr isolate_define(UOp u);
  IsolatedExpr isolate_after(UOp u, const BoundRanges& bound);
  IsolatedExpr make_memory_expr(UOp u, UOp define, int64_t number, int64_t size);
  IsolatedExpr isolate_index(UOp u, const BoundRanges& bound);
  IsolatedExpr isolate_load(UOp u, const BoundRanges& bound);
  IsolatedExpr isolate_reduce(UOp u, const BoundRanges& bound);
  IsolatedExpr axis_leaf(int64_t axis, int64_t size);
  UOp value_at_position(UOp vector, std::span<const Arg> axes, int64_t each);
  std::vector<UOp> values_at_all_positions(UOp value, std::span<const Arg> axes);
  uint32_t leaf_set_without(uint32_t leaves, std::span<const Arg> axes);
  IsolatedExpr isolate_unroll(UOp u, const BoundRanges& bound);
  IsolatedExpr isolate_contract(UOp u, const BoundRanges& bound);
  IsolatedExpr make_leaf(UOp u, const BoundRanges& bound);
  UOp load_at_place(const IsolatedExpr& place, DType dtype, UOp alt);
  UOp logical_and(UOp a, UOp b);
  uint32_t leaf_set_of(std::vector<uint32_t> leaves);
  uint32_t leaf_set_of_sources(UOp u, const BoundRanges& bound);

  Graph& graph_;
  std::map<int64_t, int64_t> arrays_;
  UOp sample_point_;
  std::map<std::vector<uint32_t>, ExprMemo> known_exprs_;
  std::vector<ExprLeaf> leaves_;
  std::map<uint32_t, IsolatedExpr> exprs_of_leaves_;  // by node id of a leaf: the expression that loads its value
  std::vector<IsolatedMemory> memories_;
  // memories after stores; isolate_after() makes the keys
  std::map<std::vector<uint32_t>, IsolatedExpr> memory_versions_;
  std::vector<std::vector<uint32_t>> leaf_sets_;
  std::map<std::vector<uint32_t>, uint32_t> leaf_set_numbers_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> joined_sets_;
  int64_t num_leaf_slots_ = 0;
  int64_t estimated_work_ = 0;  // estimated number of evaluations of nodes in all REDUCEs and CONTRACTs
};

}  // namespace tgc
