// Makes one element of a node of a tensor graph an expression that REF can compute: movements apply to its place, and
// reductions get loops of their own. Graphs that have their loops already (BUFFERIZE, INDEX) work, too. So both sides
// of a rewrite of the tensor stages can be compared (rewrite_equivalence.h), although neither is a kernel yet.
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
  // New nodes are added to the graph. Buffers and nodes without an expression become memory.
  explicit TensorElementExpr(Graph& graph) : graph_(graph) {}

  // Returns both nodes at the same place, a RANGE for each axis of `before`. Null if `after` reads memory that `before`
  // does not. Indices and nodes without a value (stores, ends) or expression stay as they are.
  Sides sides(UOp before, UOp after);

  // Returns whether both are the same expression when the places are ignored where their sources are read. While
  // tensors get their loops, places depend on loops that are not in the graph yet.
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
  std::unordered_map<UOp, UOp> memories_;  // by the node that they stand for
  int64_t loops_ = 0;
  UOp whole_;        // a node that is memory although it has an expression; null if there is none
  int depth_ = 0, work_ = 0;
  bool is_cut_ = false;  // the expression was too large
};

}  // namespace tgc
