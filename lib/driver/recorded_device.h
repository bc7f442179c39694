// Finds the device on which a tensor graph was recorded: the record names no target, but the buffers name a device.
#pragma once
#include <string>

#include "lib/compilation/input_graph.h"

namespace tgc {

// Returns the device of the graph's outputs as a target: "CUDA" for buffers on "CUDA:1". Returns "" if the device is
// the CPU or one for which tgc has no target, or if the graph is not a tensor graph.
std::string recorded_device(const InputGraph& in);

}  // namespace tgc
