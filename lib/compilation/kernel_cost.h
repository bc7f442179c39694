// Counts what a kernel has to do, on its AST: arithmetic operations, and bytes that it must read and write at least.
// The counts do not depend on how the kernel is optimized, in contrast to tinygrad's estimate, which counts its linear
// list.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

struct KernelCost {
  double ops = 0;      // arithmetic of values, not of addresses and gates; a reduction of n elements counts n
  double read = 0;     // bytes of different elements that are read, if each is read once
  double written = 0;  // bytes of different elements that are written
  double bytes() const { return read + written; }
};

// Returns the cost of one launch of the kernel `ast`. A RANGE whose size is a variable counts with its largest value.
KernelCost cost_of(UOp ast);

}  // namespace tgc
