// Computes a fact of a node, such as its shape, from its sources' facts, without recursion. Private to lib/uop.
#pragma once
#include <algorithm>

#include "lib/support/arena.h"
#include "lib/uop/uop.h"

namespace tgc {

// Calls compute(u) for `root` and the transitive sources that root's fact depends on, sources first, unless known(u).
// known(u) is true if the fact of u is already computed. wants_sources(u) is true if the fact of u depends on the facts
// of u's sources.
template <class Known, class WantsSources, class Compute>
void compute_bottom_up(UOp root, Known known, WantsSources wants_sources, Compute compute) {
  if (known(root)) return;
  if (!wants_sources(root) || std::ranges::all_of(root.src(), known)) return compute(root);
  struct Frame {
    const Node* node;
    uint32_t next_source;
  };
  InlineStack<Frame, 64> stack;
  auto enter = [&](UOp u) { stack.push_back({u.node(), wants_sources(u) ? 0 : uint32_t(u.num_src())}); };
  enter(root);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    UOp u(node);
    while (next < u.num_src() && known(u.src(next))) next++;
    if (next < u.num_src()) {
      enter(u.src(next));
      continue;
    }
    stack.pop_back();
    if (!known(u)) compute(u);
  }
}

}  // namespace tgc
