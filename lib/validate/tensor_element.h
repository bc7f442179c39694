// One element of a tensor as an expression that REF can compute: what a node of a tensor graph holds at a place, with
// movements done to the place, and loops of their own for reductions. The same for graphs that have their loops
// already (BUFFERIZE, INDEX). So both sides of a rewrite of the tensor stages can be compared (two_sides.h), although
// neither is a kernel yet.
#pragma once
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

class TensorElementExpr {
 public:
  // Nodes are added to the graph. Buffers, and all that has no expression, are memory of their own.
  explicit TensorElementExpr(Graph& graph) : graph_(graph) {}

  // Both nodes at the same place, a RANGE for each axis of `before`. Null where `after` hangs on memory that `before`
  // does not have. Indices, and what has no value (stores, ends) or no expression, are as they were.
  Sides sides(UOp before, UOp after);

  // Whether both are the same expression, whatever the places are where their sources are read: what can be told while
  // tensors get their loops, and places hang on loops that stand nowhere in the graph as yet.
  bool same_but_places(UOp before, UOp after);

 private:
  using Place = std::vector<UOp>;  // an index for each axis

  UOp at(UOp u, const Place& place);
  UOp made(UOp u, const Place& place);
  bool add_loops(Substitution& to, UOp index, UOp value);
  UOp moved(UOp u, const Place& place);
  UOp reshaped(UOp u, const Place& place);
  UOp padded(UOp u, const Place& place);
  UOp reduced(UOp u, const Place& place);
  UOp in_loops(UOp u, const Place& place);
  UOp memory(UOp u, const Place& place);
  Place place_of(Shape shape);
  UOp range(UOp size, int64_t number);
  UOp flat(Shape shape, const Place& place);
  UOp bare(UOp u);
  UOp without_places(UOp u);
  static std::vector<uint32_t> memories(UOp expression);

  Graph& graph_;
  std::map<std::vector<uint32_t>, UOp> known_;  // by ids of the node and of its place
  std::unordered_map<UOp, UOp> bare_, placeless_;
  std::unordered_map<UOp, UOp> memories_;  // by what they are of
  int64_t loops_ = 0;
  UOp whole_;        // what is memory, although it has an expression; null: nothing
  int depth_ = 0, work_ = 0;
  bool is_cut_ = false;  // the expression is too large
};

}  // namespace tgc
