#include "lib/runtime/hip/hip_device.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/emulate/hip/properties.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/dynamic_library.h"
#include "lib/runtime/emulated.h"

namespace tgc {
namespace {

// ---- the parts of hip_runtime_api.h that tgc uses
using hipError_t = int;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
constexpr int kHostToDevice = 1, kDeviceToHost = 2;  // values of hipMemcpyKind

#define TGC_HIP_FUNCTIONS(X)                                                                                   \
  X(hipGetErrorName, const char*, (hipError_t))                                                                \
  X(hipGetErrorString, const char*, (hipError_t))                                                              \
  X(hipInit, hipError_t, (unsigned))                                                                           \
  X(hipGetDeviceCount, hipError_t, (int*))                                                                     \
  X(hipSetDevice, hipError_t, (int))                                                                           \
  X(hipGetDevicePropertiesR0600, hipError_t, (hip::Properties*, int))                                               \
  X(hipMalloc, hipError_t, (void**, size_t))                                                                   \
  X(hipFree, hipError_t, (void*))                                                                              \
  X(hipMemcpy, hipError_t, (void*, const void*, size_t, int))                                                  \
  X(hipModuleLoadData, hipError_t, (hipModule_t*, const void*))                                                \
  X(hipModuleUnload, hipError_t, (hipModule_t))                                                                \
  X(hipModuleGetFunction, hipError_t, (hipFunction_t*, hipModule_t, const char*))                              \
  X(hipModuleLaunchKernel, hipError_t,                                                                         \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**, \
     void**))                                                                                                  \
  X(hipDeviceSynchronize, hipError_t, ())                                                                      \
  X(hipEventCreate, hipError_t, (hipEvent_t*))                                                                 \
  X(hipEventRecord, hipError_t, (hipEvent_t, hipStream_t))                                                     \
  X(hipEventSynchronize, hipError_t, (hipEvent_t))                                                             \
  X(hipEventElapsedTime, hipError_t, (float*, hipEvent_t, hipEvent_t))                                         \
  X(hipEventDestroy, hipError_t, (hipEvent_t))

struct Api {
#define X(name, type, parameters) type(*name) parameters = nullptr;
  TGC_HIP_FUNCTIONS(X)
#undef X
};

Status load_api(Api& api) {
  auto library =
      DynamicLibrary::open("TGC_HIP_LIBRARY", {"libamdhip64.so", "/opt/rocm/lib/libamdhip64.so", "libamdhip64.so.6"});
  if (!library) return Diag{"no AMD driver (ROCm): " + library.diag().message};
#define X(name, type, parameters) \
  if (auto status = library->bind(api.name, #name); !status) return status;
  TGC_HIP_FUNCTIONS(X)
#undef X
  return Unit{};
}

class HipDevice : public Device {
 public:
  Result<std::string> compile(const KernelSource& source) override {
    return compile_source(source, is_emulated("AMD"));  // with source lines for an emulator, whose reports name them
  }
  Status open() override;
  std::string target() const override { return "AMD:HIP:" + arch_; }
  std::string description() const override { return name_; }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    void* memory = nullptr;
    if (hipError_t code = hip.hipMalloc(&memory, std::max<uint64_t>(bytes, 1)))
      return Diag{"cannot allocate " + std::to_string(bytes) + " bytes: " + error_text(code)};
    return DeviceBuffer{reinterpret_cast<uint64_t>(memory), 0, bytes};
  }
  void free(const DeviceBuffer& b) override { hip.hipFree(reinterpret_cast<void*>(b.handle)); }
  Status copy_in(const DeviceBuffer& to, const void* from) override {
    return check(hip.hipMemcpy(address(to), from, to.bytes, kHostToDevice), "hipMemcpy");
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    if (auto status = synchronize(); !status) return status;
    return check(hip.hipMemcpy(to, address(from), from.bytes, kDeviceToHost), "hipMemcpy");
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
  Status synchronize() override { return check(hip.hipDeviceSynchronize(), "hipDeviceSynchronize"); }

  static void* address(const DeviceBuffer& b) { return reinterpret_cast<void*>(b.handle + b.offset); }
  Status check(hipError_t code, const char* function) const {
    if (code == 0) return Unit{};
    return Diag{std::string(function) + ": " + error_text(code)};
  }
  std::string error_text(hipError_t code) const {
    return std::string(hip.hipGetErrorName(code)) + " (" + hip.hipGetErrorString(code) + ")";
  }

  Api hip;

 private:

  std::string name_, arch_;
  bool is_open_ = false;
};

class HipKernel : public Kernel {
 public:
  HipKernel(HipDevice& device, KernelSource source, hipModule_t module, hipFunction_t function)
      : Kernel(device), source_(std::move(source)), module_(module), function_(function) {}
  ~HipKernel() override {
    for (hipEvent_t e : events_)
      if (e) device().hip.hipEventDestroy(e);
    device().hip.hipModuleUnload(module_);
  }

  // Passes the arguments as one block: addresses, then 32-bit integers.
  Status launch(const LaunchArguments& a) override {
    block_.clear();
    auto append = [&](const void* bytes, size_t n) { block_.append(static_cast<const char*>(bytes), n); };
    for (const DeviceBuffer& b : a.buffers) {
      void* address = HipDevice::address(b);
      append(&address, sizeof address);
    }
    for (int64_t v : a.variables) {
      auto value = int32_t(v);
      append(&value, sizeof value);
    }
    size_t bytes = block_.size();
    auto tag = [](uintptr_t t) { return reinterpret_cast<void*>(t); };
    void* extra[] = {tag(1), block_.data(), tag(2), &bytes, tag(3)};  // HIP's tags: 1 address, 2 size, 3 end of list
    auto [gx, gy, gz] = a.size.global;
    auto [lx, ly, lz] = a.size.local.value_or(std::array<uint32_t, 3>{1, 1, 1});
    hipError_t code =
        device().hip.hipModuleLaunchKernel(function_, gx, gy, gz, lx, ly, lz, 0, nullptr, nullptr, extra);
    if (code) return launch_error(code, "hipModuleLaunchKernel: " + device().error_text(code), source_);
    return Unit{};
  }

  Result<double> time(const LaunchArguments& a) override {
    const Api& hip = device().hip;
    for (hipEvent_t& e : events_)
      if (!e)
        if (auto status = device().check(hip.hipEventCreate(&e), "hipEventCreate"); !status) return status.diag();
    Status done = device().check(hip.hipEventRecord(events_[0], nullptr), "hipEventRecord");
    if (done) done = launch(a);
    if (done) done = device().check(hip.hipEventRecord(events_[1], nullptr), "hipEventRecord");
    if (done) done = device().check(hip.hipEventSynchronize(events_[1]), "hipEventSynchronize");
    float milliseconds = 0;
    if (done)
      done = device().check(hip.hipEventElapsedTime(&milliseconds, events_[0], events_[1]), "hipEventElapsedTime");
    if (!done) return done.diag();
    return double(milliseconds) * 1e-3;
  }

 private:
  HipDevice& device() { return static_cast<HipDevice&>(device_); }

  KernelSource source_;
  hipModule_t module_;
  hipFunction_t function_;
  hipEvent_t events_[2] = {};
  std::string block_;
};

Status HipDevice::open() {
  if (is_open_) return Unit{};
  if (auto status = load_api(hip); !status) return status;
  if (auto status = check(hip.hipInit(0), "hipInit"); !status) return status;
  int count = 0;
  if (auto status = check(hip.hipGetDeviceCount(&count), "hipGetDeviceCount"); !status) return status;
  if (count == 0) return Diag{"the AMD driver finds no GPU"};
  if (auto status = check(hip.hipSetDevice(0), "hipSetDevice"); !status) return status;
  hip::Properties properties{};
  if (auto status = check(hip.hipGetDevicePropertiesR0600(&properties, 0), "hipGetDeviceProperties"); !status)
    return status;
  auto text = [](const char* from, size_t n) { return std::string(from, strnlen(from, n)); };
  name_ = text(properties.name, sizeof properties.name);
  arch_ = text(properties.arch_name, sizeof properties.arch_name);
  is_open_ = true;
  return Unit{};
}

Result<std::unique_ptr<Kernel>> HipDevice::load(const KernelSource& source, const std::string& code) {
  hipModule_t module = nullptr;
  if (hipError_t error = hip.hipModuleLoadData(&module, code.data()))
    return Diag{"the driver does not load the kernel '" + source.name + "' of " + source.target + ": " +
                error_text(error)};
  hipFunction_t function = nullptr;
  if (hipError_t error = hip.hipModuleGetFunction(&function, module, source.function_name.c_str())) {
    hip.hipModuleUnload(module);
    return Diag{"hipModuleGetFunction '" + source.function_name + "': " + error_text(error)};
  }
  return std::unique_ptr<Kernel>(std::make_unique<HipKernel>(*this, source, module, function));
}

}  // namespace

std::unique_ptr<Device> make_hip_device() { return std::make_unique<HipDevice>(); }

}  // namespace tgc
