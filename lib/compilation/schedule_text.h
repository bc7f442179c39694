// Converts schedules to the GoldenKernels of golden records, and these to text, so that schedules can be compared.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/records/golden.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// Returns the kernels of the schedule in order, with their buffers. A view becomes its base buffer and an offset.
Result<std::vector<GoldenKernel>> golden_kernels(const Schedule& schedule);

// Returns one line for each kernel, for each of its buffers ("BASE+OFFSET SIZE DTYPE"), and for each variable's value.
std::string kernels_text(const std::vector<GoldenKernel>& kernels, const std::map<std::string, int64_t>& var_vals);

}  // namespace tgc
