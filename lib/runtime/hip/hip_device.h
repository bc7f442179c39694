// AMD GPUs through the HIP runtime, found at run time (TGC_HIP_LIBRARY names another library). Kernels come as code
// objects that lib/compile makes of HIP or LLVM IR (tinygrad runtime/ops_hip.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_hip_device();

}  // namespace tgc
