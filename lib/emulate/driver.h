// Base class of the emulated CUDA and HIP drivers: one GPU with its memory, settings and error texts; and Modules, the
// table of loaded modules and kernels. Launches are synchronous. Each driver's exported C functions are in its own
// cuda_api.cpp or hip_api.cpp; loading images and launching kernels is in its Gpu class.
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
  const char *name, *text;  // for example "CUDA_ERROR_INVALID_VALUE", "invalid argument"
};

// The largest launch that the GPU supports: grid size and block size per dimension, and threads per block.
struct LaunchLimits {
  Triple grid, block;
  uint32_t threads;
};

// A launch's arguments as one block of bytes.
struct ArgumentBlock {
  const void* data = nullptr;
  size_t bytes = 0;
};

class Driver {
 public:
  Memory& memory() { return memory_; }

  // Records `code` as the last error: text_of(code) then returns the general text of `code` and `text`. Returns `code`.
  int set_error(int code, std::string text);
  // Returns the text of an error code, which for the last error's code ends in the text that was given to set_error().
  // Returns null for an unknown code.
  const char* text_of(int code);
  const char* name_of(int code) const;
  // Fails with kInvalidValue and a message naming `function` if [at, at + bytes) is not inside one allocation.
  int check_range(const char* function, uint64_t at, size_t bytes);
  // Fails with kNotSupported if the host's x86-64 processor lacks AVX2 or FMA.
  int check_processor();

 protected:
  // `prefix` begins the names of the driver's environment variables: "TGC_CUDA_EMULATOR".
  Driver(std::string prefix, std::span<const ErrorText> errors);

  // Returns the value of the environment variable prefix + name ("_THREADS"); null if the variable is not set.
  const char* setting_value(const char* name) const;
  bool is_set(const char* name) const;
  bool checks_races() const { return is_set("_RACE"); }
  unsigned host_threads() const { return host_threads_; }

  int check_size(const Triple& grid, const Triple& block, const LaunchLimits& most);
  // Reads the argument block from a launch function's `extra` list: (key, pointer) pairs that end at the key `end`.
  // Fails with kInvalidValue if a key is unknown.
  int read_extra(void** extra, const void* end, ArgumentBlock& to);
  // Runs a launch and returns its error code; a Fault becomes the driver's last error. With the setting _SPEED, prints
  // `executed`, the times and `block_threads`, the threads per block, to standard error unless the launch fails.
  int run_kernel(const std::string& kernel, uint64_t block_threads,
                 const std::function<std::optional<Fault>(uint64_t& executed)>& launch);

 private:
  const ErrorText* find_error(int code) const;

  std::string prefix_;
  std::span<const ErrorText> errors_;
  Memory memory_;
  unsigned host_threads_ = 1;
  std::mutex mutex_;
  int failed_code_ = 0;
  std::deque<std::string> error_texts_;  // recent error texts, kept because text_of returns pointers to them
};

// The modules that a program has loaded, and the kernels that it has looked up by name.
template <class Module, class Code>
class Modules {
 public:
  struct Kernel {
    Module* module;
    const Code* code;
    uint64_t max_dynamic_shared_bytes = 48 << 10;
  };

  Module* add(std::unique_ptr<Module> module) {
    std::lock_guard lock(mutex_);
    return modules_.insert(std::move(module)).first->get();
  }
  int unload(Module* module) {
    std::lock_guard lock(mutex_);
    std::erase_if(kernels_, [&](auto& k) { return k->module == module; });
    return std::erase_if(modules_, [&](auto& m) { return m.get() == module; }) ? kSuccess : kInvalidHandle;
  }
  int find(Module* module, const char* name, Kernel*& kernel) {
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
