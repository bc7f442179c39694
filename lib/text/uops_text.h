// print_uops: tinygrad's listing of a linear program, one line a node (uop/ops.py print_uops).
#pragma once
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// The listing, every line with its end. Loop ranges are coloured as tinygrad colours them unless `color` is false.
std::string print_uops(std::span<const UOp> list, bool color = true);

}  // namespace tgc
