// Linear functions of loop indices. Private to lib/import.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::import {

// The sum constant + factor * index + ... over `terms`. Its value lies in min_value..max_value (inclusive).
struct AffineExpr {
  std::vector<std::pair<UOp, int64_t>> terms = {};  // (index, factor), sorted by node id; no factor is 0
  int64_t constant = 0;
  int64_t min_value = 0, max_value = 0;

  static AffineExpr number(int64_t value) { return {.constant = value, .min_value = value, .max_value = value}; }
  bool is_number() const { return terms.empty(); }
};

// Functions of AffineMath throw Refusal if a number does not fit into 64 bits. The part of a quotient or remainder that
// is not linear becomes a new index: one term with factor 1.
class AffineMath {
 public:
  explicit AffineMath(Graph& graph) : graph_(graph) {}

  AffineExpr index(UOp node, int64_t min, int64_t max);  // `node` lies in min..max (inclusive)
  static AffineExpr sum(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr scale_affine(const AffineExpr& a, int64_t factor);
  static AffineExpr add_number(const AffineExpr& a, int64_t number) { return sum(a, AffineExpr::number(number)); }
  // `divisor` must be positive, and `a` not negative.
  AffineExpr quotient(const AffineExpr& a, int64_t divisor);
  AffineExpr remainder(const AffineExpr& a, int64_t divisor);
  // Narrows the bounds of `a` to 0..size-1. `a` must be used only where its value is within them.
  static AffineExpr narrow_bounds(AffineExpr a, int64_t size);

  UOp make_node(const AffineExpr& a);
  // Returns the condition min <= a < end; the empty UOp if it is always true.
  UOp between_condition(const AffineExpr& a, int64_t min, int64_t end);

 private:
  struct IndexBounds {
    int64_t min_value, max_value;
  };
  // Sets `whole` and `rest` such that a = divisor * whole + rest. The factors of `rest` are in 0..divisor-1.
  void split_terms(const AffineExpr& a, int64_t divisor, AffineExpr& whole, AffineExpr& rest) const;
  void set_bounds(AffineExpr& a) const;
  UOp number(int64_t value) { return graph_.constant(dtypes::index, value); }

  Graph& graph_;
  std::unordered_map<UOp, IndexBounds> index_bounds_;
};

}  // namespace tgc::import
