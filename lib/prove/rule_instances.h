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
  // With `symbolic`, captured constants are unknown values; else some usual constants.
  RuleInstances(const Rule& rule, bool symbolic) : rule_(rule), symbolic_(symbolic) {}

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
  virtual UOp leaf(DType d);  // the node in place of a name
  virtual Const constant(DType d);  // the number in place of a captured constant

 private:
  UOp build(const pat::PatNode* n, std::optional<DType> want);
  DType pick_dtype(DTypeSet among);

  const Rule& rule_;
  const bool symbolic_;
  bool done_ = false;
  std::vector<std::pair<size_t, size_t>>
      choices_;  // (choice, number of alternatives), in the order in which they are made
  size_t at_ = 0;
  Graph* graph_ = nullptr;
  int64_t leaves_ = 0;
  std::array<UOp, pat::kNumCaptures> captured_;
};

// Returns whether the right side can be built from unknown values in place of captured constants.
bool takes_symbolic_constants(const Rule& rule);
// Returns whether the left side captures constants.
bool has_constants(const Rule& rule);

}  // namespace tgc
