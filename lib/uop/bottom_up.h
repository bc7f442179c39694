// bottom_up: computes a fact for a node after its sources, without recursion; for the facts of this folder alone.
#pragma once
#include <algorithm>

#include "lib/support/inline_stack.h"
#include "lib/uop/uop.h"

namespace tgc {

// known(u): the fact is there; wants_sources(u): the sources' facts are needed for u's; compute(u): make it.
template <class Known, class WantsSources, class Compute>
void bottom_up(UOp root, Known known, WantsSources wants_sources, Compute compute) {
  if (known(root)) return;
  if (!wants_sources(root) || std::ranges::all_of(root.src(), known)) return compute(root);  // most often
  struct Frame {
    const Node* node;
    uint32_t next;  // the source to look at
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
