// The device that a tensor graph was recorded on: a kernel's record names its target, a tensor graph's does not, but
// its buffers are on a device.
#pragma once
#include <string>

#include "lib/compilation/input_graph.h"

namespace tgc {

// The device of what the graph stores, as --target takes it: "CUDA" of buffers on "CUDA:1". Empty: the CPU's, a device
// that tgc knows no target for, or no tensor graph.
std::string recorded_device(const InputGraph& in);

}  // namespace tgc
