// What was computed once for a graph is kept with it; for passes/symbolic and passes/tensor alone.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "lib/rewrite/shortcut.h"
#include "lib/uop/graph.h"

namespace tgc {

template <class What, class Result>
struct Remembered {
  std::unordered_map<uint64_t, Result> by_key;
};

// What compute() returns, which depends on the graph's node or nodes that `key` stands for alone. What, which names the
// shortcut as What::kShortcut, tells the things that are remembered apart.
template <class What, class Compute>
auto memoize(Graph& graph, uint64_t key, Compute compute) {
  auto once = [&] {
    auto& by_key = graph.extension<Remembered<What, decltype(compute())>>().by_key;
    if (auto it = by_key.find(key); it != by_key.end()) return it->second;
    auto out = compute();  // may ask for others
    by_key.emplace(key, out);
    return out;
  };
  return shortcut(What::kShortcut, graph, once, compute);
}

}  // namespace tgc
