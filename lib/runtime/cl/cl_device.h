// OpenCL devices, through the ICD loader, which is loaded at run time (TGC_OPENCL_LIBRARY names another library). Uses
// the first GPU or, without a GPU, the first platform's default device, such as PoCL (tinygrad runtime/ops_cl.py). The
// driver compiles the kernels.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cl_device();

}  // namespace tgc
