// "lower all index dtypes": expressions of dtype index become int32,
// or int64 where their bounds need it (tinygrad uop/ops.py:
// pm_lower_index_dtype). Casts to index mark the border and move outward, until the INDEX,
// RANGE or SINK at the top takes them away.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_lower_index_dtype();
const RuleSet& lower_index_dtype_stage();  // the stage "lower all index dtypes"

}  // namespace tgc
