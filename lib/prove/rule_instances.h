// RuleInstances: makes the nodes that the pattern of a rule matches, with unknown values for its names.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

class RuleInstances {
 public:
  // With `is_symbolic`, constants of any value are unknown values, unless a guard restricts them to powers of two; else
  // they are numbers. With `has_shapes`, names are also bound to expressions with known bounds, and to constants.
  RuleInstances(const Rule& rule, bool is_symbolic, bool has_shapes = false);
  virtual ~RuleInstances() = default;

  // Makes the next instance, a node in `graph` that the pattern matches. Returns nullopt after the last instance, and
  // the empty UOp if the next combination of choices makes no valid node.
  std::optional<UOp> next_instance(Graph& graph);
  const std::array<UOp, pat::kNumCaptures>& captured_nodes() const { return captured_nodes_; }

 protected:
  void start_instance(Graph& graph);
  UOp build_root() { return build_pattern(rule_.left, std::nullopt); }
  Graph& graph() { return *graph_; }
  UOp make_variable(const Int& least, const Int& most);
  virtual size_t pick_alternative(size_t n);  // chooses one of n alternatives: returns a number below n
  virtual UOp make_leaf(DType d);
  virtual Const make_number(DType d);

 private:
  using PatNode = pat::PatNode;

  UOp build_pattern(const PatNode* n, std::optional<DType> want);
  UOp make_elementwise(const PatNode* n, Op op, std::optional<DType> want);
  UOp make_constant(const PatNode* n, std::optional<DType> want);
  UOp make_index(const PatNode* n, DType d, bool is_pointer);
  UOp make_load(const PatNode* n, std::optional<DType> want);
  UOp make_range(const PatNode* n);
  UOp make_leaf_load(DType d, int64_t n);
  UOp make_shaped_leaf(DType d);
  DType pick_dtype(DTypeSet among);

  const Rule& rule_;
  const bool is_symbolic_, has_shapes_;
  std::vector<int> power_of_two_captures_;
  bool is_done_ = false;
  std::vector<std::pair<size_t, size_t>>
      choices_;  // pairs of a choice and its number of alternatives, in the order in which they are made
  size_t choice_index_ = 0;
  Graph* graph_ = nullptr;
  int64_t num_leaves_ = 0;
  std::array<UOp, pat::kNumCaptures> captured_nodes_;
};

// Returns true if the rule's left side has only values, and the loops, memory and AFTERs that values may use.
bool has_values_only(const Rule& rule);

}  // namespace tgc
