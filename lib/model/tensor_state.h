// State shared by the tensors of one graph: the device, the UNIQUE counter, and the buffers whose values are in memory.
#pragma once
#include <string>
#include <unordered_map>

#include "lib/runtime/array.h"
#include "lib/uop/graph.h"

namespace tgc {

struct TensorState {
  std::string device = "CPU";
  int64_t uniques = 0;                          // number of the next UNIQUE; also how many were made
  std::unordered_map<UOp, HostData> data = {};  // the bytes of each BUFFER whose values are known
};

inline TensorState& tensor_state(Graph& graph) { return graph.extension<TensorState>(); }
inline UOp device_node(Graph& graph) {
  return graph.node(Op::DEVICE, dtypes::void_, {}, graph.str(tensor_state(graph).device));
}
inline UOp next_unique(Graph& graph) {
  return graph.node(Op::UNIQUE, dtypes::void_, {}, tensor_state(graph).uniques++);
}

}  // namespace tgc
