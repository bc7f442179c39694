// Metal without an Apple GPU: clang, not Apple's compiler, compiles the kernels, which run on this computer's CPU with
// every access checked (lib/emulate/metal). Used for METAL only with --emulate.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_emulated_metal_device();

}  // namespace tgc
