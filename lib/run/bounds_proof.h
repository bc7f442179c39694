// Proves that a kernel stays within its buffers, as tinygrad does if IGNORE_OOB=0 (uop/validate.py). If the vmin and
// vmax of an index do not prove it, Z3 gets the access as SMT-LIB text. libz3 is loaded when it is first needed.
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
  std::string index, gate; // the index and its condition ("gate") as infix text; without a condition, `gate` is ""
  int64_t width = 1;       // number of elements accessed at once; of bytes if the INDEX is an address (PTX)
  int64_t size = 0;        // size of the buffer, in the same unit as `width`
  bool proven = true;      // Z3 found a counterexample; false: Z3 did not finish, or cannot express an op exactly
  // the counterexample, as pairs such as ("gidx0", "16"); the last pair is the index itself
  std::vector<std::pair<std::string, std::string>> values;

  std::string text() const;
};

struct BoundsProof {
  size_t accesses = 0, by_bounds = 0, by_z3 = 0;  // all accesses; those proven by vmin and vmax; by Z3
  std::vector<OutOfBounds> failures;
};

// Checks every INDEX of `nodes` (a graph in toposort order, or a linear list). An error: Z3 is needed but not found.
Result<BoundsProof> prove_bounds(std::span<const UOp> nodes);

}  // namespace tgc
