// What this build of tgc is and what it goes by. CMakeLists.txt says it once; nothing here loads or asks a library.
#pragma once
#include <string_view>

namespace tgc {

std::string_view tgc_version();       // "0.1.0": of project() in CMakeLists.txt
std::string_view tinygrad_version();  // "0.12.0": the release whose pipeline this is, to the letter
std::string_view llvm_version();      // "19.1.7": the one that was built in; empty: none was

}  // namespace tgc
