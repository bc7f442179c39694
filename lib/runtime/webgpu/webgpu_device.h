// WebGPU through wgpu-native, whose library is in PyPI's package `wgpu`. It runs on a GPU's driver or on Vulkan in
// software (Debian's mesa-vulkan-drivers). The driver compiles WGSL (tinygrad runtime/ops_webgpu.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_webgpu_device();

}  // namespace tgc
