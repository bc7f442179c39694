// hipDeviceProp_t as of ROCm 6, of which two fields are told and read.
#pragma once

namespace tgc::hip {

struct Properties {
  char name[256];
  char before_arch[904];
  char arch_name[256];  // "gfx1100", maybe with ":" and features behind it
  char after_arch[56];
};
static_assert(sizeof(Properties) == 1472);

}  // namespace tgc::hip
