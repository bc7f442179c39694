// Installs the function that UOp::simplify() calls. lib/uop must simplify the symbolic sizes of shapes, but the rules
// are in passes/symbolic, a higher layer, which installs its function when the program starts.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

using Simplifier = UOp (*)(UOp);

// Makes `simplifier` the function that UOp::simplify() calls for nodes that are not constants. Returns true, so that
// the call can initialize a static variable.
bool install_simplifier(Simplifier simplifier);

}  // namespace tgc
