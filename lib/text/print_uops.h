// print_uops: tinygrad's listing of a linear list, one line a node: position, op, the ranges it lies in (coloured), dtype, sources by
// position (constants by value, "--" for a node outside the list) and arg (ops.py print_uops).
#pragma once
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Each line ends with a newline; an empty list gives an empty text.
std::string print_uops(std::span<const UOp> list);

}  // namespace tgc
