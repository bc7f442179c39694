// The dtypes of 0.14's operators, which promote their operands: a dtype that its texts leave out follows from them.
#pragma once
#include <optional>

#include "lib/dtype/dtype.h"

namespace tgc {

// What two dtypes of 0.14, both scalars, promote to (dtype.py least_upper_dtype); nullopt where tinygrad raises.
std::optional<DType> promoted_0_14(DType a, DType b);

}  // namespace tgc
