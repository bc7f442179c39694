// What the emulated drivers of CUDA and HIP share: one GPU whose launches run when they are made, its memory, its
// settings, what its errors say, and the modules and kernels that a program holds. Each driver's functions stand in its
// own driver.cc, what it makes of an image or a launch in its Gpu.
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
  const char *name, *text;  // "CUDA_ERROR_INVALID_VALUE", "invalid argument"
};

// The most that a launch may ask for, in each dimension and in all.
struct Limits {
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

  // Notes what there is to say of an error, for whoever asks next. Returns the code.
  int fail(int code, std::string text);
  // What a code means, and of the last error what it said. Null: the driver has no such code.
  const char* text_of(int code);
  const char* name_of(int code) const;
  // The error of a driver's function whose [at, at + bytes) are not all the device's.
  int check_range(const char* function, uint64_t at, size_t bytes);
  // The error of a processor that the emulator's loops were not compiled for.
  int check_processor();

 protected:
  // `prefix` begins the names of its variables: "TGC_CUDA_EMULATOR".
  Driver(std::string prefix, std::span<const ErrorText> errors);

  const char* setting(const char* name) const;  // null: not set
  bool is_set(const char* name) const;
  bool checks_races() const { return is_set("_RACE"); }
  unsigned host_threads() const { return host_threads_; }

  int check_size(const Triple& grid, const Triple& block, const Limits& most);
  // The block that `extra` names, a list of pairs of a key and a pointer that the driver's own key ends.
  int read_extra(void** extra, const void* end, ArgumentBlock& to);
  // Runs it; a fault becomes the driver's error. Tells the speed when it is asked to.
  int run(const std::string& kernel, uint64_t block_threads,
          const std::function<std::optional<Fault>(uint64_t& executed)>& launch);

 private:
  const ErrorText* find_error(int code) const;

  std::string prefix_;
  std::span<const ErrorText> errors_;
  Memory memory_;
  unsigned host_threads_ = 1;
  std::mutex mutex_;
  int failed_code_ = 0;
  std::deque<std::string> texts_;  // callers keep pointers to them
};

// What a program has loaded, and the kernels that it asked for by name.
template <class Module, class Code>
class Modules {
 public:
  struct Kernel {
    Module* module;
    const Code* code;
    uint64_t most_dynamic_shared = 48 << 10;
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
  bool knows(const Kernel* kernel) const {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(kernels_, [&](auto& k) { return k.get() == kernel; });
  }
  bool knows(const Module* module) const {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(modules_, [&](auto& m) { return m.get() == module; });
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::unique_ptr<Module>> modules_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace tgc::emulate
