// Versions and parts of this build, fixed by CMakeLists.txt at build time; no library is loaded to find them.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

std::string_view tgc_version();       // such as "0.1.0", from project() in CMakeLists.txt
std::string_view tinygrad_version();  // "0.12.0": the release whose pipeline the native pipeline reproduces
std::string_view llvm_version();      // such as "19.1.7"; empty if tgc was built without LLVM

// Parts of tgc that a build can leave out (the options TGC_ONNX and so on of CMakeLists.txt).

// Returns the error of a command that needs the part of tgc called `what`, which was left out by the CMake option
// `option`.
inline Diag absent_part_error(const std::string& what, const std::string& option) {
  return {.message = "this tgc was built without " + what, .expected = "a build with -D" + option + "=ON"};
}

}  // namespace tgc
