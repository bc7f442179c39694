// Finds kernels whose result depends on the order of their iterations: one iteration loads an element that another one
// stores. A device may run iterations in any order or at once.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"

namespace tgc {

struct Hazard {
  std::string buffer;  // "data0"
  int64_t element = 0;
  std::map<std::string, int64_t> stores, loads;  // the values of the loops of the two iterations
  int64_t iterations = 0;  // iterations of the loops around the store
  bool stores_first = false;  // the storing iteration comes first, so that a loop in order loads the new element, too
  // "iteration r0=8 loads data0[8], which iteration r0=0 stores: the result depends on their order"
  std::string text() const;
};

// Where an argument of a kernel is in memory.
struct ArgumentPlace {
  size_t memory = 0;   // arguments with the same number are parts of one memory
  int64_t offset = 0;  // in bytes
};

// Returns a hazard between two iterations of the loops around a store of `ast`, the AST of a kernel, if possible one
// with `stores_first`; nullopt if there is none. `places`: of the arguments, by slot; empty: each has memory of its
// own. Skips an access whose index depends on loaded values, and loops with more than 4M accesses. With `only_shared`,
// looks only at loads through another argument than the store's.
std::optional<Hazard> find_hazard(UOp ast, const VariableValues& variables,
                                  const std::vector<ArgumentPlace>& places = {}, bool only_shared = false);

// Returns the elements of the buffer `slot` that `ast`, the AST of a kernel, stores to, or loads: sorted, without
// duplicates; nullopt if they are not known.
std::optional<std::vector<int64_t>> accessed_elements(UOp ast, int64_t slot, bool stores,
                                                      const VariableValues& variables);

}  // namespace tgc
