#include "lib/runtime/backends.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "lib/runtime/compile_source.h"
#include "lib/runtime/gpu_device.h"

namespace tgc {
namespace {

#define TGC_CL_FUNCTIONS(X)                                                                                \
  X(clGetPlatformIDs)                                                                                      \
  X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clCreateCommandQueue) X(clCreateBuffer)        \
      X(clCreateSubBuffer) X(clReleaseMemObject) X(clEnqueueWriteBuffer) X(clEnqueueReadBuffer)            \
          X(clCreateProgramWithSource) X(clBuildProgram) X(clGetProgramBuildInfo) X(clReleaseProgram)      \
              X(clCreateKernel) X(clSetKernelArg) X(clReleaseKernel) X(clEnqueueNDRangeKernel) X(clFinish) \
                  X(clWaitForEvents) X(clGetEventProfilingInfo) X(clReleaseEvent) X(clReleaseCommandQueue) \
                      X(clReleaseContext)

struct ClFunctions {
#define X(name) decltype(&::name) name = nullptr;
  TGC_CL_FUNCTIONS(X)
#undef X
};

Status load_cl_functions(ClFunctions& api) {
  auto library = DynamicLibrary::open("TGC_OPENCL_LIBRARY",
                                      {"libOpenCL.so.1", "/System/Library/Frameworks/OpenCL.framework/OpenCL"});
  if (!library)
    return Diag{"no OpenCL loader: " + library.diag().message +
                "; on Debian: apt install ocl-icd-libopencl1 pocl-opencl-icd"};
#define X(name) \
  if (auto status = library->bind_function(api.name, #name); !status) return status;
  TGC_CL_FUNCTIONS(X)
#undef X
  return Unit{};
}

std::string error_text(cl_int code) {
  switch (code) {
#define X(name) \
  case name: return #name;
    X(CL_DEVICE_NOT_FOUND) X(CL_COMPILER_NOT_AVAILABLE) X(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    X(CL_OUT_OF_RESOURCES) X(CL_OUT_OF_HOST_MEMORY) X(CL_BUILD_PROGRAM_FAILURE)
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET) X(CL_INVALID_BUFFER_SIZE) X(CL_INVALID_KERNEL_NAME)
    X(CL_INVALID_KERNEL_ARGS) X(CL_INVALID_ARG_SIZE) X(CL_INVALID_WORK_GROUP_SIZE)
    X(CL_INVALID_WORK_ITEM_SIZE)
#undef X
    case -1001: return "no platform: no driver is installed";  // CL_PLATFORM_NOT_FOUND_KHR
    default: return "error " + std::to_string(code);
  }
}

// Source prefix for devices without half arithmetic, such as PoCL on most CPUs, whose compiler is clang: half is
// clang's _Float16.
constexpr std::string_view kHalfWithoutExtension = R"(typedef _Float16 tgc_half;
typedef tgc_half tgc_half2 __attribute__((ext_vector_type(2)));
typedef tgc_half tgc_half4 __attribute__((ext_vector_type(4)));
typedef tgc_half tgc_half8 __attribute__((ext_vector_type(8)));
typedef tgc_half tgc_half16 __attribute__((ext_vector_type(16)));
#define half tgc_half
#define half2 tgc_half2
#define half4 tgc_half4
#define half8 tgc_half8
#define half16 tgc_half16
#define TGC_HALF(name) static tgc_half __attribute__((overloadable)) name(tgc_half x) { return (tgc_half)name((float)x); }
TGC_HALF(exp2) TGC_HALF(log2) TGC_HALF(sin) TGC_HALF(sqrt) TGC_HALF(trunc)
)";

// Source prefix for kernels with images, which become buffers. The source defines NAME_w, NAME_h and NAME_half for an
// image NAME (lib/run/recorded_source.h). An access outside of an image reads 0 or does nothing.
constexpr std::string_view kImagesAsBuffers = R"(#ifdef half
#undef half
#define TGC_HALF_IS_MACRO
#endif
static float4 tgc_read(__global const void* image, int w, int h, int is_half, int2 at) {
  if (at.x < 0 || at.x >= w || at.y < 0 || at.y >= h) return (float4)(0.0f);
  size_t i = (size_t)at.y * w + at.x;
  return is_half ? vload_half4(i, (__global const half*)image) : vload4(i, (__global const float*)image);
}
static void tgc_write(__global void* image, int w, int h, int is_half, int2 at, float4 pixel) {
  if (at.x < 0 || at.x >= w || at.y < 0 || at.y >= h) return;
  size_t i = (size_t)at.y * w + at.x;
  if (is_half) vstore_half4_rte(pixel, i, (__global half*)image);
  else vstore4(pixel, i, (__global float*)image);
}
#ifdef TGC_HALF_IS_MACRO
#define half tgc_half
#endif
#define read_only __global const
#define write_only __global
#define image2d_t void*
#define read_imagef(image, sampler, at) tgc_read(image, image##_w, image##_h, image##_half, at)
#define write_imagef(image, at, pixel) tgc_write(image, image##_w, image##_h, image##_half, at, pixel)
)";

Status check_status(cl_int code, const char* function) {
  if (code == CL_SUCCESS) return Unit{};
  return Diag{std::string(function) + ": " + error_text(code)};
}

class ClDevice : public Device {
 public:
  ~ClDevice() override {
    if (queue_) functions.clReleaseCommandQueue(queue_);
    if (context_) functions.clReleaseContext(context_);
  }

  Status open() override;
  Result<std::string> compile(const KernelSource& source) override { return check_source(source, Language::OpenCl); }
  std::string target() const override {
    return has_extension("cl_intel_subgroup_matrix_multiply_accumulate") ? "CL:INTEL" : "CL:CL";
  }
  std::string description() const override {
    return device_info(CL_DEVICE_NAME) + ", " + device_info(CL_DEVICE_VERSION);
  }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    cl_int code;
    cl_mem memory = functions.clCreateBuffer(context_, CL_MEM_READ_WRITE, std::max<uint64_t>(bytes, 1), nullptr, &code);
    if (code != CL_SUCCESS) return Diag{"cannot allocate " + std::to_string(bytes) + " bytes: " + error_text(code)};
    return DeviceBuffer{reinterpret_cast<uint64_t>(memory), 0, bytes};
  }
  void free(const DeviceBuffer& b) override {
    for (auto it = sub_buffers_.begin(); it != sub_buffers_.end();) {
      bool of_it = it->second.handle == b.handle;
      if (of_it) functions.clReleaseMemObject(it->second.sub_buffer);
      it = of_it ? sub_buffers_.erase(it) : std::next(it);
    }
    functions.clReleaseMemObject(memory_of(b));
  }
  Status copy_in(const DeviceBuffer& to, const void* from) override {
    return check_status(
        functions.clEnqueueWriteBuffer(queue_, memory_of(to), CL_TRUE, to.offset, to.bytes, from, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    return check_status(functions.clEnqueueReadBuffer(queue_, memory_of(from), CL_TRUE, from.offset, from.bytes, to, 0,
                                                      nullptr, nullptr),
                        "clEnqueueReadBuffer");
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
  Status synchronize() override { return check_status(functions.clFinish(queue_), "clFinish"); }

  // For a view with an offset, returns a sub-buffer, which is created once.
  Result<cl_mem> argument_memory(const DeviceBuffer& b) {
    if (b.offset == 0) return memory_of(b);
    std::string key = std::to_string(b.handle) + ":" + std::to_string(b.offset) + ":" + std::to_string(b.bytes);
    if (auto it = sub_buffers_.find(key); it != sub_buffers_.end()) return it->second.sub_buffer;
    cl_buffer_region region{b.offset, b.bytes};
    cl_int code;
    cl_mem sub_buffer =
        functions.clCreateSubBuffer(memory_of(b), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != CL_SUCCESS) return Diag{"clCreateSubBuffer: " + error_text(code)};
    sub_buffers_[key] = {b.handle, sub_buffer};
    return sub_buffer;
  }

  ClFunctions functions;
  cl_command_queue queue_ = nullptr;

 private:
  struct SubBuffer {
    uint64_t handle;
    cl_mem sub_buffer;
  };

  static cl_mem memory_of(const DeviceBuffer& b) { return reinterpret_cast<cl_mem>(b.handle); }
  std::string device_info(cl_device_info what) const {
    size_t size = 0;
    if (!device_ || functions.clGetDeviceInfo(device_, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
    std::string out(size, '\0');
    functions.clGetDeviceInfo(device_, what, size, out.data(), nullptr);
    out.resize(out.find('\0') == out.npos ? size : out.find('\0'));
    return out;
  }
  bool has_extension(const char* name) const {
    return device_info(CL_DEVICE_EXTENSIONS).find(name) != std::string::npos;
  }
  Status find_device();

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  std::unordered_map<std::string, SubBuffer> sub_buffers_;
};

class ClKernel : public Kernel {
 public:
  ClKernel(ClDevice& device, cl_program program, cl_kernel kernel)
      : Kernel(device), functions_(device.functions), program_(program), kernel_(kernel) {}
  ~ClKernel() override {
    functions_.clReleaseKernel(kernel_);
    functions_.clReleaseProgram(program_);
  }

  Status launch(const LaunchArguments& a) override { return enqueue(a, nullptr); }

  Result<double> time_launch(const LaunchArguments& a) override {
    cl_event event = nullptr;
    if (auto status = enqueue(a, &event); !status) return status.diag();
    Status done = check_status(functions_.clWaitForEvents(1, &event), "clWaitForEvents");
    cl_ulong begin = 0, end = 0;
    if (done)
      done = check_status(
          functions_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr),
          "clGetEventProfilingInfo");
    if (done)
      done =
          check_status(functions_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr),
                       "clGetEventProfilingInfo");
    functions_.clReleaseEvent(event);
    if (!done) return done.diag();
    return double(end - begin) * 1e-9;
  }

 private:
  ClDevice& device() { return static_cast<ClDevice&>(device_); }

  Status enqueue(const LaunchArguments& a, cl_event* event) {
    cl_uint n = 0;
    for (const DeviceBuffer& b : a.buffers) {
      auto memory = device().argument_memory(b);
      if (!memory) return memory.diag();
      if (auto status =
              check_status(functions_.clSetKernelArg(kernel_, n++, sizeof(cl_mem), &*memory), "clSetKernelArg");
          !status)
        return status;
    }
    for (int64_t v : a.variables) {
      cl_int value = cl_int(v);
      if (auto status = check_status(functions_.clSetKernelArg(kernel_, n++, sizeof value, &value), "clSetKernelArg");
          !status)
        return status;
    }
    size_t global[3], local[3];
    for (size_t i = 0; i < 3; i++) {
      local[i] = a.launch_size.local_size ? (*a.launch_size.local_size)[i] : 1;
      global[i] = a.launch_size.global_size[i] * local[i];
    }
    return check_status(
        functions_.clEnqueueNDRangeKernel(device().queue_, kernel_, 3, nullptr, global,
                                          a.launch_size.local_size ? local : nullptr, 0, nullptr, event),
        "clEnqueueNDRangeKernel");
  }

  const ClFunctions& functions_;
  cl_program program_;
  cl_kernel kernel_;
};

Status ClDevice::open() {
  if (queue_) return Unit{};
  if (auto status = load_cl_functions(functions); !status) return status;
  if (auto status = find_device(); !status) return status;
  cl_int code;
  context_ = functions.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return Diag{"clCreateContext: " + error_text(code)};
  queue_ = functions.clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &code);
  return check_status(code, "clCreateCommandQueue");
}

Status ClDevice::find_device() {
  cl_uint count = 0;
  if (auto status = check_status(functions.clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs"); !status)
    return status;
  std::vector<cl_platform_id> platforms(count);
  if (count) functions.clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_device_type type : {cl_device_type(CL_DEVICE_TYPE_GPU), cl_device_type(CL_DEVICE_TYPE_DEFAULT)})
    for (cl_platform_id platform : platforms)
      if (functions.clGetDeviceIDs(platform, type, 1, &device_, nullptr) == CL_SUCCESS && device_) return Unit{};
  return Diag{"OpenCL has no device here; on Debian: apt install pocl-opencl-icd"};
}

Result<std::unique_ptr<Kernel>> ClDevice::load(const KernelSource& source, const std::string& code) {
  bool emulates_half = code.find("half") != code.npos && !has_extension("cl_khr_fp16");
  std::string whole = (emulates_half ? std::string(kHalfWithoutExtension) : "") +
                      (code.find("image2d_t") != code.npos ? std::string(kImagesAsBuffers) : "") + code;
  const char* text = whole.c_str();
  cl_int error;
  cl_program program = functions.clCreateProgramWithSource(context_, 1, &text, nullptr, &error);
  if (error != CL_SUCCESS) return Diag{"clCreateProgramWithSource: " + error_text(error)};
  if (cl_int built = functions.clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr); built != CL_SUCCESS) {
    size_t size = 0;
    functions.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    if (size) functions.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    log.resize(std::min(log.find('\0'), log.size()));
    functions.clReleaseProgram(program);
    return invalid_source_error("OpenCL", source,
                                error_text(built) + (emulates_half ? " (the device lacks cl_khr_fp16)\n" : "\n") + log);
  }
  cl_kernel kernel = functions.clCreateKernel(program, source.function_name.c_str(), &error);
  if (error != CL_SUCCESS) {
    functions.clReleaseProgram(program);
    return Diag{"clCreateKernel '" + source.function_name + "': " + error_text(error)};
  }
  return std::unique_ptr<Kernel>(std::make_unique<ClKernel>(*this, program, kernel));
}

}  // namespace

std::unique_ptr<Device> make_cl_device() { return std::make_unique<ClDevice>(); }

}  // namespace tgc
