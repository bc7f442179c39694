// bottom_up: computes a fact for a node after its sources, without recursion; for the facts of this folder alone.
#pragma once
#include <algorithm>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// known(u): the fact is there; wants_sources(u): the sources' facts are needed for u's; compute(u): make it.
template <class Known, class WantsSources, class Compute>
void bottom_up(UOp root, Known known, WantsSources wants_sources, Compute compute) {
  if (known(root)) return;
  auto ready = [&](UOp u) { return !wants_sources(u) || std::all_of(u.src().begin(), u.src().end(), known); };
  if (ready(root)) return compute(root);  // of a node just made: its sources were asked before
  struct Frame {
    UOp node;
    uint32_t next;
  };
  std::vector<Frame> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [u, next] = stack.back();
    if (next == 0 && !wants_sources(u)) next = uint32_t(u.num_src());
    while (next < u.num_src() && known(u.src(next))) next++;
    if (next < u.num_src()) {
      UOp source = u.src(next);
      stack.push_back({source, 0});
      continue;
    }
    UOp done = u;
    stack.pop_back();
    if (!known(done)) compute(done);
  }
}

}  // namespace tgc
