// Finds the device that a tensor graph was recorded on. Its record names no target, but its buffers name a device.
#pragma once
#include <string>

#include "lib/compilation/input_graph.h"

namespace tgc {

// Returns the device of the graph's outputs as a target: "CUDA" for buffers on "CUDA:1". Empty: the CPU, a device that
// tgc has no target for, or a graph that is not a tensor graph.
std::string recorded_device(const InputGraph& in);

}  // namespace tgc
