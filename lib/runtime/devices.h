#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"

namespace tgc {

// Creates the device for a target or device name, such as "CPU:CLANG", "CUDA:PTX:sm_80" or "plugin:PATH[:OPTIONS]".
// Loads a plugin's library, but no driver. Fails, for example, if tgc has no such device, or if allow_plugin() did not
// allow the plugin.
Result<std::unique_ptr<Device>> make_device(std::string_view text);

// Allows make_device() to load a plugin, for "plugin:PATH[:OPTIONS]" on the command line. A plugin is native code that
// runs in tgc's own process, so no input file may choose it.
void allow_plugin(std::string_view text);

// Returns "CUDA" for "CUDA:PTX:sm_80".
std::string_view device_part(std::string_view text);

struct RuntimeInfo {
  std::string name;              // such as "CPU:LLVM"
  std::string execution_method;  // such as "C, machine code by clang"
  bool is_available = false;
  std::string detail_text;  // the hardware, or why the backend does not work
  std::string target;       // default target of kernels; empty if the backend does not work
};
// Opens every backend, each in a separate process, because a driver may crash.
std::vector<RuntimeInfo> probe_runtimes();

// Opens the named device in a separate process and returns its status.
RuntimeInfo probe_device(std::string_view text);

}  // namespace tgc
