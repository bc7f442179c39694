// Computes the values of tensors, and has the state that the tensors of a graph share.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/execute/schedule_run.h"
#include "lib/model/tensor.h"
#include "lib/runtime/array.h"
#include "lib/uop/graph.h"

namespace tgc {

// Computes the values of tensors, which must be of one graph. Throws Failure if scheduling or running fails.
ScheduleResult realize(std::span<const Tensor> tensors, ScheduleRunner& runner, const ScheduleOptions& options = {});

// Computes the tensors in REF.
std::vector<Array> realize(std::span<const Tensor> tensors);

// Returns the values of a tensor if they are known without running a kernel, as for a constant; else nullopt.
std::optional<Array> find_available_value(const Tensor& tensor);

// Returns the non-empty buffers without known values on which the tensors depend.
std::vector<UOp> unknown_buffers(std::span<const Tensor> tensors);

// State shared by the tensors of one graph.
struct SharedTensorState {
  std::string device = "CPU";
  int64_t next_unique_number = 0;
  std::unordered_map<UOp, HostData> buffer_data = {};  // bytes of the BUFFERs whose values are known
};

inline SharedTensorState& shared_tensor_state(Graph& graph) { return graph.extension<SharedTensorState>(); }
inline UOp device_node(Graph& graph) {
  return graph.node(Op::DEVICE, dtypes::void_, {}, graph.str(shared_tensor_state(graph).device));
}
inline UOp next_unique_node(Graph& graph) {
  return graph.node(Op::UNIQUE, dtypes::void_, {}, shared_tensor_state(graph).next_unique_number++);
}

}  // namespace tgc
