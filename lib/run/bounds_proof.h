// Proves that a kernel stays within its buffers, as tinygrad does under IGNORE_OOB=0 (uop/validate.py). Accesses that
// bounds do not settle are given to Z3 as SMT-LIB text; libz3 is loaded for the first of them.
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
  size_t position = 0;     // in the list
  std::string index, gate; // as infix text; empty if there is no gate
  int64_t width = 1;       // elements accessed at once; bytes if the INDEX is an address (PTX)
  int64_t size = 0;        // of the buffer, in the same unit
  bool proven = true;      // Z3 found a counterexample; else Z3 did not finish, or an op has no exact meaning there
  // the counterexample: "gidx0" = "16"; the last is the index itself
  std::vector<std::pair<std::string, std::string>> values;

  std::string text() const;
};

struct BoundsProof {
  size_t accesses = 0, by_bounds = 0, by_z3 = 0;  // all; proven by bounds; proven by Z3
  std::vector<OutOfBounds> failures;
};

// Checks every INDEX of `nodes` (a graph in toposort order or a linear list). An error: Z3 is needed and missing.
Result<BoundsProof> prove_bounds(std::span<const UOp> nodes);

}  // namespace tgc
