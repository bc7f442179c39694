// Functions that parse and classify the names of GPU architectures ("sm_80", "gfx942").
#pragma once
#include <string_view>

namespace tgc {

// Returns 80 for "sm_80"; -1 for anything but "sm_" and a number.
int cuda_arch(std::string_view arch);

// Returns "gfx942" for "gfx942:sramecc+:xnack-".
inline std::string_view without_features(std::string_view arch) { return arch.substr(0, arch.find(':')); }

// Return true if `arch`, with or without a list of features, is an AMD GPU of CDNA (3 or 4) or of RDNA4.
inline bool is_cdna(std::string_view arch) {
  return without_features(arch) == "gfx942" || without_features(arch) == "gfx950";
}
inline bool is_rdna4(std::string_view arch) {
  return without_features(arch) == "gfx1200" || without_features(arch) == "gfx1201";
}

}  // namespace tgc
