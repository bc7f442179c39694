#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

std::string_view tgc_version();
std::string_view tinygrad_version();  // the release whose pipeline the native pipeline reproduces
std::string_view llvm_version();      // empty if tgc was built without LLVM

// Returns the error of a command that needs `what`, a part that this build left out, because its CMake option `option`
// (such as TGC_ONNX) is off.
inline Diag absent_part_error(const std::string& what, const std::string& option) {
  return {.message = "this tgc was built without " + what, .expected = "a build with -D" + option + "=ON"};
}

}  // namespace tgc
