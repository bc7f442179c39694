#include "lib/runtime/backends.h"

#include <cstring>

#include "lib/emulate/hip/driver.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/emulated.h"
#include "lib/runtime/gpu_device.h"

namespace tgc {
namespace {

class HipDevice : public GpuDevice {
 public:
  HipDevice()
      : GpuDevice({.init = {"hipInit"},
                   .count_devices = {"hipGetDeviceCount"},
                   .allocate = {"hipMalloc"},
                   .free = {"hipFree"},
                   .unload_module = {"hipModuleUnload"},
                   .get_function = {"hipModuleGetFunction"},
                   .launch = {"hipModuleLaunchKernel"},
                   .synchronize = {"hipDeviceSynchronize"},
                   .record_event = {"hipEventRecord"},
                   .await_event = {"hipEventSynchronize"},
                   .elapsed_time = {"hipEventElapsedTime"},
                   .destroy_event = {"hipEventDestroy"}}) {}

  Result<std::string> compile(const KernelSource& source) override {
    return compile_source(source, is_emulated("AMD"));  // an emulator's reports name source lines
  }
  Status open() override;
  std::string target() const override { return "AMD:HIP:" + arch_; }

  Status copy_in(const DeviceBuffer& to, const void* from) override {
    constexpr int kHostToDevice = 1;  // a value of HIP's enum hipMemcpyKind
    return call_driver(copy_memory_, address_of(to), from, to.bytes, kHostToDevice);
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    constexpr int kDeviceToHost = 2;
    if (auto status = synchronize(); !status) return status;
    return call_driver(copy_memory_, to, address_of(from), from.bytes, kDeviceToHost);
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override {
    void* module = nullptr;
    if (int error = load_module_.call_driver(&module, code.data()))
      return Diag{"the driver does not load the kernel '" + source.name + "' of " + source.target + ": " +
                  error_text(error)};
    return make_kernel(source, module);
  }

  // Passes the arguments as one block: the addresses, then the variables as 32-bit integers.
  int launch(void* function, const LaunchArguments& a) override {
    argument_block_.clear();
    auto append = [&](const auto& value) {
      argument_block_.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const DeviceBuffer& b : a.buffers) append(address_of(b));
    for (int64_t v : a.variables) append(int32_t(v));
    size_t bytes = argument_block_.size();
    auto tag = [](uintptr_t t) { return reinterpret_cast<void*>(t); };
    void* extra[] = {tag(1), argument_block_.data(), tag(2), &bytes,
                     tag(3)};  // HIP's tags: 1 address, 2 size, 3 end of list
    return GpuDevice::launch(function, a.launch_size, nullptr, extra);
  }
  Status create_event(void** event) const override { return call_driver(create_event_, event); }
  std::string error_text(int code) const override {
    return std::string(error_name_(code)) + " (" + error_string_(code) + ")";
  }

 private:
  const char* (*error_name_)(int) = nullptr;
  const char* (*error_string_)(int) = nullptr;
  DriverFunction<int> set_device_{"hipSetDevice"};
  DriverFunction<hip::DeviceProperties*, int> get_properties_{"hipGetDevicePropertiesR0600"};
  DriverFunction<void*, const void*, size_t, int> copy_memory_{"hipMemcpy"};
  DriverFunction<void**, const void*> load_module_{"hipModuleLoadData"};
  DriverFunction<void**> create_event_{"hipEventCreate"};

  std::string arch_;
  std::string argument_block_;
  bool is_open_ = false;
};

Status HipDevice::open() {
  if (is_open_) return Unit{};
  auto library =
      DynamicLibrary::open("TGC_HIP_LIBRARY", {"libamdhip64.so", "/opt/rocm/lib/libamdhip64.so", "libamdhip64.so.6"});
  if (!library) return Diag{"no AMD driver (ROCm): " + library.diag().message};
  if (auto status = library->bind_function(error_name_, "hipGetErrorName"); !status) return status;
  if (auto status = library->bind_function(error_string_, "hipGetErrorString"); !status) return status;
  if (auto status = bind_functions(*library, set_device_, get_properties_, copy_memory_, load_module_, create_event_);
      !status)
    return status;
  if (auto status = init_driver("AMD"); !status) return status;
  if (auto status = call_driver(set_device_, 0); !status) return status;
  hip::DeviceProperties properties{};
  if (int code = get_properties_.call_driver(&properties, 0)) return make_call_error("hipGetDeviceProperties", code);
  auto text = [](const char* from, size_t n) { return std::string(from, strnlen(from, n)); };
  name_ = text(properties.name, sizeof properties.name);
  arch_ = text(properties.arch_name, sizeof properties.arch_name);
  is_open_ = true;
  return Unit{};
}

}  // namespace

std::unique_ptr<Device> make_hip_device() { return std::make_unique<HipDevice>(); }

}  // namespace tgc
