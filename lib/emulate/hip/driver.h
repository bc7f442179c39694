// The emulated AMD GPU: loads code objects and runs launches.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/emulate/driver.h"
#include "lib/emulate/hip/code.h"
#include "lib/emulate/hip/code_object.h"
#include "lib/emulate/hip/trace_log.h"
#include "lib/emulate/races.h"

namespace tgc::hip {

struct KernelLaunch {
  const TranslatedKernel* code = nullptr;
  Dim3 grid{1, 1, 1}, block{1, 1, 1};
  uint64_t dynamic_group_bytes = 0;
  std::vector<std::byte> arguments;
  std::vector<MemoryRange> memory_ranges;  // accessible global memory, sorted; run_launch adds the arguments
  bool checks_races = false;
  unsigned num_host_threads = 1;
  uint64_t max_jumps = UINT64_MAX;
  TraceLog* trace_log = nullptr;    // log of executed instructions, or null; with a log, num_host_threads is 1

  uint32_t num_block_threads() const { return uint32_t(num_positions(block)); }
};

struct WorkGroup {
  const KernelLaunch* launch = nullptr;
  Dim3 group_id{};
  std::vector<std::byte> lds_memory;
  std::vector<uint8_t> is_byte_stored;        // for each byte of `lds_memory`: 1 if a thread has stored it
  std::unique_ptr<RaceDetector> race_detector;
  RecentRanges recent_ranges;
};

// Returns the fault of the lowest numbered failing group; if none fails, `executed` is the sum of
// Wave::num_executed_ops.
std::optional<KernelFault> run_launch(const KernelLaunch& launch, uint64_t& executed);

// Runs a wave until it ends or reaches a barrier. Throws KernelFault.
void run_wave(Wave& w);

// On x86-64, sets the host's rounding and denormal modes from the f32 fields in the low 8 bits of the MODE register.
// The host has one mode for all types, so the fields for f16 and f64 are ignored.
void set_float_mode(uint32_t mode);

std::string thread_text(const WorkGroup& group, uint32_t thread);
// Throws a KernelFault with the text "KERNEL, INSTRUCTION: THREAD `what`", where THREAD is the thread of `lane`.
[[noreturn]] void throw_fault(const Wave& w, const Op& o, uint32_t lane, int code, const std::string& what);

class LoadedModule {
 public:
  // Disassembles a code object with LLVM, translates its kernels, and copies its image into `memory`, which must
  // outlive the module. With `watches`, wait instructions become operations, so that launches can check them (waits.h).
  static Result<std::unique_ptr<LoadedModule>> load_code(std::string_view bytes, GpuMemory& memory, bool watches);
  ~LoadedModule();

  const TranslatedKernel* kernel(std::string_view name) const;  // null if there is none
  const std::vector<std::unique_ptr<TranslatedKernel>>& kernels() const { return kernels_; }
  uint64_t image_address() const { return image_address_; }  // host address of the image

 private:
  explicit LoadedModule(GpuMemory& memory) : memory_(memory) {}

  GpuMemory& memory_;
  uint64_t image_address_ = 0;
  std::string listing_;
  std::vector<std::unique_ptr<TranslatedKernel>> kernels_;
};

using LoadedModules = ModuleTable<LoadedModule, TranslatedKernel>;
using Kernel = LoadedModules::Kernel;

class EmulatedGpu : public EmulatedDriver {
 public:
  static EmulatedGpu& get_gpu();

  const std::string& architecture() const { return architecture_; }
  LoadedModules& modules() { return modules_; }

  int load_code(const void* image, LoadedModule*& module);
  // Launches a kernel. The arguments must be one block in hipModuleLaunchKernel's `extra`; `parameters` must be null.
  int launch(const Kernel* kernel, const Dim3& grid, const Dim3& block, uint64_t group_bytes, void** parameters,
             void** extra);

 private:
  EmulatedGpu();

  std::string architecture_ = "gfx1100";
  TraceLog* trace_log_ = nullptr;
  LoadedModules modules_;
};

// hipDeviceProp_t of ROCm 6, with the fields that tgc and tinygrad read.
struct DeviceProperties {
  char name[256];
  char before_arch[904];
  char arch_name[256];  // such as "gfx1100", optionally followed by ":" and features
  char after_arch[56];
};
static_assert(sizeof(DeviceProperties) == 1472);

}  // namespace tgc::hip
