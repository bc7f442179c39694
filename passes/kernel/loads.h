// Memory accesses in the kernel pipeline (tinygrad codegen/late/devectorizer.py): lowers INDEX nodes to loads and
// stores of widths that the target supports.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_add_loads();        // INDEX of a value -> pointer INDEX and LOAD
const RuleSet& load_store_indexing(); // simplifies the index of an access by its gate; drops gate clauses of images
const RuleSet& load_store_folding();  // merges accesses of neighbouring elements into vector accesses
// splits accesses into the target's widths, addresses images by pixel; context: const Target
const RuleSet& correct_load_store();

}  // namespace tgc
