// Apple GPUs through Metal. Calls the C functions of the Objective-C runtime, so building tgc needs neither an
// Objective-C compiler nor an SDK. The libraries are loaded at run time; only macOS has them. The driver compiles the
// kernels (tinygrad runtime/ops_metal.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_metal_device();

}  // namespace tgc
