// The factories of tgc's devices, except REF (ref/ref.h). A driver's library is loaded when the device is opened.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

// The CPU calls the kernel once for each group of the first launch dimension, with the group's number as an argument
// (tinygrad runtime/ops_cpu.py). `renderer` is "LLVM" or "CLANG".
std::unique_ptr<Device> make_cpu_device(const std::string& renderer);

// OpenCL devices, through the ICD loader or the library that TGC_OPENCL_LIBRARY names (tinygrad runtime/ops_cl.py).
std::unique_ptr<Device> make_cl_device();

// NVIDIA GPUs, through libcuda or the library that TGC_CUDA_LIBRARY names (tinygrad runtime/ops_cuda.py).
std::unique_ptr<Device> make_cuda_device();

// AMD GPUs, through the HIP runtime or the library that TGC_HIP_LIBRARY names (tinygrad runtime/ops_hip.py).
std::unique_ptr<Device> make_hip_device();

// Apple GPUs, through the C functions of the Objective-C runtime, so that building tgc needs no Objective-C compiler
// (tinygrad runtime/ops_metal.py).
std::unique_ptr<Device> make_metal_device();

// Metal without an Apple GPU: clang compiles the kernels, which run on this computer's CPU with checked accesses
// (lib/emulate/metal).
std::unique_ptr<Device> make_emulated_metal_device();

// WebGPU, through wgpu-native or the library that TGC_WEBGPU_LIBRARY names (tinygrad runtime/ops_webgpu.py).
std::unique_ptr<Device> make_webgpu_device();

}  // namespace tgc
