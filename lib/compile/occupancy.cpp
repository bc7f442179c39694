#include "lib/compile/occupancy.h"

#include <algorithm>

#include "lib/support/counted.h"

namespace tgc {
namespace {

uint32_t round_up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }
uint32_t divide_up(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

// A multiprocessor, from the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide.
struct NvidiaProcessor {
  std::string_view arch;
  uint32_t warps, blocks;           // maximum numbers that are resident
  // of the multiprocessor, and the part that the system reserves for each block
  uint32_t shared_bytes, reserved;
};
constexpr NvidiaProcessor kNvidia[] = {
    {"sm_60", 64, 32, 64 << 10, 0},       {"sm_61", 64, 32, 96 << 10, 0},       {"sm_70", 64, 32, 96 << 10, 0},
    {"sm_75", 32, 16, 64 << 10, 0},       {"sm_80", 64, 32, 164 << 10, 1024},   {"sm_86", 48, 16, 100 << 10, 1024},
    {"sm_87", 48, 16, 164 << 10, 1024},   {"sm_89", 48, 24, 100 << 10, 1024},   {"sm_90", 64, 32, 228 << 10, 1024},
    {"sm_100", 64, 32, 228 << 10, 1024},  {"sm_103", 64, 32, 228 << 10, 1024},  {"sm_120", 48, 24, 100 << 10, 1024},
    {"sm_121", 48, 24, 100 << 10, 1024},
};
constexpr uint32_t kRegisters = 65536, kRegisterPortion = 256, kWarp = 32, kSharedPortion = 128;

// The first of equal limits counts.
class SmallestLimit {
 public:
  explicit SmallestLimit(uint32_t most) : least_(most) {}
  void limit(uint32_t to, std::string_view name) {
    if (to < least_) least_ = to, name_ = name;
  }
  uint32_t least() const { return least_; }
  std::string_view name() const { return name_; }

 private:
  uint32_t least_;
  std::string_view name_;
};

Occupancy on_nvidia(const KernelResources& k, const NvidiaProcessor& p, uint32_t threads) {
  const uint32_t warps = divide_up(threads, kWarp);
  SmallestLimit blocks(UINT32_MAX);
  // the numbers of schedulers are assumed; each scheduler has an equal part of the registers
  const uint32_t schedulers = p.arch == "sm_60" ? 2 : 4;
  const uint32_t of_warp = round_up(std::max(1u, *k.num_vector_registers) * kWarp, kRegisterPortion);
  blocks.limit(kRegisters / of_warp / schedulers * schedulers / warps, "registers");
  if (const uint32_t shared = k.shared_bytes.value_or(0) + p.reserved; shared)
    blocks.limit(p.shared_bytes / round_up(shared, kSharedPortion), "shared memory");
  blocks.limit(p.blocks, "resident blocks");
  blocks.limit(p.warps / warps, "threads of a block");
  const uint32_t resident = blocks.least() * warps;
  return {resident, p.warps, "warp", resident < p.warps ? blocks.name() : ""};
}

// Follows LLVM's AMDGPUSubtarget::getOccupancyWithLocalMemSize and AMDGPUBaseInfo.
Occupancy on_amd(const KernelResources& k, const AmdProcessor& p, bool is_gfx9, uint32_t threads) {
  constexpr uint32_t kBarriers = 16;  // of a compute unit; each work group of several waves uses one
  constexpr uint32_t kScalarRegisters = 100;  // more scalar registers limit a SIMD of gfx9 to 7 waves
  const uint32_t waves = divide_up(threads, p.num_wave_lanes);
  const uint32_t all = p.max_waves * p.num_simds;
  SmallestLimit groups(UINT32_MAX);
  groups.limit(all / waves, "threads of a work group");
  if (waves > 1) groups.limit(kBarriers, "barriers");
  if (k.shared_bytes.value_or(0)) groups.limit(std::max(1u, p.shared_bytes / *k.shared_bytes), "local memory");
  SmallestLimit resident(p.max_waves);
  resident.limit(p.fitting_waves(*k.num_vector_registers), "vector registers");
  if (is_gfx9 && k.num_scalar_registers.value_or(0) > kScalarRegisters) resident.limit(7, "scalar registers");
  resident.limit(divide_up(groups.least() * waves, p.num_simds), groups.name());
  return {resident.least(), p.max_waves, "wave", resident.name()};
}

}  // namespace

std::string Occupancy::text() const {
  std::string out = formatted("%u of %u %ss", num_resident_waves, max_waves, std::string(wave_name).c_str());
  return limiting_resource.empty() ? out : out + ", by " + std::string(limiting_resource);
}

uint32_t AmdProcessor::fitting_waves(uint32_t num_vector_registers) const {
  return std::max(
      1u, std::min(max_waves, num_lane_registers / round_up(std::max(1u, num_vector_registers), register_granule)));
}

std::optional<AmdProcessor> find_amd_processor(std::string_view arch) {
  if (arch == "gfx90a" || arch.starts_with("gfx94") || arch == "gfx950")
    return AmdProcessor{.num_wave_lanes = 64,
                        .max_waves = 8,
                        .num_simds = 4,
                        .num_lane_registers = 512,
                        .register_granule = 8,
                        .shared_bytes = arch == "gfx950" ? 160u << 10 : 64u << 10};
  if (arch == "gfx1100" || arch == "gfx1101" || arch == "gfx1151" || arch.starts_with("gfx12"))
    return AmdProcessor{.num_lane_registers = 1536, .register_granule = 24};
  if (arch.starts_with("gfx101")) return AmdProcessor{.max_waves = 20, .register_granule = 8};
  if (arch.starts_with("gfx103") || arch.starts_with("gfx11")) return AmdProcessor{};
  return std::nullopt;
}

std::optional<Occupancy> occupancy_of_kernel(const KernelResources& kernel, std::string_view arch, uint32_t threads) {
  if (!kernel.num_vector_registers || !threads) return std::nullopt;
  const std::string_view base = arch.substr(0, arch.find_last_of("0123456789") + 1);
  if (auto p = std::ranges::find(kNvidia, base, &NvidiaProcessor::arch); p != std::end(kNvidia))
    return on_nvidia(kernel, *p, threads);
  if (auto p = find_amd_processor(arch)) return on_amd(kernel, *p, arch.starts_with("gfx9"), threads);
  return std::nullopt;
}

}  // namespace tgc
