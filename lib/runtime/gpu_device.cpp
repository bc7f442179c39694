#include "lib/runtime/gpu_device.h"

#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "lib/runtime/emulated.h"

namespace tgc {

namespace {

class GpuKernel : public Kernel {
 public:
  GpuKernel(GpuDevice& device, KernelSource source, void* module, void* function)
      : Kernel(device), gpu_device_(device), source_(std::move(source)), module_(module), function_(function) {}
  ~GpuKernel() override {
    for (void* e : events_)
      if (e) gpu_device_.functions().destroy_event.call_driver(e);
    gpu_device_.functions().unload_module.call_driver(module_);
  }

  Status launch(const LaunchArguments& a) override {
    if (int code = gpu_device_.launch(function_, a))
      return make_launch_error(
          code, std::string(gpu_device_.functions().launch.name) + ": " + gpu_device_.error_text(code), source_);
    return Unit{};
  }

  Result<double> time_launch(const LaunchArguments& a) override {
    const GpuFunctions& gpu = gpu_device_.functions();
    for (void*& e : events_)
      if (!e)
        if (auto status = gpu_device_.create_event(&e); !status) return status.diag();
    Status done = gpu_device_.call_driver(gpu.record_event, events_[0], nullptr);
    if (done) done = launch(a);
    if (done) done = gpu_device_.call_driver(gpu.record_event, events_[1], nullptr);
    if (done) done = gpu_device_.call_driver(gpu.await_event, events_[1]);
    float milliseconds = 0;
    if (done) done = gpu_device_.call_driver(gpu.elapsed_time, &milliseconds, events_[0], events_[1]);
    if (!done) return done.diag();
    return double(milliseconds) * 1e-3;
  }

 private:
  GpuDevice& gpu_device_;
  KernelSource source_;
  void *module_, *function_;
  void* events_[2] = {};
};

}  // namespace

Diag GpuDevice::make_call_error(std::string_view function, int code) const {
  if (function.ends_with("_v2")) function.remove_suffix(3);
  return Diag{std::string(function) + ": " + error_text(code)};
}

Status GpuDevice::init_driver(const std::string& maker) {
  if (auto status = call_driver(driver_functions_.init, 0u); !status) return status;
  int count = 0;
  if (auto status = call_driver(driver_functions_.count_devices, &count); !status) return status;
  if (count == 0) return Diag{"the " + maker + " driver finds no GPU"};
  return Unit{};
}

Result<DeviceBuffer> GpuDevice::allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (int code = driver_functions_.allocate.call_driver(&memory, std::max<uint64_t>(bytes, 1)))
    return Diag{"cannot allocate " + std::to_string(bytes) + " bytes: " + error_text(code)};
  return DeviceBuffer{reinterpret_cast<uint64_t>(memory), 0, bytes};
}

int GpuDevice::launch(void* function, const LaunchSize& size, void** parameters, void** extra) const {
  auto [gx, gy, gz] = size.global_size;
  auto [lx, ly, lz] = size.local_size.value_or(std::array<uint32_t, 3>{1, 1, 1});
  return driver_functions_.launch.call_driver(function, gx, gy, gz, lx, ly, lz, 0, nullptr, parameters, extra);
}

Result<std::unique_ptr<Kernel>> GpuDevice::make_kernel(const KernelSource& source, void* module) {
  void* function = nullptr;
  if (int code = driver_functions_.get_function.call_driver(&function, module, source.function_name.c_str())) {
    driver_functions_.unload_module.call_driver(module);
    return Diag{std::string(driver_functions_.get_function.name) + " '" + source.function_name +
                "': " + error_text(code)};
  }
  return std::unique_ptr<Kernel>(std::make_unique<GpuKernel>(*this, source, module, function));
}

Result<DynamicLibrary> DynamicLibrary::open(std::span<const std::string> names) {
  std::string reasons;
  for (const std::string& name : names) {
    DynamicLibrary library;
    library.path_ = name;
    library.library_handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.library_handle_) return library;
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason ? reason : name + " does not load");
  }
  return Diag{reasons};
}

Result<DynamicLibrary> DynamicLibrary::open(const char* variable, std::initializer_list<std::string> names) {
  if (const char* path = std::getenv(variable); path && *path) return open(std::vector<std::string>{path});
  return open(std::span(names.begin(), names.size()));
}

void* DynamicLibrary::find_symbol(const char* name) const {
  return library_handle_ ? dlsym(library_handle_, name) : nullptr;
}

}  // namespace tgc
