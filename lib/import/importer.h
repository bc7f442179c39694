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

// `is_weak` as in Value.
struct ElementType {
  DType dtype;
  bool is_weak = false;
};

class Importer {
 public:
  explicit Importer(const Settings& settings) : graph(std::make_shared<Graph>(settings)), new_graph(*graph) {}

  const std::shared_ptr<Graph> graph;
  Graph& new_graph;
  bool is_list = false;
  KnownOps known_ops;

  // The sources of `u` must have values already. Throws Refusal or Failure if `u` cannot be imported.
  void import(UOp u);
  bool has_value(UOp u) const { return u.id() < made_values_.size() && made_values_[u.id()].is_made; }
  const Value& operator[](UOp u) const {
    if (!has_value(u)) throw Refusal{"a source of it has no value"};
    return made_values_[u.id()].value;
  }
  std::shared_ptr<ImportOrigins> origins = std::make_shared<ImportOrigins>();

  // Finds the accumulators among all nodes of the original (accumulators.cpp). To be called before the first import().
  void find_accumulators(std::span<const UOp> nodes);
  // Returns true if `memory` is an accumulator whose values do not depend on the group range `range`.
  bool is_outside_range(UOp range, UOp memory) const;

  // Returns the type of the elements of a scalar or vector dtype. Throws Refusal if tgc's IR has no such dtype.
  static ElementType type_of(DType original);
  ElementType joined_type(UOpSpan sources) const;  // the type to which the values of `sources` promote

  Value number_value(UOp source, DType dtype);
  Value number_value(UOp source) { return number_value(source, (*this)[source].dtype); }
  // `source` must be a scalar. An Invalid becomes 0.
  UOp scalar(UOp source, DType dtype);
  UOp scalar(UOp source) { return scalar(source, (*this)[source].dtype); }
  // Returns the elements of the value of `source`. For a buffer or a part of one, they are places in memory.
  CheckedList<ValueElement> elements_of_source(UOp source);
  // Returns the elements of an integer value, for a symbolic element its maximum. Throws Refusal unless they are in
  // 0..2^31 - 1.
  Sizes constant_ints(UOp source);
  int64_t size(UOp source);  // as constant_ints(), for a value with one element

  UOp literal(DType dtype, Const value);
  UOp literal(DType dtype, Arg value);
  UOp convert_node(UOp node, DType dtype, bool is_weak);
  // Return the INDEX of a place in memory: index_value() for the number there, pointer() for a pointer to the place.
  UOp index_value(const ValueElement& place);
  UOp pointer(const ValueElement& place);
  static Value node(UOp u, DType dtype = dtypes::void_) { return {.elements = {{u}}, .shape = {}, .dtype = dtype}; }

 private:
  struct MadeValue {
    Value value;
    bool is_made = false;
  };
  UOp index_node(const ValueElement& place, DType dtype);
  std::deque<MadeValue> made_values_;
  // by buffer: the open group ranges on which its stored values depend
  std::unordered_map<UOp, std::unordered_set<UOp>> enclosing_ranges_;
  void check_made_nodes(size_t first) const;  // `first`: an id in `new_graph`
  int numbers_depth_ = 0;
  int64_t num_elements_ = 0;
};

Value import_elementwise(Importer& im, UOp u, ElementType type);

}  // namespace tgc::import
