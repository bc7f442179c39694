// UOpTable: a map from few of a large graph's nodes to T. The values lie side by side in the order they came; by id
// there is a number alone, so that a large T takes no room for nodes that are not in it.
#pragma once
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

template <class T>
class UOpTable {
 public:
  explicit UOpTable(Graph& graph) : row_(graph) {}

  // What is found is where it is until the next node comes.
  T& operator[](UOp u) {
    if (auto* row = row_.find(u)) return rows_[*row];
    row_[u] = uint32_t(rows_.size());
    return rows_.emplace_back();
  }
  const T* find(UOp u) const {
    auto* row = row_.find(u);
    return row ? &rows_[*row] : nullptr;
  }
  T* find(UOp u) {
    auto* row = row_.find(u);
    return row ? &rows_[*row] : nullptr;
  }
  bool contains(UOp u) const { return row_.contains(u); }
  void erase(UOp u) { row_.erase(u); }

 private:
  UOpMap<uint32_t> row_;
  std::vector<T> rows_;
};

}  // namespace tgc
