// The emulated GPU and what the driver's functions (driver.cc) do with it: one device, launches run when they are made.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/emulate/cuda/launch.h"
#include "lib/emulate/cuda/module.h"

namespace tgc::ptx {

// CUresult
enum Result_ : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kNotFound = 500,
  kInvalidHandle = 400,
  kNotReady = 600,
  kNotSupported = 801,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
};
const char* name_of(int code);  // "CUDA_ERROR_INVALID_VALUE"; null for no code of the driver's

struct Kernel {
  LoadedModule* module;
  const Code* code;
  uint64_t most_dynamic_shared = 48 << 10;
};

struct Size {
  std::array<uint32_t, 3> grid, block;
  uint64_t shared = 0;
};

struct LaunchNode {
  const Kernel* kernel = nullptr;
  Size size{};
  std::vector<std::byte> parameters;
};

class Gpu {
 public:
  static Gpu& get();

  // Settings, by environment variables; see the README.
  int architecture() const { return architecture_; }
  Memory& memory() { return memory_; }
  std::string name() const;

  int load(std::string_view text, LoadedModule*& module, std::string& log);
  int unload(LoadedModule* module);
  int find(LoadedModule* module, const char* name, Kernel*& kernel);
  bool knows(const Kernel* kernel) const;
  // The parameters from cuLaunchKernel's two ways to give them.
  int parameters_of(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>& to);
  int launch(const LaunchNode& node);

  // What the last error of that code said, for cuGetErrorString; empty when nothing more is known.
  int fail(int code, std::string text);
  const char* text_of(int code);

 private:
  Gpu();
  void tell_speed(const Kernel& kernel, const Launch& launch, uint64_t executed, double seconds) const;

  int architecture_ = 90;
  unsigned host_threads_ = 1;
  bool tells_speed_ = false;
  Memory memory_;
  std::mutex mutex_;
  std::set<std::unique_ptr<LoadedModule>> modules_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  int failed_code_ = 0;
  std::deque<std::string> texts_;  // callers keep pointers to them
};

}  // namespace tgc::ptx
