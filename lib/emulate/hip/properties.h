// hipDeviceProp_t of ROCm 6, with only the two fields that tgc and tinygrad read.
#pragma once

namespace tgc::hip {

struct Properties {
  char name[256];
  char before_arch[904];
  char arch_name[256];  // "gfx1100", optionally followed by ":" and features
  char after_arch[56];
};
static_assert(sizeof(Properties) == 1472);

}  // namespace tgc::hip
