// Computes how many waves (AMD) or warps (NVIDIA) of a kernel are on a processor at a time, and which resource limits
// them, by tables of the architectures.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "lib/compile/resources.h"

namespace tgc {

struct Occupancy {
  uint32_t waves = 0, most = 0;  // waves that are resident at a time, and those that fit if no resource limits them
  std::string_view wave;         // "wave" of a SIMD, or "warp" of an SM
  std::string_view limiter;      // "vector registers", "shared memory", ...; empty: `waves` equals `most`
  std::string text() const;      // "10 of 16 waves, by vector registers"
};

// Returns the occupancy of work groups of `threads` threads on `arch` ("sm_80", "gfx1100"). Unset if the architecture
// is not in the tables, or if registers or threads are unknown.
std::optional<Occupancy> occupancy_of(const KernelResources& kernel, std::string_view arch, uint32_t threads);

// An AMD processor, as LLVM's AMDGPUSubtarget has it. The SIMDs are those of a compute unit, because tinygrad compiles
// for single compute units (cumode).
struct AmdProcessor {
  uint32_t lanes = 32;                  // threads of a wave
  uint32_t waves = 16, simds = 2;       // maximum number of waves of a SIMD; number of SIMDs of a compute unit
  uint32_t registers = 1024, granule = 16;  // vector registers of each lane of a SIMD, and how many of them are
                                            // allocated at a time
  uint32_t shared_bytes = 64 << 10;     // shared memory of a compute unit

  uint32_t fitting_waves(uint32_t vector_registers) const;  // returns how many waves fit on a SIMD if each lane of a
                                                            // wave needs so many registers
};
std::optional<AmdProcessor> amd_processor(std::string_view arch);

}  // namespace tgc
