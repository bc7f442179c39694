// The factories of tgc's devices, except REF (ref/ref.h). A backend that needs a driver's library loads it when a
// device is opened.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

// This computer's CPU. Kernels are C or LLVM IR (target CPU:CLANG or CPU:LLVM) that lib/compile compiles to
// an object, which is loaded into this process. The groups of the first launch dimension are tinygrad's THREAD axis:
// each is one call of the kernel, usually on its own thread, with the group's number as an argument, usually the last
// (tinygrad runtime/ops_cpu.py).
std::unique_ptr<Device> make_cpu_device(const std::string& renderer);  // `renderer`: "LLVM" or "CLANG"

// OpenCL devices, through the ICD loader, which is loaded at run time (TGC_OPENCL_LIBRARY names another library). Uses
// the first GPU or, without a GPU, the default device of the first platform that has one, such as PoCL (tinygrad
// runtime/ops_cl.py). The driver compiles the kernels.
std::unique_ptr<Device> make_cl_device();

// NVIDIA GPUs through the CUDA driver API, loaded at run time (TGC_CUDA_LIBRARY names another library). Needs libcuda
// only, no toolkit. lib/compile compiles CUDA C to PTX; the driver compiles PTX (tinygrad runtime/ops_cuda.py).
std::unique_ptr<Device> make_cuda_device();

// AMD GPUs through the HIP runtime, loaded at run time (TGC_HIP_LIBRARY names another library). lib/compile compiles
// HIP or LLVM IR to code objects (tinygrad runtime/ops_hip.py).
std::unique_ptr<Device> make_hip_device();

// Apple GPUs through Metal. Calls the C functions of the Objective-C runtime, so building tgc needs neither an
// Objective-C compiler nor an SDK. The libraries are loaded at run time; only macOS has them. The driver compiles the
// kernels (tinygrad runtime/ops_metal.py).
std::unique_ptr<Device> make_metal_device();

// Metal without an Apple GPU: clang, not Apple's compiler, compiles the kernels, which run on this computer's CPU with
// every access checked (lib/emulate/metal). Used for METAL only on request (emulated.h).
std::unique_ptr<Device> make_emulated_metal_device();

// WebGPU through wgpu-native, whose library is in PyPI's package `wgpu`. It runs on a GPU's driver or on Vulkan in
// software (Debian's mesa-vulkan-drivers). The driver compiles WGSL (tinygrad runtime/ops_webgpu.py).
std::unique_ptr<Device> make_webgpu_device();

}  // namespace tgc
