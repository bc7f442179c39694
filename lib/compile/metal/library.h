#pragma once
#include <string_view>

namespace tgc {

// The replacement for Apple's <metal_stdlib>: C++20 for clang, ending with a #line directive. Declares what tinygrad's
// Metal renderer uses. Operations between threads call functions named `tgc_metal_...`, which lib/emulate/metal
// defines.
extern const std::string_view kMetalLibrarySource;

}  // namespace tgc
