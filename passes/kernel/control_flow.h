// Control flow: the order of loops (tinygrad codegen/late/linearizer.py: CFGContext, pm_add_control_flow).
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

// Which loop has to wait for which: loops that lie side by side in the same loop (or in none) run one after another, in
// an order that respects their dependencies, and the first of them follows the head of the loop around it.
class CfgContext {
 public:
  // Throws Failure when the order contradicts a dependency of the graph.
  explicit CfgContext(UOp sink);

  // What the RANGE has to wait for: the END of the loop before it or the RANGE around it;
  // the empty UOp when it waits for nothing.
  UOp waits_for(UOp range) const {
    for (auto [waits, before] : edges_)
      if (waits == range) return before;
    return {};
  }
  // Every RANGE that waits, and for what.
  std::span<const std::pair<UOp, UOp>> edges() const { return edges_; }

 private:
  void add_edge(UOp range, UOp before);

  std::vector<std::pair<UOp, UOp>> edges_;  // few
};

const RuleSet& add_control_flow_rules();  // pm_add_control_flow; the context is a CfgContext

// The stage: `sink` with every loop tied to the one that runs before it.
UOp add_control_flow(UOp sink);

}  // namespace tgc
