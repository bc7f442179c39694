// NVIDIA GPUs through the CUDA driver API, loaded at run time (TGC_CUDA_LIBRARY names another library). Needs libcuda
// only, no toolkit. lib/compile compiles CUDA C to PTX (NVRTC); the driver compiles PTX (tinygrad runtime/ops_cuda.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cuda_device();

}  // namespace tgc
