// The stage "lower all index dtypes": expressions of dtype index become int32, or int64 if their bounds require it
// (tinygrad uop/ops.py:pm_lower_index_dtype). A cast to index marks the border between lowered sources and users that
// are not lowered yet. The casts move towards the users, until an INDEX, SINK, NOOP or END removes them.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_lower_index_dtype();
const RuleSet& lower_index_dtype_stage();  // all rules of the stage

}  // namespace tgc
