// The versions that CMakeLists.txt fixes at build time, so that no library is loaded to find them, and the error for
// parts that a build leaves out.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

std::string_view tgc_version();       // such as "0.1.0", from project() in CMakeLists.txt
std::string_view tinygrad_version();  // the release whose pipeline the native pipeline reproduces
std::string_view llvm_version();      // such as "19.1.7"; empty if tgc was built without LLVM


// Returns the error of a command that needs `what`, a part of tgc that this build left out, because its CMake option
// `option` (such as TGC_ONNX) is off.
inline Diag absent_part_error(const std::string& what, const std::string& option) {
  return {.message = "this tgc was built without " + what, .expected = "a build with -D" + option + "=ON"};
}

}  // namespace tgc
