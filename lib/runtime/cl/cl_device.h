// OpenCL devices, through the ICD loader that is found at run time (TGC_OPENCL_LIBRARY names another one): a GPU where
// there is one, else what the platform has, PoCL on a machine without (tinygrad runtime/ops_cl.py).
// The driver compiles.
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cl_device();

}  // namespace tgc
