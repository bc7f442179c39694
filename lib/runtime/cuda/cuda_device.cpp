#include "lib/runtime/backends.h"

#include <vector>

#include "lib/runtime/compile_source.h"
#include "lib/runtime/emulated.h"
#include "lib/runtime/gpu_device.h"

namespace tgc {
namespace {

class CudaDevice : public GpuDevice {
 public:
  CudaDevice()
      : GpuDevice({.init = {"cuInit"},
                   .count_devices = {"cuDeviceGetCount"},
                   .allocate = {"cuMemAlloc_v2"},
                   .free = {"cuMemFree_v2"},
                   .unload_module = {"cuModuleUnload"},
                   .get_function = {"cuModuleGetFunction"},
                   .launch = {"cuLaunchKernel"},
                   .synchronize = {"cuCtxSynchronize"},
                   .record_event = {"cuEventRecord"},
                   .await_event = {"cuEventSynchronize"},
                   .elapsed_time = {"cuEventElapsedTime"},
                   .destroy_event = {"cuEventDestroy_v2"}}) {}
  ~CudaDevice() override {
    if (context_) release_context_.call_driver(device_);
  }

  Result<std::string> compile(const KernelSource& source) override {
    return compile_source(source, is_emulated("CUDA"));  // an emulator's reports name source lines
  }
  Status open() override;
  std::string target() const override {
    return "CUDA:CUDA:sm_" + std::to_string(capability_major_ * 10 + capability_minor_);
  }

  Status copy_in(const DeviceBuffer& to, const void* from) override {
    return call_driver(copy_to_device_, address_of(to), from, to.bytes);
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    return call_driver(copy_to_host_, to, address_of(from), from.bytes);
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;

  int launch(void* function, const LaunchArguments& a) override {
    argument_values_.clear();
    for (const DeviceBuffer& b : a.buffers) argument_values_.push_back(b.handle + b.offset);
    for (int64_t v : a.variables) argument_values_.push_back(uint64_t(uint32_t(v)));
    argument_pointers_.clear();
    for (uint64_t& v : argument_values_) argument_pointers_.push_back(&v);
    return GpuDevice::launch(function, a.launch_size, argument_pointers_.data(), nullptr);
  }
  Status create_event(void** event) const override { return call_driver(create_event_, event, 0u); }
  std::string error_text(int code) const override {
    const char *name = nullptr, *text = nullptr;
    error_name_.call_driver(code, &name);
    error_string_.call_driver(code, &text);
    return (name ? name : "CUDA error " + std::to_string(code)) + (text ? " (" + std::string(text) + ")" : "");
  }

 private:
  DriverFunction<int, const char**> error_name_{"cuGetErrorName"}, error_string_{"cuGetErrorString"};
  DriverFunction<int*, int> get_device_{"cuDeviceGet"};
  DriverFunction<char*, int, int> get_name_{"cuDeviceGetName"};
  DriverFunction<int*, int, int> get_attribute_{"cuDeviceGetAttribute"};
  DriverFunction<void**, int> retain_context_{"cuDevicePrimaryCtxRetain"};
  DriverFunction<int> release_context_{"cuDevicePrimaryCtxRelease_v2"};
  DriverFunction<void*> set_context_{"cuCtxSetCurrent"};
  DriverFunction<void*, const void*, size_t> copy_to_device_{"cuMemcpyHtoD_v2"};
  DriverFunction<void*, void*, size_t> copy_to_host_{"cuMemcpyDtoH_v2"};
  DriverFunction<void**, const void*, unsigned, int*, void**> load_module_{"cuModuleLoadDataEx"};
  DriverFunction<void**, unsigned> create_event_{"cuEventCreate"};

  int device_ = 0;
  void* context_ = nullptr;
  int capability_major_ = 0, capability_minor_ = 0;
  std::vector<uint64_t> argument_values_;
  std::vector<void*> argument_pointers_;
};

Status CudaDevice::open() {
  constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;  // values of CUdevice_attribute
  if (context_) return Unit{};
  auto library = DynamicLibrary::open("TGC_CUDA_LIBRARY", {"libcuda.so.1", "libcuda.so"});
  if (!library) return Diag{"no NVIDIA driver: " + library.diag().message};
  if (auto status =
      bind_functions(*library, error_name_, error_string_, get_device_, get_name_, get_attribute_, retain_context_,
                     release_context_, set_context_, copy_to_device_, copy_to_host_, load_module_, create_event_);
      !status)
    return status;
  if (auto status = init_driver("NVIDIA"); !status) return status;
  if (auto status = call_driver(get_device_, &device_, 0); !status) return status;
  char name[256] = "";
  get_name_.call_driver(name, sizeof name, device_);
  name_ = name;
  get_attribute_.call_driver(&capability_major_, kComputeCapabilityMajor, device_);
  get_attribute_.call_driver(&capability_minor_, kComputeCapabilityMinor, device_);
  if (auto status = call_driver(retain_context_, &context_, device_); !status) return status;
  return call_driver(set_context_, context_);
}

Result<std::unique_ptr<Kernel>> CudaDevice::load(const KernelSource& source, const std::string& code) {
  constexpr int kErrorLogBuffer = 5, kErrorLogBufferBytes = 6;  // values of CUDA's enum CUjit_option
  char log[8192] = "";
  int options[] = {kErrorLogBuffer, kErrorLogBufferBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  void* module = nullptr;
  if (int error = load_module_.call_driver(&module, code.c_str(), 2, options, values)) {
    std::string why = error_text(error);  // the emulator's text already includes `log`
    return Diag{.message = "the driver does not load the kernel '" + source.name + "' of " + source.target + ": " + why,
                .context = why.find(log) == why.npos ? log : ""};
  }
  return make_kernel(source, module);
}

}  // namespace

std::unique_ptr<Device> make_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace tgc
