// OpenCL devices, through the ICD loader, which is loaded at run time (TGC_OPENCL_LIBRARY names another library). Uses
// a GPU if there is one, else the platform's other device, such as PoCL (tinygrad runtime/ops_cl.py). The driver
// compiles.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cl_device();

}  // namespace tgc
