// Finds kernels whose results depend on the order of their iterations, and the elements that a kernel accesses.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"

namespace tgc {

struct Hazard {
  std::string buffer;   // name of the argument through which the element is loaded, such as "data0"
  int64_t element = 0;
  // values of the loops, by name (such as "r0"), in the storing iteration and in the loading iteration
  std::map<std::string, int64_t> store_iteration, load_iteration;
  int64_t num_iterations = 0;
  bool is_store_first = false;  // the storing iteration is the earlier one, so the new value is loaded even in order
  std::string text() const;
};

struct ArgumentPlace {
  size_t memory_number = 0;  // arguments with the same number are parts of one allocation
  int64_t offset_bytes = 0;  // where the argument begins in the allocation
};

// Returns a hazard between two iterations of the loops around a store of `ast`, the AST of a kernel; nullopt if none is
// found. Prefers a hazard with `is_store_first`. `places` has the places of the arguments, by slot; if it is empty,
// each argument has its own memory. With `only_shared`, considers only loads through another argument than the store's.
std::optional<Hazard> find_hazard(UOp ast, const VariableValues& variables,
                                  const std::vector<ArgumentPlace>& places = {}, bool only_shared = false);

// Returns the elements of the buffer `slot` that `ast`, the AST of a kernel, stores (if `stores` is true) or loads,
// sorted and without duplicates; nullopt if they cannot be computed.
std::optional<std::vector<int64_t>> accessed_elements(UOp ast, int64_t slot, bool stores,
                                                      const VariableValues& variables);

}  // namespace tgc
