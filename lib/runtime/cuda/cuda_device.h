// NVIDIA GPUs through the CUDA driver API, found at run time (TGC_CUDA_LIBRARY names another library): libcuda alone,
// no toolkit. CUDA C is compiled to PTX by lib/compile (NVRTC),
// PTX needs no compiler but the driver's (tinygrad runtime/ops_cuda.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cuda_device();

}  // namespace tgc
