// AMD GPUs through the HIP runtime, loaded at run time (TGC_HIP_LIBRARY names another library). lib/compile compiles
// HIP or LLVM IR to code objects (tinygrad runtime/ops_hip.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_hip_device();

}  // namespace tgc
