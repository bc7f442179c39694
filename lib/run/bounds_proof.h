// Proofs that a kernel stays inside its buffers: what tinygrad does under IGNORE_OOB=0 (uop/validate.py). Each access
// whose bounds do not settle it is given to Z3, as an SMT-LIB text;
// libz3 is loaded when the first such access comes, and nothing else pays for it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

// An access that may lie outside of its buffer.
struct OutOfBounds {
  UOp access;              // the INDEX
  size_t position = 0;     // in the list
  std::string index, gate; // as infix text; no gate: empty
  int64_t width = 1;       // elements that are read or written at once; bytes, where the INDEX is an address (PTX)
  int64_t size = 0;        // of the buffer, likewise
  bool proven = true;      // Z3 has found values; else it did not come to an end, or an op has no exact meaning there
  // that lead outside: "gidx0" = "16"; the last is the index itself
  std::vector<std::pair<std::string, std::string>> values;

  std::string text() const;
};

struct BoundsProof {
  size_t accesses = 0, by_bounds = 0, by_z3 = 0;  // all; settled by least and greatest value; proven by Z3
  std::vector<OutOfBounds> failures;
};

// Looks at every INDEX of `nodes` (a graph in toposort order or a linear list).
// An error when Z3 is needed and not there.
Result<BoundsProof> prove_bounds(std::span<const UOp> nodes);

}  // namespace tgc
