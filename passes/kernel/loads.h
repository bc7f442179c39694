// Memory accesses in the kernel pipeline (tinygrad codegen/late/devectorizer.py): lowers INDEX nodes to loads and
// stores of widths that the target supports.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

// Returns `count` consecutive numbers from `first`, as indices for UOp::gep.
inline std::vector<int64_t> consecutive(int64_t first, int64_t count) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; i++) out.push_back(first + i);
  return out;
}

const RuleSet& pm_add_loads();        // INDEX of a value -> pointer INDEX and LOAD
const RuleSet& load_store_indexing(); // simplifies the index of an access by its gate; drops gate clauses of images
const RuleSet& load_store_folding();  // merges accesses of neighbouring elements into vector accesses
// splits accesses into the target's widths, addresses images by pixel; context: const Target
const RuleSet& correct_load_store();

}  // namespace tgc
