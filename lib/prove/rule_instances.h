// Makes nodes that the pattern of a rule matches, with unknown values in place of its names.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

class RuleInstances {
 public:
  // With `symbolic`, captured constants are unknown values; else some usual constants, and large ones. With `shapes`,
  // names also stand for expressions whose bounds are known, and for constants.
  RuleInstances(const Rule& rule, bool symbolic, bool shapes = false);
  virtual ~RuleInstances() = default;

  // Makes the next instance in `graph`: the node that the pattern matches. Returns nullopt after the last one, and the
  // empty UOp for a choice that makes no valid node.
  std::optional<UOp> next(Graph& graph);
  const std::array<UOp, pat::kNumCaptures>& captured() const { return captured_; }

 protected:
  void start(Graph& graph);
  UOp build_root() { return build(rule_.left, std::nullopt); }
  Graph& graph() { return *graph_; }
  UOp variable(const Int& least, const Int& most);
  virtual size_t pick(size_t n);  // chooses one of n alternatives
  virtual UOp leaf(DType d);      // the node in place of a name
  virtual Const number(DType d);  // the number in place of a captured constant

 private:
  using PatNode = pat::PatNode;

  UOp build(const PatNode* n, std::optional<DType> want);
  UOp elementwise(const PatNode* n, Op op, std::optional<DType> want);
  UOp constant(const PatNode* n, std::optional<DType> want);
  UOp index(const PatNode* n, DType d, bool is_pointer);
  UOp load(const PatNode* n, std::optional<DType> want);
  UOp range(const PatNode* n);
  UOp loaded(DType d, int64_t n);
  UOp shaped_leaf(DType d);
  DType pick_dtype(DTypeSet among);

  const Rule& rule_;
  const bool symbolic_, shapes_;
  std::vector<int> powers_;  // the captures of which a guard says that they are powers of two
  bool done_ = false;
  std::vector<std::pair<size_t, size_t>>
      choices_;  // (choice, number of alternatives), in the order in which they are made
  size_t at_ = 0;
  Graph* graph_ = nullptr;
  int64_t leaves_ = 0;
  std::array<UOp, pat::kNumCaptures> captured_;
};

// Returns whether all nodes of the left side are values of scalars: no loops, stores, vectors or control flow.
bool has_values_only(const Rule& rule);

}  // namespace tgc
