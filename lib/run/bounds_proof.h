// Proves that every access of a kernel stays within its buffer, as tinygrad does if IGNORE_OOB=0 (uop/validate.py).
// Uses the index's vmin and vmax; if these do not suffice, asks Z3. libz3 is loaded at the first such question.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

// An access that may be out of bounds.
struct OutOfBounds {
  UOp access;              // the INDEX
  size_t position = 0;     // index of the access in the list
  std::string index, gate; // the index and its condition as infix text; `gate` is "" if the access has no condition
  // number of elements accessed at once; number of bytes if the INDEX is an address (PTX)
  int64_t num_accessed = 1;
  int64_t buffer_size = 0;  // size of the buffer, in the same unit as `num_accessed`
  bool is_proven = true;    // true: Z3 found a counterexample; false: Z3 timed out, or cannot express an op exactly
  // the variables and their values in the counterexample, such as ("gidx0", "16"), last the index; empty: Z3 found none
  std::vector<std::pair<std::string, std::string>> node_values;

  std::string text() const;
};

struct BoundsProof {
  // numbers of: accesses; those proven by vmin and vmax; those by Z3
  size_t num_accesses = 0, num_by_bounds = 0, num_by_z3 = 0;
  std::vector<OutOfBounds> failures;
};

// Checks the access of every INDEX of `nodes` (a graph in toposort order, or a linear list), except those into images,
// into buffers without a size, and with a vector or Invalid as index. Fails if libz3 is needed and missing, or if it
// rejects an expression.
Result<BoundsProof> prove_bounds(std::span<const UOp> nodes);

}  // namespace tgc
