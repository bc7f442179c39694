// Tensors on several devices: a MULTI is one tensor whose axis is divided among devices; each op on it becomes an op on
// the parts. Mirrors tinygrad schedule/multi.py and the multi-device helpers of uop/ops.py.
#pragma once
#include "passes/tensor/tensor_job.h"

namespace tgc {

// ---- nodes
UOp device_node(Graph& graph, Arg device);                 // DEVICE
UOp mselect(UOp u, int64_t device);                        // the part of that device, of a value on several
UOp mstack(UOp like, std::span<const UOp> parts);          // one value of its parts, with the dtype of `like`
UOp multi(UOp part, int64_t axis);                         // throws Failure unless `part` is on several devices
UOp copy_to_device(UOp u, Arg device);
UOp copy_to_device(UOp u, Arg device, int64_t from);       // of a value on several devices, that device's part
UOp allreduce(UOp u, Op op, UOp device);
// of a value whole on every device, each device's part (UOp._shard)
UOp shard(UOp u, int64_t axis);
// each device's part, padded with 0 to the whole (UOp._unshard)
UOp unshard(UOp u, int64_t axis);

// ---- rules
const RuleSet& multi_pm();           // ops on MULTI -> ops on their parts; holds replace_allreduce()
const RuleSet& replace_allreduce();  // ALLREDUCE, and copies between one device and several

// "multi_pm": the graph on single values, with what became of each node noted in the job;
// the same sink when all is on one device.
UOp rewrite_multi(TensorJob& job, UOp sink);
bool is_multi_device(UOp sink);

}  // namespace tgc
