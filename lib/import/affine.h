// Linear functions of loop indices. Private to lib/import.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::import {

// The sum constant + factor * index + ... over `terms`. Its value lies in min_value..max_value (inclusive).
struct Affine {
  std::vector<std::pair<UOp, int64_t>> terms = {};  // (index, factor), sorted by node id; no factor is 0
  int64_t constant = 0;
  int64_t min_value = 0, max_value = 0;

  static Affine number(int64_t value) { return {.constant = value, .min_value = value, .max_value = value}; }
  bool is_number() const { return terms.empty(); }
};

// Throws Refusal if a number does not fit into 64 bits. A quotient or remainder that is not linear becomes a new index:
// one term with factor 1.
class AffineMath {
 public:
  explicit AffineMath(Graph& graph) : graph_(graph) {}

  Affine index(UOp node, int64_t min, int64_t max);  // `node` lies in min..max (inclusive)
  static Affine sum(const Affine& a, const Affine& b);
  static Affine scale_affine(const Affine& a, int64_t factor);
  static Affine add_number(const Affine& a, int64_t number) { return sum(a, Affine::number(number)); }
  // `divisor` must be positive, and `a` not negative.
  Affine quotient(const Affine& a, int64_t divisor);
  Affine remainder(const Affine& a, int64_t divisor);
  // Narrows the bounds of `a` to 0..size-1. `a` must be used only where its value is within them.
  static Affine narrow_bounds(Affine a, int64_t size);

  UOp make_node(const Affine& a);
  // Returns the condition min <= a < end; the empty UOp if it is always true.
  UOp is_between(const Affine& a, int64_t min, int64_t end);

 private:
  struct Bounds {
    int64_t min_value, max_value;
  };
  // a = divisor * whole + rest, where the factors of `rest` are in 0..divisor-1
  void split_terms(const Affine& a, int64_t divisor, Affine& whole, Affine& rest) const;
  void set_bounds(Affine& a) const;
  UOp number(int64_t value) { return graph_.constant(dtypes::index, value); }

  Graph& graph_;
  std::unordered_map<UOp, Bounds> index_bounds_;
};

}  // namespace tgc::import
