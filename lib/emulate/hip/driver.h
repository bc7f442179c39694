// The emulated AMD GPU: what the HIP functions (driver.cc) do with code objects and with launches.
#pragma once
#include "lib/emulate/driver.h"
#include "lib/emulate/hip/launch.h"
#include "lib/emulate/hip/module.h"

namespace tgc::hip {

using InputGraph = Modules<LoadedModule, Code>;
using Kernel = InputGraph::Kernel;

class Gpu : public Driver {
 public:
  static Gpu& get();

  const std::string& architecture() const { return architecture_; }  // "gfx1100"
  InputGraph& modules() { return modules_; }

  int load(const void* image, LoadedModule*& module);
  // The arguments come as one block (hipModuleLaunchKernel's `extra`).
  int launch(const Kernel* kernel, const Triple& grid, const Triple& block, uint64_t group_bytes, void** parameters,
             void** extra);

 private:
  Gpu();

  std::string architecture_ = "gfx1100";
  InputGraph modules_;
};

}  // namespace tgc::hip
