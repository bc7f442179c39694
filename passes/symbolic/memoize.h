// Memoizes results per graph. Include from passes/symbolic only.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "lib/rewrite/shortcut.h"
#include "lib/uop/graph.h"

namespace tgc {

template <class What, class Result>
struct ResultCache {
  std::unordered_map<uint64_t, Result> results;
};

// Returns compute(), or the cached result of an earlier call with the same `key`. The result must depend only on the
// nodes that `key` identifies. Each type What has a separate cache.
template <class What, class Compute>
auto memoize(Graph& graph, uint64_t key, Compute compute) {
  auto once = [&] {
    auto& results = graph.extension<ResultCache<What, decltype(compute())>>().results;
    if (auto it = results.find(key); it != results.end()) return it->second;
    auto out = compute();  // compute() may itself call memoize() for other keys
    results.emplace(key, out);
    return out;
  };
  return run_shortcut(What::kShortcut, graph, once, compute);
}

}  // namespace tgc
