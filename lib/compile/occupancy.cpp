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
  uint32_t warps, blocks;  // maximum numbers of resident warps and blocks
  // shared memory of the multiprocessor, and the part of it that the system reserves for each block
  uint32_t shared_bytes, reserved_shared_bytes;
};
constexpr NvidiaProcessor kNvidia[] = {
    {"sm_60", 64, 32, 64 << 10, 0},       {"sm_61", 64, 32, 96 << 10, 0},       {"sm_70", 64, 32, 96 << 10, 0},
    {"sm_75", 32, 16, 64 << 10, 0},       {"sm_80", 64, 32, 164 << 10, 1024},   {"sm_86", 48, 16, 100 << 10, 1024},
    {"sm_87", 48, 16, 164 << 10, 1024},   {"sm_89", 48, 24, 100 << 10, 1024},   {"sm_90", 64, 32, 228 << 10, 1024},
    {"sm_100", 64, 32, 228 << 10, 1024},  {"sm_103", 64, 32, 228 << 10, 1024},  {"sm_120", 48, 24, 100 << 10, 1024},
    {"sm_121", 48, 24, 100 << 10, 1024},
};
constexpr uint32_t kRegisters = 65536, kRegisterPortion = 256, kWarp = 32, kSharedPortion = 128;

// Finds the smallest of several limits; of equal ones, the first.
class SmallestLimit {
 public:
  explicit SmallestLimit(uint32_t most) : smallest_limit_(most) {}
  void add_limit(uint32_t to, std::string_view name) {
    if (to < smallest_limit_) smallest_limit_ = to, limiting_resource_ = name;
  }
  uint32_t smallest_limit() const { return smallest_limit_; }
  std::string_view limiting_resource() const { return limiting_resource_; }

 private:
  uint32_t smallest_limit_;
  std::string_view limiting_resource_;
};

Occupancy nvidia_occupancy(const KernelResources& k, const NvidiaProcessor& p, uint32_t threads) {
  const uint32_t warps = divide_up(threads, kWarp);
  SmallestLimit blocks(UINT32_MAX);
  // the numbers of schedulers are assumed; each scheduler has an equal part of the registers
  const uint32_t schedulers = p.arch == "sm_60" ? 2 : 4;
  const uint32_t of_warp = round_up(std::max(1u, *k.num_vector_registers) * kWarp, kRegisterPortion);
  blocks.add_limit(kRegisters / of_warp / schedulers * schedulers / warps, "registers");
  if (const uint32_t shared = k.shared_bytes.value_or(0) + p.reserved_shared_bytes; shared)
    blocks.add_limit(p.shared_bytes / round_up(shared, kSharedPortion), "shared memory");
  blocks.add_limit(p.blocks, "resident blocks");
  blocks.add_limit(p.warps / warps, "threads of a block");
  const uint32_t resident = blocks.smallest_limit() * warps;
  return {resident, p.warps, "warp", resident < p.warps ? blocks.limiting_resource() : ""};
}

// Follows LLVM's AMDGPUSubtarget::getOccupancyWithLocalMemSize and AMDGPUBaseInfo.
Occupancy amd_occupancy(const KernelResources& k, const AmdProcessor& p, bool is_gfx9, uint32_t threads) {
  constexpr uint32_t kBarriers = 16;  // barriers of a compute unit; each work group of several waves uses one
  constexpr uint32_t kScalarRegisters = 100;  // more scalar registers limit a SIMD of gfx9 to 7 waves
  const uint32_t waves = divide_up(threads, p.num_wave_lanes);
  const uint32_t all = p.max_waves * p.num_simds;
  SmallestLimit groups(UINT32_MAX);
  groups.add_limit(all / waves, "threads of a work group");
  if (waves > 1) groups.add_limit(kBarriers, "barriers");
  if (k.shared_bytes.value_or(0)) groups.add_limit(std::max(1u, p.shared_bytes / *k.shared_bytes), "local memory");
  SmallestLimit resident(p.max_waves);
  resident.add_limit(p.fitting_waves(*k.num_vector_registers), "vector registers");
  if (is_gfx9 && k.num_scalar_registers.value_or(0) > kScalarRegisters) resident.add_limit(7, "scalar registers");
  resident.add_limit(divide_up(groups.smallest_limit() * waves, p.num_simds), groups.limiting_resource());
  return {resident.smallest_limit(), p.max_waves, "wave", resident.limiting_resource()};
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
    return nvidia_occupancy(kernel, *p, threads);
  if (auto p = find_amd_processor(arch)) return amd_occupancy(kernel, *p, arch.starts_with("gfx9"), threads);
  return std::nullopt;
}

}  // namespace tgc
