// The emulated NVIDIA GPU: loads PTX and runs launches.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/emulate/cuda/code.h"
#include "lib/emulate/driver.h"
#include "lib/emulate/memory.h"
#include "lib/emulate/races.h"

namespace tgc::ptx {

struct KernelLaunch {
  const TranslatedKernel* code = nullptr;
  Dim3 grid{1, 1, 1}, block{1, 1, 1};
  uint64_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
  std::vector<MemoryRange> memory_ranges;  // accessible global memory, sorted
  bool checks_races = false;
  unsigned num_host_threads = 1;
  uint64_t max_jumps = UINT64_MAX;

  uint32_t num_block_threads() const { return uint32_t(num_positions(block)); }
};

struct ThreadBlock {
  const KernelLaunch* launch = nullptr;
  Dim3 block_id{};
  bool shares_warp = false;
  std::vector<std::byte> shared_memory, local_memory;
  std::vector<uint8_t> is_byte_stored;        // for each byte of `shared_memory`: 1 if a thread has stored it
  std::unique_ptr<RaceDetector> race_detector;
  RecentRanges recent_ranges;
};

// Returns the fault of the first failing group of blocks; if none fails, `executed` is the sum of
// Warp::num_executed_ops.
std::optional<KernelFault> run_launch(const KernelLaunch& launch, uint64_t& executed);

// Runs a warp until it ends or reaches a barrier. Throws KernelFault.
void run_warp(Warp& w, const TranslatedKernel& code);

std::string thread_text(const ThreadBlock& block, uint32_t thread);
// Throws a KernelFault with the text "KERNEL, INSTRUCTION: THREAD `what`", where THREAD is the thread of `lane`.
[[noreturn]] void throw_fault(const Warp& w, const Op& o, int lane, int code, const std::string& what);

class LoadedModule {
 public:
  // Parses and translates PTX, and allocates its variables in `memory`, which must outlive the module.
  static Result<std::unique_ptr<LoadedModule>> load_code(std::string_view text, GpuMemory& memory);
  ~LoadedModule();

  const TranslatedKernel* kernel(std::string_view name) const;  // null if there is none
  struct VariableSpan {
    uint64_t address, bytes;
  };
  const VariableSpan* variable(std::string_view name) const;
  const Module& module() const { return module_; }

 private:
  LoadedModule(Module module, GpuMemory& memory) : module_(std::move(module)), memory_(memory) {}
  void place_variables();
  void translate_functions();

  Module module_;
  GpuMemory& memory_;
  std::map<std::string_view, VariableSpan> variables_;
  std::map<std::string_view, TranslatedKernel> kernels_;
};

// Returns the number in a PTX target: 80 for "sm_80", 90 for "sm_90a"; 0 for other names.
int parse_architecture(std::string_view target);

using LoadedModules = ModuleTable<LoadedModule, TranslatedKernel>;
using Kernel = LoadedModules::Kernel;

struct LaunchNode {
  const Kernel* kernel = nullptr;
  Dim3 grid{}, block{};
  uint64_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
};

class EmulatedGpu : public EmulatedDriver {
 public:
  static EmulatedGpu& get_gpu();

  int architecture() const { return architecture_; }
  std::string name() const;
  LoadedModules& modules() { return modules_; }

  // Returns a CUresult. On failure, `log` gets the error message, in the format of NVIDIA's compiler log.
  int load_code(std::string_view text, LoadedModule*& module, std::string& log);
  // Copies a launch's arguments into `to`, from cuLaunchKernel's `parameters` or, if that is null, its `extra`.
  int pack_parameters(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>& to);
  int launch(const LaunchNode& node);

 private:
  EmulatedGpu();

  int architecture_ = 90;
  LoadedModules modules_;
};

}  // namespace tgc::ptx
