// Versions of this build, fixed by CMakeLists.txt at build time; no library is loaded to find them.
#pragma once
#include <string_view>

namespace tgc {

std::string_view tgc_version();       // such as "0.1.0", from project() in CMakeLists.txt
std::string_view tinygrad_version();  // "0.12.0": the release whose pipeline the native pipeline reproduces
std::string_view llvm_version();      // such as "19.1.7"; empty if tgc was built without LLVM

}  // namespace tgc
