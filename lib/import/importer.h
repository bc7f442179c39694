// The state of one import, which the functions of the upgrades use. Private to lib/import.
#pragma once
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/import/import.h"
#include "lib/import/known_ops.h"
#include "lib/import/value.h"

namespace tgc::import {

// A dtype of tgc's IR; `weak` as in Value.
struct Type {
  DType dtype;
  bool weak = false;
};

class Importer {
 public:
  explicit Importer(const Settings& settings) : graph(std::make_shared<Graph>(settings)), to(*graph) {}

  const std::shared_ptr<Graph> graph;
  Graph& to;  // *graph, the imported graph
  bool is_list = false;  // the original is a linear list
  KnownOps known;        // the original nodes without ops that tgc does not know

  // Makes the value of `u`, whose sources have values already. Throws Refusal.
  void import(UOp u);
  bool has(UOp u) const { return u.id() < values_.size() && values_[u.id()].made; }
  const Value& operator[](UOp u) const {
    if (!has(u)) throw Refusal{"a source of it has no value"};
    return values_[u.id()].value;
  }
  std::shared_ptr<ImportOrigins> origins = std::make_shared<ImportOrigins>();

  // ---- accumulators (accumulators.cpp)
  void find_accumulators(std::span<const UOp> nodes);  // call it with all original nodes before import()
  // Returns true if `memory` is an accumulator whose values do not depend on the group range `range`.
  bool is_outside(UOp range, UOp memory) const;

  // ---- dtypes
  // Returns the type of the elements of `original`, a dtype or a vector. Throws Refusal if tgc's IR has no such dtype.
  static Type type_of(DType original);
  Type joined(UOpSpan sources) const;   // the type that the values of the sources promote to

  // ---- values of sources
  // Returns the value of `source` as numbers of `dtype`.
  Value numbers(UOp source, DType dtype);
  Value numbers(UOp source) { return numbers(source, (*this)[source].dtype); }
  // Returns the value of `source`, which must be a scalar, as a number; an Invalid becomes 0.
  UOp scalar(UOp source, DType dtype);
  UOp scalar(UOp source) { return scalar(source, (*this)[source].dtype); }
  // Returns the places of a value that is a buffer or a part of one.
  Checked<Element> places(UOp source);
  Sizes ints(UOp source);  // the elements of a value of integers; a symbolic one counts as its maximum
  int64_t size(UOp source);               // the only one of them

  // ---- nodes
  UOp literal(DType dtype, Const value);
  UOp literal(DType dtype, Arg value);
  UOp convert(UOp node, DType dtype, bool weak);
  // Returns the INDEX of a place: its value, or a pointer to it.
  UOp read(const Element& place);
  UOp pointer(const Element& place);
  static Value node(UOp u, DType dtype = dtypes::void_) { return {.elements = {{u}}, .shape = {}, .dtype = dtype}; }

 private:
  struct Made {
    Value value;
    bool made = false;
  };
  UOp index_node(const Element& place, DType dtype);
  std::deque<Made> values_;  // indexed by the id of the original node
  std::unordered_map<UOp, std::unordered_set<UOp>> enclosing_;  // the group ranges around the stores to each buffer
  void check_made(size_t first) const;
  int depth_ = 0;            // nesting of numbers()
  int64_t elements_ = 0;     // number of elements of all values
};

// Adds `op` of the elements' validity to an element made from them.
Value elementwise(Importer& im, UOp u, Type type);

}  // namespace tgc::import
