// UOpTable: a map from nodes to T that stores a T only for each added node. It takes less memory than a UOpMap, which
// stores a T for each node id up to the greatest key, if T is large and few nodes have a value.
#pragma once
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

template <class T>
class UOpTable {
 public:
  explicit UOpTable(Graph& graph) : row_of_node_(graph) {}

  // Returns the value of `u`; adds a default value if there is none. The reference is valid until the next addition.
  T& operator[](UOp u) {
    if (auto* row = row_of_node_.find(u)) return table_rows_[*row];
    row_of_node_[u] = uint32_t(table_rows_.size());
    return table_rows_.emplace_back();
  }
  const T* find(UOp u) const {
    auto* row = row_of_node_.find(u);
    return row ? &table_rows_[*row] : nullptr;
  }
  T* find(UOp u) {
    auto* row = row_of_node_.find(u);
    return row ? &table_rows_[*row] : nullptr;
  }
  bool contains(UOp u) const { return row_of_node_.contains(u); }
  void erase(UOp u) { row_of_node_.erase(u); }

 private:
  UOpMap<uint32_t> row_of_node_;
  std::vector<T> table_rows_;
};

}  // namespace tgc
