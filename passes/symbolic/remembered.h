// What was computed once for a graph is kept with it; for passes/symbolic alone.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

namespace tgc {

template <class What>
struct Remembered {
  std::unordered_map<uint64_t, UOp> by_key;
};

// What compute() returns, which depends on the graph's node or nodes that `key` stands for alone; What tells the things that are remembered
// apart. Who watches the graph sees each time what is rewritten on the way: then nothing is remembered.
template <class What, class Compute>
UOp remembered(Graph& graph, uint64_t key, Compute compute) {
  if (is_watched(graph)) return compute();
  auto& by_key = graph.extension<Remembered<What>>().by_key;
  if (auto it = by_key.find(key); it != by_key.end()) return it->second;
  UOp out = compute();  // may ask for others
  by_key.emplace(key, out);
  return out;
}

}  // namespace tgc
