// The backends that tgc has, by name, and plugins.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"

namespace tgc {

// The device of a target or a name: "CPU" (by LLVM), "CPU:CLANG", "CL", "CUDA:PTX:sm_80", "AMD", "METAL", "REF",
// "plugin:PATH[:OPTIONS]". Nothing of a driver is loaded yet. An unknown name is an error that lists what there is; a
// plugin that does not load one with the reason.
Result<std::unique_ptr<Device>> make_device(std::string_view text);

// The device's part of such a text: "CUDA". Of a plugin "plugin".
std::string_view device_part(std::string_view text);

// A backend as a listing shows it.
struct RuntimeInfo {
  std::string name;      // as --device takes it: "CPU:LLVM", "CL"
  std::string drives;    // what it is made of: "machine code by LLVM", "OpenCL through its loader"
  bool works = false;
  std::string detail;    // the hardware in words, or why it does not work and what would help
  std::string target;    // what kernels for it are lowered for by default, of one that works
};
// Each backend opened in a process of its own, so that a driver that crashes or hangs does so there.
std::vector<RuntimeInfo> runtimes();

// Opens a device of that name in a process of its own and says what it found.
RuntimeInfo probe_device(std::string_view text);

}  // namespace tgc
