// Computes the values of tensors. Constants and buffers whose values are in host memory ("known") are read directly;
// all other tensors are scheduled and run (lib/execute/schedule_run.h).
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

// Runs the tensors, which must be of one graph, and returns their values with the statistics of the run. Throws Failure
// if a tensor depends on a buffer without known values, or if scheduling or a kernel fails.
ScheduleResult realize(std::span<const Tensor> tensors, ScheduleRunner& runner, const ScheduleOptions& options = {});

// Computes the tensors in the reference interpreter (REF).
std::vector<Array> realize(std::span<const Tensor> tensors);

// Returns the values of a tensor that needs no kernel: an empty tensor, a constant (also expanded), a buffer with known
// values, or a reshape or CONTIGUOUS of one of these. Returns nullopt for other tensors.
std::optional<Array> available_value(const Tensor& tensor);

// Returns the non-empty buffers with unknown values that the tensors depend on.
std::vector<UOp> unknown_buffers(std::span<const Tensor> tensors);

// State shared by the tensors of one graph: the device, the UNIQUE counter, and the buffers whose values are in memory.
struct TensorState {
  std::string device = "CPU";
  int64_t next_unique_number = 0;                      // number of the next UNIQUE; they are numbered from 0
  std::unordered_map<UOp, HostData> buffer_data = {};  // by BUFFER: its bytes, if its values are known
};

inline TensorState& tensor_state(Graph& graph) { return graph.extension<TensorState>(); }
inline UOp device_node(Graph& graph) {
  return graph.node(Op::DEVICE, dtypes::void_, {}, graph.str(tensor_state(graph).device));
}
inline UOp next_unique_node(Graph& graph) {
  return graph.node(Op::UNIQUE, dtypes::void_, {}, tensor_state(graph).next_unique_number++);
}

}  // namespace tgc
