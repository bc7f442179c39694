#include "lib/runtime/cuda/cuda_device.h"

#include <algorithm>
#include <vector>

#include "lib/runtime/compile_source.h"
#include "lib/runtime/dynamic_library.h"
#include "lib/runtime/emulated.h"

namespace tgc {
namespace {

// ---- the parts of cuda.h that tgc uses; the header is not free software
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUevent = struct CUevent_st*;
using CUstream = struct CUstream_st*;
constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;  // values of CUdevice_attribute
constexpr int kErrorLogBuffer = 5, kErrorLogBufferBytes = 6;               // values of CUjit_option

#define TGC_CUDA_FUNCTIONS(X)                                                                                     \
  X(cuInit, (unsigned))                                                                                           \
  X(cuGetErrorName, (CUresult, const char**))                                                                     \
  X(cuGetErrorString, (CUresult, const char**))                                                                   \
  X(cuDeviceGetCount, (int*))                                                                                     \
  X(cuDeviceGet, (CUdevice*, int))                                                                                \
  X(cuDeviceGetName, (char*, int, CUdevice))                                                                      \
  X(cuDeviceGetAttribute, (int*, int, CUdevice))                                                                  \
  X(cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                                                             \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                                     \
  X(cuCtxSetCurrent, (CUcontext))                                                                                 \
  X(cuCtxSynchronize, ())                                                                                         \
  X(cuMemAlloc_v2, (CUdeviceptr*, size_t))                                                                        \
  X(cuMemFree_v2, (CUdeviceptr))                                                                                  \
  X(cuMemcpyHtoD_v2, (CUdeviceptr, const void*, size_t))                                                          \
  X(cuMemcpyDtoH_v2, (void*, CUdeviceptr, size_t))                                                                \
  X(cuModuleLoadDataEx, (CUmodule*, const void*, unsigned, int*, void**))                                         \
  X(cuModuleUnload, (CUmodule))                                                                                   \
  X(cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                                                    \
  X(cuLaunchKernel,                                                                                               \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**)) \
  X(cuEventCreate, (CUevent*, unsigned))                                                                          \
  X(cuEventRecord, (CUevent, CUstream))                                                                           \
  X(cuEventSynchronize, (CUevent))                                                                                \
  X(cuEventElapsedTime, (float*, CUevent, CUevent))                                                               \
  X(cuEventDestroy_v2, (CUevent))

struct Api {
#define X(name, parameters) CUresult(*name) parameters = nullptr;
  TGC_CUDA_FUNCTIONS(X)
#undef X
};

Status load_api(Api& api) {
  auto library = DynamicLibrary::open("TGC_CUDA_LIBRARY", {"libcuda.so.1", "libcuda.so"});
  if (!library) return Diag{"no NVIDIA driver: " + library.diag().message};
#define X(name, parameters) \
  if (auto status = library->bind(api.name, #name); !status) return status;
  TGC_CUDA_FUNCTIONS(X)
#undef X
  return Unit{};
}

class CudaDevice : public Device {
 public:
  ~CudaDevice() override {
    if (context_) cu.cuDevicePrimaryCtxRelease_v2(device_);
  }

  Result<std::string> compile(const KernelSource& source) override {
    return compile_source(source, is_emulated("CUDA"));  // with source lines for an emulator, whose reports name them
  }
  Status open() override;
  std::string target() const override { return "CUDA:CUDA:sm_" + std::to_string(major_ * 10 + minor_); }
  std::string description() const override { return name_; }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    CUdeviceptr address = 0;
    if (CUresult code = cu.cuMemAlloc_v2(&address, std::max<uint64_t>(bytes, 1)))
      return Diag{"cannot allocate " + std::to_string(bytes) + " bytes: " + error_text(code)};
    return DeviceBuffer{address, 0, bytes};
  }
  void free(const DeviceBuffer& buffer) override { cu.cuMemFree_v2(buffer.handle); }
  Status copy_in(const DeviceBuffer& to, const void* from) override {
    return check(cu.cuMemcpyHtoD_v2(address(to), from, to.bytes), "cuMemcpyHtoD");
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    return check(cu.cuMemcpyDtoH_v2(to, address(from), from.bytes), "cuMemcpyDtoH");
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
  Status synchronize() override { return check(cu.cuCtxSynchronize(), "cuCtxSynchronize"); }

  static CUdeviceptr address(const DeviceBuffer& b) { return b.handle + b.offset; }
  Status check(CUresult code, const char* function) const {
    if (code == 0) return Unit{};
    return Diag{std::string(function) + ": " + error_text(code)};
  }
  std::string error_text(CUresult code) const {
    const char *name = nullptr, *text = nullptr;
    if (cu.cuGetErrorName) cu.cuGetErrorName(code, &name);
    if (cu.cuGetErrorString) cu.cuGetErrorString(code, &text);
    return (name ? name : "CUDA error " + std::to_string(code)) + (text ? " (" + std::string(text) + ")" : "");
  }

  Api cu;

 private:

  std::string name_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  int major_ = 0, minor_ = 0;
};

class CudaKernel : public Kernel {
 public:
  CudaKernel(CudaDevice& device, KernelSource source, CUmodule module, CUfunction function)
      : Kernel(device), source_(std::move(source)), module_(module), function_(function) {}
  ~CudaKernel() override {
    for (CUevent e : events_)
      if (e) device().cu.cuEventDestroy_v2(e);
    device().cu.cuModuleUnload(module_);
  }

  Status launch(const LaunchArguments& a) override {
    values_.clear();
    for (const DeviceBuffer& b : a.buffers) values_.push_back(CudaDevice::address(b));
    for (int64_t v : a.variables) values_.push_back(uint64_t(uint32_t(v)));  // the kernel reads the low four bytes
    pointers_.clear();
    for (uint64_t& v : values_) pointers_.push_back(&v);
    auto [gx, gy, gz] = a.size.global;
    auto [lx, ly, lz] = a.size.local.value_or(std::array<uint32_t, 3>{1, 1, 1});
    CUresult code =
        device().cu.cuLaunchKernel(function_, gx, gy, gz, lx, ly, lz, 0, nullptr, pointers_.data(), nullptr);
    if (code) return launch_error(code, "cuLaunchKernel: " + device().error_text(code), source_);
    return Unit{};
  }

  Result<double> time(const LaunchArguments& a) override {
    const Api& cu = device().cu;
    for (CUevent& e : events_)
      if (!e)
        if (auto status = device().check(cu.cuEventCreate(&e, 0), "cuEventCreate"); !status) return status.diag();
    Status done = device().check(cu.cuEventRecord(events_[0], nullptr), "cuEventRecord");
    if (done) done = launch(a);
    if (done) done = device().check(cu.cuEventRecord(events_[1], nullptr), "cuEventRecord");
    if (done) done = device().check(cu.cuEventSynchronize(events_[1]), "cuEventSynchronize");
    float milliseconds = 0;
    if (done) done = device().check(cu.cuEventElapsedTime(&milliseconds, events_[0], events_[1]), "cuEventElapsedTime");
    if (!done) return done.diag();
    return double(milliseconds) * 1e-3;
  }

 private:
  CudaDevice& device() { return static_cast<CudaDevice&>(device_); }

  KernelSource source_;
  CUmodule module_;
  CUfunction function_;
  CUevent events_[2] = {};
  std::vector<uint64_t> values_;
  std::vector<void*> pointers_;
};

Status CudaDevice::open() {
  if (context_) return Unit{};
  if (auto status = load_api(cu); !status) return status;
  if (auto status = check(cu.cuInit(0), "cuInit"); !status) return status;
  int count = 0;
  if (auto status = check(cu.cuDeviceGetCount(&count), "cuDeviceGetCount"); !status) return status;
  if (count == 0) return Diag{"the NVIDIA driver finds no GPU"};
  if (auto status = check(cu.cuDeviceGet(&device_, 0), "cuDeviceGet"); !status) return status;
  char name[256] = "";
  cu.cuDeviceGetName(name, sizeof name, device_);
  name_ = name;
  cu.cuDeviceGetAttribute(&major_, kComputeCapabilityMajor, device_);
  cu.cuDeviceGetAttribute(&minor_, kComputeCapabilityMinor, device_);
  if (auto status = check(cu.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"); !status)
    return status;
  return check(cu.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

Result<std::unique_ptr<Kernel>> CudaDevice::load(const KernelSource& source, const std::string& code) {
  char log[8192] = "";
  int options[] = {kErrorLogBuffer, kErrorLogBufferBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  if (CUresult error = cu.cuModuleLoadDataEx(&module, code.c_str(), 2, options, values)) {
    std::string why = error_text(error);  // an emulator's error text includes its log
    return Diag{.message = "the driver does not load the kernel '" + source.name + "' of " + source.target + ": " + why,
                .context = why.find(log) == why.npos ? log : ""};
  }
  CUfunction function = nullptr;
  if (CUresult error = cu.cuModuleGetFunction(&function, module, source.function_name.c_str())) {
    cu.cuModuleUnload(module);
    return Diag{"cuModuleGetFunction '" + source.function_name + "': " + error_text(error)};
  }
  return std::unique_ptr<Kernel>(std::make_unique<CudaKernel>(*this, source, module, function));
}

}  // namespace

std::unique_ptr<Device> make_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace tgc
