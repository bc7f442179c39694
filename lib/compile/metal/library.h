// tgc's replacement for Apple's <metal_stdlib>, used when a Metal source is compiled for the CPU.
#pragma once
#include <string_view>

namespace tgc {

// C++20 for clang, ending with "#line 1". Declares what tinygrad's Metal renderer uses: vectors, half, bfloat, math
// functions, threadgroup memory, barriers, SIMD-group matrices. Operations between threads call functions named
// `tgc_metal_...`, which lib/emulate/metal defines.
extern const std::string_view kMetalLibrary;

}  // namespace tgc
