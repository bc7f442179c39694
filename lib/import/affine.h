// Linear functions of loop indices, with which kernels of tensor graphs address their arrays. Private to lib/import.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::import {

// The value constant + factor * index + ..., which lies in min..max wherever it is used.
struct Affine {
  std::vector<std::pair<UOp, int64_t>> terms = {};  // (index, factor), sorted by node id; no factor is 0
  int64_t constant = 0;
  int64_t min = 0, max = 0;

  static Affine number(int64_t value) { return {.constant = value, .min = value, .max = value}; }
  bool is_number() const { return terms.empty(); }
};

// Makes Affines, and the nodes of their values. Divisions of values that are not linear become indices of their own.
class AffineMath {
 public:
  explicit AffineMath(Graph& graph) : graph_(graph) {}

  Affine index(UOp node, int64_t min, int64_t max);  // the value of a node that lies in min..max
  static Affine sum(const Affine& a, const Affine& b);
  static Affine scaled(const Affine& a, int64_t factor);
  static Affine plus(const Affine& a, int64_t number) { return sum(a, Affine::number(number)); }
  // a // divisor and a % divisor for divisor > 0, and values of `a` that are not negative
  Affine quotient(const Affine& a, int64_t divisor);
  Affine remainder(const Affine& a, int64_t divisor);
  // Returns `a`, whose users make sure that it lies in 0..size-1.
  static Affine within(Affine a, int64_t size);

  UOp node(const Affine& a);
  // Returns the condition min <= a < end as a node; the empty UOp if it is always true.
  UOp is_between(const Affine& a, int64_t min, int64_t end);

 private:
  struct Bounds {
    int64_t min, max;
  };
  // Splits a into divisor * whole + rest, where the factors of rest are in 0..divisor-1.
  void split(const Affine& a, int64_t divisor, Affine& whole, Affine& rest) const;
  void bound(Affine& a) const;
  UOp number(int64_t value) { return graph_.constant(dtypes::index, value); }

  Graph& graph_;
  std::unordered_map<UOp, Bounds> bounds_;  // bounds of the indices
};

}  // namespace tgc::import
