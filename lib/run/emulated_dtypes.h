// The arrays of a kernel at stages that emulate dtypes.
#pragma once
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

// Gives each array the dtype of the buffer of its name. tinygrad emulates dtypes: a bfloat16 buffer becomes one of
// uint16, and a buffer of n longs one of 2n ints.
Arrays with_dtypes_of(const Arrays& arrays, const std::vector<BufferSpec>& buffers);

}  // namespace tgc
