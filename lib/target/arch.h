// Names of GPU architectures.
#pragma once
#include <string_view>

namespace tgc {

// Returns 80 for "sm_80"; -1 for anything but "sm_" and a number.
int cuda_arch(std::string_view arch);

// Returns "gfx942" for "gfx942:sramecc+:xnack-".
inline std::string_view without_features(std::string_view arch) { return arch.substr(0, arch.find(':')); }

}  // namespace tgc
