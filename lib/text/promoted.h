// Promotes dtypes as the operators of tinygrad 0.14 do, to infer dtypes that pyrender texts of 0.14 do not state.
#pragma once
#include <optional>

#include "lib/dtype/dtype.h"

namespace tgc {

// Returns the dtype that two scalar dtypes of 0.14 promote to (dtype.py:least_upper_dtype); nullopt if tinygrad raises.
std::optional<DType> promoted_0_14(DType a, DType b);

}  // namespace tgc
