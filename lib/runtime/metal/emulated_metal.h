// Metal without an Apple GPU: kernels compiled by clang, not by Apple's compiler, and run on this computer's CPU with
// every access checked (lib/emulate/metal). Made for METAL with --emulate alone.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_emulated_metal_device();

}  // namespace tgc
