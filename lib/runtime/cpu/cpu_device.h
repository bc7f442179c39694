// The CPU that tgc runs on. Kernels are C or LLVM IR (target CPU:CLANG or CPU:LLVM), compiled by lib/compile to an
// object that is loaded into this process. The groups of the first launch dimension are tinygrad's THREAD axis: each is
// a call of the kernel with its number as the last argument, on a thread of its own (tinygrad runtime/ops_cpu.py).
#pragma once
#include <memory>

#include "lib/runtime/device.h"

namespace tgc {

std::unique_ptr<Device> make_cpu_device(const std::string& renderer);  // "LLVM", "CLANG"

}  // namespace tgc
