// What stands for Apple's <metal_stdlib> when a Metal source is compiled for the CPU: a header of our own.
#pragma once
#include <string_view>

namespace tgc {

// C++20 for clang, ends with "#line 1". It has what tinygrad's Metal renderer uses: vectors, half, bfloat, mathematics,
// threadgroup memory, barriers, matrices of SIMD groups. What threads do together it asks of functions named
// `tgc_metal_...`, which lib/emulate/metal has.
extern const std::string_view kMetalLibrary;

}  // namespace tgc
