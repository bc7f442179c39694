// Apple GPUs through Metal, by way of the Objective-C runtime's C functions: no Objective-C compiler and no SDK is
// needed to build this. Both libraries are found at run time; only macOS has them.
// The driver compiles (tinygrad runtime/ops_metal.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_metal_device();

}  // namespace tgc
