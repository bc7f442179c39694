// Apple GPUs through Metal. Calls the Objective-C runtime's C functions, so building needs no Objective-C compiler and
// no SDK. The libraries are loaded at run time; only macOS has them. The driver compiles (tinygrad
// runtime/ops_metal.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_metal_device();

}  // namespace tgc
