// Proves that every access of a kernel stays within its buffer, as tinygrad does if IGNORE_OOB=0 (uop/validate.py).
// Uses vmin and vmax of the index; if these do not suffice, uses the solver Z3. libz3 is loaded at its first use.
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
  size_t position = 0;     // index of `access` in the nodes that prove_bounds() checked
  std::string index, gate; // the index and its condition as infix text; `gate` is "" if the access has no condition
  // number of elements accessed at once; number of bytes if the INDEX is an address (PTX)
  int64_t num_accessed = 1;
  int64_t buffer_size = 0;  // size of the buffer, in the same unit as `num_accessed`
  bool is_proven = true;    // true: Z3 found a counterexample; false: Z3 gave no answer, or an op has no exact form
  // the variables and their values in the counterexample, such as ("gidx0", "16"), last the index; empty: Z3 found none
  std::vector<std::pair<std::string, std::string>> node_values;

  std::string text() const;
};

struct BoundsProof {
  // numbers of accesses: all that were checked, those proven by vmin and vmax, and those proven by Z3
  size_t num_accesses = 0, num_by_bounds = 0, num_by_z3 = 0;
  std::vector<OutOfBounds> failures;
};

// Checks the access of every INDEX of `nodes` (a graph in toposort order, or a linear list), except those into images,
// into anything else than a buffer with a size, and with a vector or Invalid as index. Fails if libz3 is needed and
// missing, or if it rejects an expression.
Result<BoundsProof> prove_bounds(std::span<const UOp> nodes);

}  // namespace tgc
