// Creates and probes devices by name: tgc's backends and plugins.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"

namespace tgc {

// Creates the device for a target or device name: "CPU" (LLVM), "CPU:CLANG", "CL", "CUDA:PTX:sm_80", "AMD", "METAL",
// "REF", "plugin:PATH[:OPTIONS]". Loads no driver. Fails if tgc has no such device (the error suggests others), or if a
// plugin does not load or allow_plugin() was not called for it.
Result<std::unique_ptr<Device>> make_device(std::string_view text);

// Allows make_device() to load a plugin, for the value of an option of the command line: "plugin:PATH[:OPTIONS]". Other
// values have no effect. A plugin is native code that runs in tgc's own process, so no file may choose it.
void allow_plugin(std::string_view text);

// The device part of a target or device name: "CUDA" of "CUDA:PTX:sm_80"; "plugin" for a plugin.
std::string_view device_part(std::string_view text);

// The status of a backend, for lists of backends.
struct RuntimeInfo {
  std::string name;              // the backend's name, as --device takes it: "CPU:LLVM", "CL"
  std::string execution_method;  // how the backend compiles and runs kernels: "C, machine code by clang"
  bool is_available = false;
  std::string detail_text;  // the hardware, or why the backend does not work and what would help
  std::string target;       // the default target of kernels; set if the backend works
};
// Opens every backend, each in a separate process, so that a driver that crashes or hangs does not affect this one.
std::vector<RuntimeInfo> probe_runtimes();

// Opens the named device in its own process and returns its status.
RuntimeInfo probe_device(std::string_view text);

}  // namespace tgc
