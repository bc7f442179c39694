// Computes how many waves (AMD) or warps (NVIDIA) of a kernel are on a processor at a time, and which resource limits
// them, by tables of the architectures.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "lib/compile/resources.h"

namespace tgc {

struct Occupancy {
  // waves that are resident at a time, and those that fit if no resource limits them
  uint32_t num_resident_waves = 0, max_waves = 0;
  std::string_view wave_name;         // "wave" of a SIMD, or "warp" of an SM
  // such as "vector registers"; empty if no resource limits the waves
  std::string_view limiting_resource;
  std::string text() const;      // "10 of 16 waves, by vector registers"
};

// Returns the occupancy of work groups of `threads` threads on `arch` ("sm_80", "gfx1100"); nullopt if the architecture
// is not in the tables, the number of registers is unknown, or `threads` is 0.
std::optional<Occupancy> occupancy_of_kernel(const KernelResources& kernel, std::string_view arch, uint32_t threads);

// An AMD processor, as LLVM's AMDGPUSubtarget has it. The SIMDs are those of a compute unit, because tinygrad compiles
// for single compute units (cumode).
struct AmdProcessor {
  uint32_t num_wave_lanes = 32;
  uint32_t max_waves = 16, num_simds = 2;  // maximum number of waves of a SIMD; SIMDs of a compute unit
  // vector registers of each lane of a SIMD, and how many of them are allocated at a time
  uint32_t num_lane_registers = 1024, register_granule = 16;
  uint32_t shared_bytes = 64 << 10;  // shared memory of a compute unit

  // Returns how many waves a SIMD can hold, at least 1, if each lane needs `num_vector_registers` registers.
  uint32_t fitting_waves(uint32_t num_vector_registers) const;
};
std::optional<AmdProcessor> find_amd_processor(std::string_view arch);

}  // namespace tgc
