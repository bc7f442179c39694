// Schedules as golden records hold them, and as text.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/text/golden.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// The kernels in order, with their buffers; a view is given as its place in the buffer that it is of.
Result<std::vector<GoldenKernel>> golden_kernels(const Schedule& schedule);

// The kernels, their buffers "BASE+OFFSET SIZE DTYPE", and the values of the variables, one fact a line.
std::string kernels_text(const std::vector<GoldenKernel>& kernels, const std::map<std::string, int64_t>& var_vals);

}  // namespace tgc
