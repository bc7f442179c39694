// Values of tensors: what no kernel has to make is known at once, the rest is scheduled and run
// (lib/execute/schedule_run.h).
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lib/execute/schedule_run.h"
#include "lib/model/tensor.h"

namespace tgc {

// The values of the tensors, which are of one graph, and how the run went. Throws Failure when a buffer below has no
// known values, or a kernel cannot be run.
ScheduleResult realize(std::span<const Tensor> tensors, ScheduleRunner& runner, const ScheduleOptions& options = {});

// The same on REF, for what graph building needs to know: that is small.
std::vector<Array> realize(std::span<const Tensor> tensors);

// The values of a tensor when no kernel has to run for them: known bytes, or one constant all over.
std::optional<Array> plain_value(const Tensor& tensor);

// The buffers below the tensors whose values are not known.
std::vector<UOp> unknown_buffers(std::span<const Tensor> tensors);

}  // namespace tgc
