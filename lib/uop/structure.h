// What every node has, whatever graph it is in: as many sources as its op needs, and an arg of its kind. Code
// everywhere relies on it, so readers ask before they make a node. It says nothing of what makes sense; that is
// lib/spec.
#pragma once
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// What is wrong with such a node, "Ops.STORE with 1 source, needs 2 or more"; empty when nothing is.
std::string structure_trouble(Op op, DType dtype, std::span<const UOp> src, Arg arg);

}  // namespace tgc
