// The simplifier behind UOp::simplify(). Shapes hold symbolic sizes that this room must simplify, but the rules are in
// passes/symbolic, above it. That room installs its function here at start-up.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

using Simplifier = UOp (*)(UOp);

// Makes `simplifier` the function that UOp::simplify() calls for anything but a constant. Returns true, so that a
// static variable can be initialized with the call.
bool install_simplifier(Simplifier simplifier);

}  // namespace tgc
