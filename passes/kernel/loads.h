// Memory access in the kernel pipeline (tinygrad codegen/late/devectorizer.py): from indexes to loads and stores of the widths that the
// target can do.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_add_loads();  // an index that is read becomes a pointer and a load

}  // namespace tgc
