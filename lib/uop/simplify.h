// The simplifier behind UOp::simplify(). Shapes hold symbolic sizes that lib/uop must simplify, but the rules are in
// passes/symbolic, a higher layer. passes/symbolic installs its function here at start-up.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

using Simplifier = UOp (*)(UOp);

// Makes `simplifier` the function that UOp::simplify() calls for nodes that are not constants. Returns true, so that
// the call can initialize a static variable.
bool install_simplifier(Simplifier simplifier);

}  // namespace tgc
