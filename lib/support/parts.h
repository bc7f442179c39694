// Parts of tgc that a build can leave out (the options TGC_ONNX and so on of CMakeLists.txt).
#pragma once
#include <string>

#include "lib/support/result.h"

namespace tgc {

// The error of a command that needs the part that `option` of CMakeLists.txt leaves out.
inline Diag absent_part(const std::string& what, const std::string& option) {
  return {.message = "this tgc was built without " + what, .expected = "a build with -D" + option + "=ON"};
}

}  // namespace tgc
