// The CPU of this computer. Kernels are C or LLVM IR (target CPU:CLANG or CPU:LLVM) that lib/compile compiles to an
// object, which is loaded into this process. The groups of the first launch dimension are tinygrad's THREAD axis: each
// is one call of the kernel on its own thread, with the group's number as the last argument (tinygrad
// runtime/ops_cpu.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cpu_device(const std::string& renderer);  // `renderer`: "LLVM" or "CLANG"

}  // namespace tgc
