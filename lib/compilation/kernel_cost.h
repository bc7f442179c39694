// Counts the arithmetic operations of a kernel, and the bytes that it reads and writes. Counts on the AST, so that the
// counts do not depend on optimizations.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

struct KernelCost {
  // operations on values, not on indices; a reduction of n values counts n, a MULACC counts 2
  double num_operations = 0;
  double bytes_read = 0;     // summed over the accesses; for each buffer at most its size
  double bytes_written = 0;  // summed over the STOREs; for each buffer at most its size
  double total_bytes() const { return bytes_read + bytes_written; }
};

// Returns the cost of one launch of the kernel `ast`. A RANGE whose size is a variable counts with its largest value.
KernelCost cost_of_ast(UOp ast);

}  // namespace tgc
