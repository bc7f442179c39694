// Memoizes results per graph. Include from passes/symbolic and passes/tensor only.
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

// Returns compute(), from the graph's cache if `key` was computed before. The result must depend only on the nodes that
// `key` identifies. The type What selects a cache, one for each caller; What::kShortcut describes this caching.
template <class What, class Compute>
auto memoize(Graph& graph, uint64_t key, Compute compute) {
  auto once = [&] {
    auto& by_key = graph.extension<Remembered<What, decltype(compute())>>().by_key;
    if (auto it = by_key.find(key); it != by_key.end()) return it->second;
    auto out = compute();  // compute() may itself call memoize() for other keys
    by_key.emplace(key, out);
    return out;
  };
  return shortcut(What::kShortcut, graph, once, compute);
}

}  // namespace tgc
