// Proves that the accesses of a kernel stay within their buffers, as tinygrad 0.12 does if IGNORE_OOB=0
// (uop/validate.py).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

struct OutOfBoundsAccess {
  UOp access;
  size_t node_index = 0;   // index of `access` in the nodes that prove_access_bounds() was given
  std::string index, gate;  // infix texts; `gate` is "" if the access has no condition
  // number of elements accessed at once; of bytes if the INDEX is an address (PTX)
  int64_t num_accessed = 1;
  int64_t buffer_size = 0;  // in the unit of `num_accessed`
  bool is_proven = true;    // true: Z3 found a counterexample; false: Z3 gave no answer, or an op has no exact form
  // Z3's counterexample: variables such as ("gidx0", "16"), then the index
  std::vector<std::pair<std::string, std::string>> node_values;

  std::string text() const;
};

struct BoundsProof {
  size_t num_accesses = 0, num_proven_by_bounds = 0, num_proven_by_z3 = 0;
  std::vector<OutOfBoundsAccess> failed_accesses;
};

// Checks the INDEX nodes of `nodes` (a graph in toposort order, or a linear list), except those into images, into
// anything else than a buffer with a size, and with a vector or Invalid as index. Fails if libz3 is needed and missing,
// or if it rejects an expression.
Result<BoundsProof> prove_access_bounds(std::span<const UOp> nodes);

}  // namespace tgc
