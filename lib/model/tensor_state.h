// What the tensors of one graph share: their device, the numbers of its buffers, and the bytes of the buffers whose values are known.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "lib/uop/graph.h"

namespace tgc {

// The bytes of a buffer: of a mapped file, of an input, or made here; at any address. `owner` keeps them alive.
struct HostData {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner = {};
  bool mapped = false;  // pages of a file, which the system can read again
};

struct TensorState {
  std::string device = "CPU";
  int64_t uniques = 0;                          // UNIQUEs given out
  std::unordered_map<UOp, HostData> data = {};  // by BUFFER
};

inline TensorState& tensor_state(Graph& graph) { return graph.extension<TensorState>(); }
inline UOp device_node(Graph& graph) { return graph.node(Op::DEVICE, dtypes::void_, {}, graph.str(tensor_state(graph).device)); }
inline UOp next_unique(Graph& graph) { return graph.node(Op::UNIQUE, dtypes::void_, {}, tensor_state(graph).uniques++); }

}  // namespace tgc
