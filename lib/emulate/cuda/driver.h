// The emulated NVIDIA GPU: loads PTX and runs launches for the CUDA driver functions in cuda_api.cpp.
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

// The parameters of a launch. run_launch() runs the blocks on the host's threads with the checks of --emulate and, if
// `checks_races` is set, of --race.
struct Launch {
  const TranslatedKernel* code = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};  // number of blocks; threads per block
  uint64_t dynamic_shared_bytes = 0;     // bytes of dynamic shared memory
  std::vector<std::byte> parameters;
  std::vector<Range> memory_ranges;  // accessible global memory, sorted
  bool checks_races = false;
  unsigned host_threads = 1;
  uint64_t max_jumps = UINT64_MAX;  // limit of jumps per warp

  uint32_t block_threads() const { return uint32_t(volume(block)); }
};

struct Block {
  const Launch* launch = nullptr;
  Triple id{};
  bool is_packed = false;  // true if a warp holds several blocks
  std::vector<std::byte> shared_memory, local_memory;
  std::vector<uint8_t> is_stored;        // for each byte of `shared_memory`, 1 if a thread has stored it
  std::unique_ptr<Races> race_detector;  // null unless checks_races is set
  RecentRanges recent_ranges;
};

// Runs all blocks. Returns the fault of the lowest failing block; if none fails, `executed` is the sum of
// Warp::num_executed.
std::optional<Fault> run_launch(const Launch& launch, uint64_t& executed);

// Runs a warp until it ends or reaches a barrier. Throws Fault.
void run_warp(Warp& w, const TranslatedKernel& code);

// Returns a text such as "thread (3,0,0) of block (1,0,0)".
std::string name_thread(const Block& block, uint32_t thread);
// Throws a Fault with the text "KERNEL, INSTRUCTION: THREAD `what`", where THREAD is the thread of `lane`.
[[noreturn]] void throw_fault(const Warp& w, const Op& o, int lane, int code, const std::string& what);

// A PTX module. load() parses the text, translates the kernels, and allocates the variables in device memory.
class LoadedModule {
 public:
  // Most errors name the line of the PTX, and the instruction if it is not supported. Allocates variables in `memory`,
  // which must outlive the module.
  static Result<std::unique_ptr<LoadedModule>> load(std::string_view text, Memory& memory);
  ~LoadedModule();

  const TranslatedKernel* kernel(std::string_view name) const;  // null if there is no kernel of that name
  struct Place {
    uint64_t address, bytes;
  };
  const Place* variable(std::string_view name) const;  // null if there is no variable of that name
  const Module& module() const { return module_; }

 private:
  LoadedModule(Module module, Memory& memory) : module_(std::move(module)), memory_(memory) {}
  void place_variables();
  void translate();

  Module module_;
  Memory& memory_;
  std::map<std::string_view, Place> variables_;
  std::map<std::string_view, TranslatedKernel> kernels_;
};

// Returns the compute capability of a PTX target times 10: 80 for "sm_80", 90 for "sm_90a"; 0 for other names.
int architecture_of(std::string_view target);

using LoadedModules = Modules<LoadedModule, TranslatedKernel>;
using Kernel = LoadedModules::Kernel;

// A requested launch; also a kernel node of a CUDA graph.
struct LaunchNode {
  const Kernel* kernel = nullptr;
  Triple grid{}, block{};
  uint64_t dynamic_shared_bytes = 0;  // bytes of dynamic shared memory
  std::vector<std::byte> parameters;
};

class Gpu : public Driver {
 public:
  static Gpu& get_gpu();

  int architecture() const { return architecture_; }  // 90 for sm_90
  std::string name() const;
  LoadedModules& modules() { return modules_; }

  // Loads PTX. Returns a CUresult; if it fails, sets `log` to the error message, in the format of NVIDIA's compiler
  // log.
  int load(std::string_view text, LoadedModule*& module, std::string& log);
  // Copies the kernel's arguments into `to`, from cuLaunchKernel's `parameters` or, if that is null, its `extra`.
  int parameters_of(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>& to);
  int launch(const LaunchNode& node);

 private:
  Gpu();

  int architecture_ = 90;
  LoadedModules modules_;
};

}  // namespace tgc::ptx
