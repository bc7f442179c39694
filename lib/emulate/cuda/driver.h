// The emulated NVIDIA GPU: loads PTX and runs launches for the CUDA driver functions in cuda_api.cpp.
#pragma once
#include <string_view>

#include "lib/emulate/cuda/launch.h"
#include "lib/emulate/cuda/module.h"
#include "lib/emulate/driver.h"

namespace tgc::ptx {

using LoadedModules = Modules<LoadedModule, Code>;
using Kernel = LoadedModules::Kernel;

// A requested launch; also a kernel node of a CUDA graph.
struct LaunchNode {
  const Kernel* kernel = nullptr;
  Triple grid{}, block{};
  uint64_t shared = 0;  // bytes of dynamic shared memory
  std::vector<std::byte> parameters;
};

class Gpu : public Driver {
 public:
  static Gpu& get();

  int architecture() const { return architecture_; }  // 90 for sm_90
  std::string name() const;
  LoadedModules& modules() { return modules_; }

  // Loads PTX. Sets `log` to the error message, in the format of NVIDIA's compiler log.
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
