// Memory access in the kernel pipeline (tinygrad codegen/late/devectorizer.py): from indexes to loads and stores of the
// widths that the target can do.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_add_loads();        // an index that is read becomes a pointer and a load
const RuleSet& load_store_indexing(); // the gate of an access and its index, each simplified by the other
const RuleSet& load_store_folding();  // neighbouring elements become one vector access
// accesses of the widths the target has, images by their coordinates; the context is a const Target
const RuleSet& correct_load_store();

}  // namespace tgc
