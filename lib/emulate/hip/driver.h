// The emulated AMD GPU: loads code objects and runs launches for the HIP functions in hip_api.cpp.
#pragma once
#include "lib/emulate/driver.h"
#include "lib/emulate/hip/launch.h"
#include "lib/emulate/hip/module.h"

namespace tgc::hip {

using LoadedModules = Modules<LoadedModule, Code>;
using Kernel = LoadedModules::Kernel;

class Gpu : public Driver {
 public:
  static Gpu& get();

  const std::string& architecture() const { return architecture_; }  // such as "gfx1100"
  LoadedModules& modules() { return modules_; }

  int load(const void* image, LoadedModule*& module);
  // Launches a kernel. The arguments must be one block in hipModuleLaunchKernel's `extra`; `parameters` must be null.
  int launch(const Kernel* kernel, const Triple& grid, const Triple& block, uint64_t group_bytes, void** parameters,
             void** extra);

 private:
  Gpu();

  std::string architecture_ = "gfx1100";
  TraceLog* log_ = nullptr;  // null: executed instructions are not logged
  LoadedModules modules_;
};

}  // namespace tgc::hip
