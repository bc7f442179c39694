// Tensors on several devices. A MULTI is a tensor sharded along one axis: each device holds one part. Each op on a
// MULTI becomes an op on the parts. Mirrors tinygrad schedule/multi.py and the multi-device helpers of uop/ops.py.
#pragma once
#include "passes/tensor/tensor_job.h"

namespace tgc {

// ---- functions that create nodes for several devices
UOp device_node(Graph& graph, Arg device);                 // DEVICE; `device` is a name or a tuple of names
UOp mselect(UOp u, int64_t device);                        // the part of `u` on device number `device`
UOp mstack(UOp like, std::span<const UOp> parts);          // one value from a part per device; has the dtype of `like`
UOp multi(UOp part, int64_t axis);                         // throws Failure unless `part` is on several devices
UOp copy_to_device(UOp u, Arg device);
UOp copy_to_device(UOp u, Arg device, int64_t from);       // copies the part of `u` on device number `from`
UOp allreduce(UOp u, Op op, UOp device);
UOp device_number_in(UOp u);                               // the variable _device_num that `u` depends on, or empty
// `u` is a value of which every device has a full copy. Shrinks each copy to the device's part (UOp._shard).
UOp shard(UOp u, int64_t axis);
// Pads each device's part with zeros to the size of the whole value (UOp._unshard).
UOp unshard(UOp u, int64_t axis);

// ---- rule sets and stages
const RuleSet& multi_pm();           // ops on MULTI -> ops on the parts; includes replace_allreduce()
const RuleSet& replace_allreduce();  // expands ALLREDUCE, and copies between one device and several

// Runs the stage "multi_pm": replaces every MULTI by its parts. Records job.scheduled and job.multi_map.
// Returns `sink` unchanged if the whole graph is on one device.
UOp rewrite_multi(TensorJob& job, UOp sink);
bool is_multi_device(UOp sink);  // true if some node is on several devices

}  // namespace tgc
