// A gate as a value: what throwing BottomUpGate says, for rules that say it often. An exception costs as much as a thousand rules tried.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

inline const Node kBottomUpGate{};

// An action of a bottom-up rewrite returns it: keep this node as it is and do not go below it (ops.py BottomUpGate).
inline UOp bottom_up_gate() { return UOp(&kBottomUpGate); }

}  // namespace tgc
