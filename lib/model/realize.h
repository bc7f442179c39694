// Values of tensors: schedules their graphs and runs the kernels. On REF here: what graph building needs to know is small.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/model/tensor.h"
#include "lib/runtime/array.h"

namespace tgc {

// The values of the tensors. Throws Failure when a buffer below has no known values, or a kernel cannot be run.
std::vector<Array> realize(std::span<const Tensor> tensors);

// The values of a tensor when no kernel has to run for them: known bytes, or one constant all over.
std::optional<Array> plain_value(const Tensor& tensor);

// Tensors, apart: those whose values are known without a kernel, and those that kernels have to make.
struct Unrealized {
  std::vector<Array> values;  // one a tensor; empty where a kernel has to make it
  std::vector<UOp> graphs;    // of those, contiguous
  std::vector<size_t> which;  // the tensor of each graph
};
Unrealized split_plain_values(std::span<const Tensor> tensors);

// The buffers below the tensors whose values are not known.
std::vector<UOp> unknown_buffers(std::span<const Tensor> tensors);

}  // namespace tgc
