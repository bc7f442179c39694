// TensorElementExpr makes an expression that REF can compute for one element of a node in a tensor graph.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

class TensorElementExpr {
 public:
  // Adds new nodes to `graph`. A buffer, or a node without an expression, becomes an INDEX into a new DEFINE_GLOBAL.
  explicit TensorElementExpr(Graph& graph) : graph_(graph) {}

  // Returns the expressions of one element of both nodes. The element's index is a RANGE for each axis of `before` (0
  // for an axis of size 1). The sides are null if `after` reads memory that `before` does not. Returns the sides
  // unchanged if there are no such expressions, or if they are too large.
  RewriteSides make_element_sides(UOp before, UOp after);

  // Returns true if both nodes are the same expression, ignoring tags and the indices at which they read their sources.
  // A PAD of a node is the same as a choice between the node and 0.
  bool are_equal_except_places(UOp before, UOp after);

 private:
  using Position = std::vector<UOp>;  // an element's position: an index for each axis

  UOp element_expr(UOp u, const Position& place);
  UOp make_element(UOp u, const Position& place);
  bool solve_for_loops(Substitution& to, UOp index, UOp value);
  UOp element_of_movement(UOp u, const Position& place);
  UOp element_of_reshape(UOp u, const Position& place);
  UOp element_of_pad(UOp u, const Position& place);
  UOp element_of_reduce(UOp u, const Position& place);
  UOp element_in_loops(UOp u, const Position& place);
  UOp make_memory_load(UOp u, const Position& place);
  Position make_position(Shape shape);
  UOp make_range(UOp size, int64_t number);
  UOp flat_index(Shape shape, const Position& place);
  UOp without_tags(UOp u);
  UOp node_without_places(UOp u);
  static std::vector<uint32_t> memories_in(UOp expression);

  Graph& graph_;
  std::map<std::vector<uint32_t>, UOp> known_elements_;
  std::unordered_map<UOp, UOp> untagged_nodes_, placeless_nodes_;
  std::unordered_map<UOp, UOp> memories_;
  int64_t num_loops_ = 0;
  UOp whole_node_;        // a node to treat as memory although it has an expression; null: no node
  int recursion_depth_ = 0, num_work_steps_ = 0;
  bool is_too_large_ = false;
};

}  // namespace tgc
