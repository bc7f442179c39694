// The base class of the emulated CUDA and HIP drivers, and their table of loaded modules. Launches are synchronous.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/emulate/blocks.h"
#include "lib/emulate/fault.h"
#include "lib/emulate/memory.h"

namespace tgc::emulate {

struct ErrorText {
  int code;
  const char *name, *text;  // such as "CUDA_ERROR_INVALID_VALUE", "invalid argument"
};

// The largest sizes of a grid and a block, and the most threads per block.
struct LaunchLimits {
  Dim3 grid, block;
  uint32_t threads;
};

struct ArgumentBlock {
  const void* data = nullptr;
  size_t bytes = 0;
};

class EmulatedDriver {
 public:
  GpuMemory& memory() { return memory_; }

  // Records `code` as the last error, with the details `text`. Returns `code`.
  int set_error(int code, std::string text);
  // Returns the text of an error code, with the details of the last error if the last error has this code. Returns null
  // for an unknown code.
  const char* text_of_error(int code);
  const char* error_name(int code) const;
  // Fails with kInvalidValue if [at, at + bytes) is not inside one allocation. The message names `function`.
  int check_range(const char* function, uint64_t at, size_t bytes);
  // Fails with kNotSupported on an x86-64 processor without AVX2 or FMA.
  int check_processor();

 protected:
  // `prefix` begins the names of the environment variables: "TGC_CUDA_EMULATOR".
  EmulatedDriver(std::string prefix, std::span<const ErrorText> errors);

  // Returns the value of the environment variable prefix + name ("_THREADS"), or null.
  const char* setting_value(const char* name) const;
  bool has_setting(const char* name) const;
  bool checks_races() const { return has_setting("_RACE"); }
  unsigned num_host_threads() const { return num_host_threads_; }

  int check_launch_size(const Dim3& grid, const Dim3& block, const LaunchLimits& most);
  // Reads the argument block from a launch function's `extra`: (key, pointer) pairs that end at the key `end`. Fails
  // with kInvalidValue if a key is unknown.
  int read_extra_options(void** extra, const void* end, ArgumentBlock& to);
  // Runs a launch and returns its error code; a KernelFault becomes the last error. With the setting _SPEED, a launch
  // that succeeds prints its times, `executed` and `num_block_threads` (threads per block) to standard error.
  int run_kernel(const std::string& kernel, uint64_t num_block_threads,
                 const std::function<std::optional<KernelFault>(uint64_t& executed)>& launch);

 private:
  const ErrorText* find_error(int code) const;

  std::string setting_prefix_;
  std::span<const ErrorText> error_table_;
  GpuMemory memory_;
  unsigned num_host_threads_ = 1;
  std::mutex mutex_;
  int last_error_code_ = 0;
  std::deque<std::string> error_texts_;  // recent texts, kept because text_of_error returns pointers to them
};

template <class Module, class Code>
class ModuleTable {
 public:
  struct Kernel {
    Module* module;
    const Code* code;
    uint64_t max_dynamic_shared_bytes = 48 << 10;
  };

  Module* add_module(std::unique_ptr<Module> module) {
    std::lock_guard lock(mutex_);
    return modules_.insert(std::move(module)).first->get();
  }
  int unload(Module* module) {
    std::lock_guard lock(mutex_);
    std::erase_if(kernels_, [&](auto& k) { return k->module == module; });
    return std::erase_if(modules_, [&](auto& m) { return m.get() == module; }) ? kSuccess : kInvalidHandle;
  }
  int find_kernel(Module* module, const char* name, Kernel*& kernel) {
    std::lock_guard lock(mutex_);
    if (std::ranges::none_of(modules_, [&](auto& m) { return m.get() == module; })) return kInvalidHandle;
    const Code* code = module->kernel(name);
    if (!code) return kNotFound;
    kernels_.push_back(std::make_unique<Kernel>(Kernel{module, code}));
    kernel = kernels_.back().get();
    return kSuccess;
  }
  bool contains(const Kernel* kernel) const {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(kernels_, [&](auto& k) { return k.get() == kernel; });
  }
  bool contains(const Module* module) const {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(modules_, [&](auto& m) { return m.get() == module; });
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::unique_ptr<Module>> modules_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace tgc::emulate
