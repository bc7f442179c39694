// The emulated NVIDIA GPU: what the driver's functions (driver.cc) do with PTX and with launches.
#pragma once
#include <string_view>

#include "lib/emulate/cuda/launch.h"
#include "lib/emulate/cuda/module.h"
#include "lib/emulate/driver.h"

namespace tgc::ptx {

using InputGraph = Modules<LoadedModule, Code>;
using Kernel = InputGraph::Kernel;

// A launch as the driver is asked for it; a graph keeps such nodes.
struct LaunchNode {
  const Kernel* kernel = nullptr;
  Triple grid{}, block{};
  uint64_t shared = 0;  // bytes
  std::vector<std::byte> parameters;
};

class Gpu : public Driver {
 public:
  static Gpu& get();

  int architecture() const { return architecture_; }  // 90 of sm_90
  std::string name() const;
  InputGraph& modules() { return modules_; }

  // `log` gets what a compiler would say of the text.
  int load(std::string_view text, LoadedModule*& module, std::string& log);
  // The parameters from cuLaunchKernel's two ways to give them.
  int parameters_of(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>& to);
  int launch(const LaunchNode& node);

 private:
  Gpu();

  int architecture_ = 90;
  InputGraph modules_;
};

}  // namespace tgc::ptx
