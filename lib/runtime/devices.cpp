#include "lib/runtime/devices.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "lib/contain/contain.h"
#include "lib/runtime/backends.h"
#include "lib/runtime/emulated.h"
#include "lib/runtime/gpu_device.h"
#include "lib/runtime/ref/ref.h"

namespace tgc {

namespace {

Result<std::unique_ptr<Device>> make_plugin_device(std::string_view path_and_options) {
  size_t colon = path_and_options.find(':');
  std::string path(path_and_options.substr(0, colon));
  std::string options(colon == path_and_options.npos ? "" : path_and_options.substr(colon + 1));
  if (path.empty()) return Diag{.message = "a plugin needs a path", .expected = "plugin:PATH of a shared library"};
  // for a name without a slash, the loader does not search the current folder
  if (path.find('/') == path.npos) path = "./" + path;
  const std::string names[] = {path};
  auto library = DynamicLibrary::open(names);
  if (!library) return Diag{"the plugin does not load: " + library.diag().message};
  TgcDeviceFunction* make = nullptr;
  if (auto status = library->bind_function(make, "tgc_device"); !status)
    return Diag{"not a tgc plugin: " + status.diag().message};
  std::unique_ptr<Device> device(make(kDeviceInterfaceVersion, options.c_str()));
  if (!device)
    return Diag{"the plugin '" + path + "' does not support version " + std::to_string(kDeviceInterfaceVersion) +
                " of the device interface"};
  return device;
}

std::unique_ptr<Device> make_real_or_emulated_metal() {
  return is_emulated("METAL") ? make_emulated_metal_device() : make_metal_device();
}

struct DeviceBackend {
  std::string_view device, renderer;
  std::string_view execution_method;
  std::unique_ptr<Device> (*make_backend_device)();
};

// The first row of each device is its default backend.
const DeviceBackend kBackends[] = {
    {"CPU", "LLVM", "LLVM IR, machine code by LLVM in this process", [] { return make_cpu_device("LLVM"); }},
    {"CPU", "CLANG", "C, machine code by clang", [] { return make_cpu_device("CLANG"); }},
    {"CL", "", "OpenCL C, compiled by the driver", [] { return make_cl_device(); }},
    {"CUDA", "", "PTX by the NVIDIA driver; CUDA C by NVRTC", [] { return make_cuda_device(); }},
    {"AMD", "", "code objects of HIP or LLVM IR by LLVM, run by ROCm's HIP", [] { return make_hip_device(); }},
    {"METAL", "", "Metal, compiled by the driver", make_real_or_emulated_metal},
    {"WEBGPU", "", "WGSL, compiled by wgpu-native", [] { return make_webgpu_device(); }},
    {"REF", "", "the UOps themselves", [] { return make_ref_device(); }},
};

std::set<std::string>& allowed_plugins() {
  static std::set<std::string> texts;
  return texts;
}

std::string to_upper_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return out;
}

std::string_view renderer_part(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == text.npos) return {};
  text.remove_prefix(colon + 1);
  return text.substr(0, text.find(':'));
}

std::string known_devices_text() {
  std::string out;
  for (const DeviceBackend& b : kBackends)
    out += std::string(b.device) + (b.renderer.empty() ? "" : ":" + std::string(b.renderer)) + ", ";
  return out + "plugin:PATH";
}

}  // namespace

std::string_view device_part(std::string_view text) { return text.substr(0, text.find(':')); }

void allow_plugin(std::string_view text) {
  if (device_part(text) == "plugin") allowed_plugins().emplace(text);
}

Result<std::unique_ptr<Device>> make_device(std::string_view text) {
  if (device_part(text) == "plugin") {
    if (!allowed_plugins().contains(std::string(text)))
      return Diag{.message = "'" + std::string(text) + "' is named by the input, and a plugin is native code",
                  .expected = "--device=" + std::string(text) + " on the command line, if you trust that file"};
    return make_plugin_device(text.size() > 7 ? text.substr(7) : std::string_view());
  }
  std::string device = to_upper_case(device_part(text)), renderer = to_upper_case(renderer_part(text));
  for (const DeviceBackend& b : kBackends)
    if (b.device == device && (renderer.empty() || b.renderer.empty() || b.renderer == renderer))
      return b.make_backend_device();
  // the device CUDA runs NV's kernels, and AMD runs HIP's; no device of tgc runs QCOM's
  if (device == "NV" || device == "HIP" || device == "QCOM") {
    std::string same = device == "NV"    ? "CUDA, which runs the same kernels by NVIDIA's driver, or "
                       : device == "HIP" ? "AMD, which runs the same kernels by ROCm, or "
                                         : "";
    return Diag{.message = "tgc lowers kernels for '" + std::string(text) + "' but has no device that runs them",
                .expected = same + "--device=REF --target=" + std::string(text) + ", which interprets them"};
  }
  return Diag{.message = "no device '" + std::string(text) + "'", .expected = known_devices_text()};
}

RuntimeInfo probe_device(std::string_view text) {
  RuntimeInfo info{.name = std::string(text)};
  constexpr double kPatience = 20;  // seconds; a GPU driver may start slowly the first time
  auto answer = run_in_sandbox(
      [&](Worker&) -> Result<std::string> {
        auto device = make_device(text);
        if (!device) return device.diag();
        if (auto status = (*device)->open(); !status) return status.diag();
        return (*device)->target() + "\n" + (*device)->description();
      },
      {.timeout_seconds = kPatience});
  info.is_available = answer.ok();
  if (!answer) {
    info.detail_text = answer.diag().message;
    return info;
  }
  size_t line = answer->find('\n');
  info.target = answer->substr(0, line);
  info.detail_text = answer->substr(line + 1);
  return info;
}

std::vector<RuntimeInfo> probe_runtimes() {
  std::vector<RuntimeInfo> out;
  for (const DeviceBackend& b : kBackends) {
    std::string name = std::string(b.device) + (b.renderer.empty() ? "" : ":" + std::string(b.renderer));
    out.push_back(probe_device(name));
    out.back().execution_method = b.execution_method;
  }
  return out;
}

}  // namespace tgc
