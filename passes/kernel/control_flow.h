// The stage "add control flow": orders the loops (tinygrad codegen/late/linearizer.py:CFGContext, pm_add_control_flow).
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

// The order of loops: sibling loops (directly inside the same loop, or outside all loops) run one after another in an
// order that respects their dependencies. The first sibling follows the RANGE of the enclosing loop.
class CfgContext {
 public:
  // Throws Failure if the order contradicts a dependency of the graph.
  explicit CfgContext(UOp sink);

  // Returns the node that `range` must come after: the END of the previous sibling, or the enclosing RANGE if `range`
  // is the first sibling; the empty UOp if there is neither.
  UOp waits_for(UOp range) const;
  // All pairs of a RANGE and the node that it must come after; of several pairs of a RANGE, the last one counts.
  std::span<const std::pair<UOp, UOp>> edges() const { return edges_; }

 private:
  std::vector<std::pair<UOp, UOp>> edges_;  // sorted by the ids of the RANGEs
};

const RuleSet& add_control_flow_rules();  // pm_add_control_flow; context: const CfgContext

// Runs the stage: adds to each RANGE, as a source, the node that the RANGE must come after.
UOp add_control_flow(UOp sink);

}  // namespace tgc
