// The emulated GPU and what the HIP functions (driver.cc) do with it: one device, launches run when they are made.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lib/emulate/hip/launch.h"
#include "lib/emulate/hip/module.h"

namespace tgc::hip {

// hipError_t
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotSupported = 801,
};
const char* name_of(int code);  // "hipErrorInvalidValue"

struct Kernel {
  LoadedModule* module;
  const Code* code;
};

class Gpu {
 public:
  static Gpu& get();

  // Settings, by environment variables; see the README.
  const std::string& architecture() const { return architecture_; }
  Memory& memory() { return memory_; }

  int load(const void* image, LoadedModule*& module);
  int unload(LoadedModule* module);
  int find(LoadedModule* module, const char* name, Kernel*& kernel);
  // The arguments come as one block (hipModuleLaunchKernel's `extra`).
  int launch(const Kernel* kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint64_t group_bytes,
             void** parameters, void** extra);

  // What the last error of that code said, for hipGetErrorString.
  int fail(int code, std::string text);
  const char* text_of(int code);

 private:
  Gpu();

  std::string architecture_ = "gfx1100";
  unsigned host_threads_ = 1;
  bool tells_speed_ = false;
  Memory memory_;
  std::mutex mutex_;
  std::set<std::unique_ptr<LoadedModule>> modules_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  int failed_code_ = 0;
  std::deque<std::string> texts_;  // callers keep pointers to them
};

}  // namespace tgc::hip
