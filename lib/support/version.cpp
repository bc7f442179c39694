#include "lib/support/version.h"

namespace tgc {

std::string_view tgc_version() { return TGC_VERSION; }
std::string_view tinygrad_version() { return TGC_TINYGRAD_VERSION; }
std::string_view llvm_version() { return TGC_LLVM_VERSION; }

}  // namespace tgc
