// The exported HIP functions of the emulated GPU. All work is synchronous, and all streams are one queue.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "lib/emulate/hip/driver.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using namespace tgc::hip;

struct Event {
  std::chrono::steady_clock::time_point time;
};

int the_stream;
EmulatedGpu& gpu() { return EmulatedGpu::get_gpu(); }

uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p); }

}  // namespace

EXPORT int hipInit(unsigned flags) {
  if (int wrong = gpu().check_processor()) return wrong;
  return flags == 0 ? kSuccess : kInvalidValue;
}
EXPORT const char* hipGetErrorName(int code) {
  const char* name = gpu().error_name(code);
  return name ? name : "hipErrorUnknown";
}
EXPORT const char* hipGetErrorString(int code) {
  const char* text = gpu().text_of_error(code);
  return text ? text : "unknown error";
}
EXPORT int hipGetDeviceCount(int* count) { return *count = 1, kSuccess; }
EXPORT int hipSetDevice(int device) { return device == 0 ? kSuccess : kInvalidDevice; }
EXPORT int hipGetDevice(int* device) { return *device = 0, kSuccess; }
EXPORT int hipChooseDeviceR0600(int* device, const DeviceProperties*) { return *device = 0, kSuccess; }
EXPORT int hipDeviceSynchronize() { return kSuccess; }
EXPORT int hipGetDevicePropertiesR0600(DeviceProperties* properties, int device) {
  if (device != 0) return kInvalidDevice;
  std::memset(properties, 0, sizeof *properties);
  std::snprintf(properties->name, sizeof properties->name, "tgc's HIP emulator, %s", gpu().architecture().c_str());
  std::snprintf(properties->arch_name, sizeof properties->arch_name, "%s", gpu().architecture().c_str());
  return kSuccess;
}

EXPORT int hipMalloc(void** to, size_t bytes) {
  uint64_t at = gpu().memory().allocate(bytes ? bytes : 1);
  *to = reinterpret_cast<void*>(at);
  return at ? kSuccess : gpu().set_error(kOutOfMemory, std::to_string(bytes) + " bytes");
}
EXPORT int hipFree(void* at) { return !at || gpu().memory().free(address(at)) ? kSuccess : kInvalidValue; }
EXPORT int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  constexpr int kToDevice = 1, kToHost = 2, kWithinDevice = 3;
  if (kind == kToDevice || kind == kWithinDevice)
    if (int wrong = gpu().check_range("hipMemcpy", address(to), bytes)) return wrong;
  if (kind == kToHost || kind == kWithinDevice)
    if (int wrong = gpu().check_range("hipMemcpy", address(from), bytes)) return wrong;
  std::memmove(to, from, bytes);
  return kSuccess;
}
EXPORT int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) {
  return hipMemcpy(to, from, bytes, kind);
}
EXPORT int hipMemset(void* to, int value, size_t bytes) {
  if (int wrong = gpu().check_range("hipMemset", address(to), bytes)) return wrong;
  std::memset(to, value, bytes);
  return kSuccess;
}

EXPORT int hipModuleLoadData(void** module, const void* image) {
  if (!module || !image) return kInvalidValue;
  LoadedModule* loaded = nullptr;
  int code = gpu().load_code(image, loaded);
  *module = loaded;
  return code;
}
EXPORT int hipModuleUnload(void* module) { return gpu().modules().unload(static_cast<LoadedModule*>(module)); }
EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
  Kernel* kernel = nullptr;
  int code = gpu().modules().find_kernel(static_cast<LoadedModule*>(module), name, kernel);
  *function = kernel;
  return code;
}
EXPORT int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned group_bytes, void*, void** parameters, void** extra) {
  return gpu().launch(static_cast<Kernel*>(function), {gx, gy, gz}, {bx, by, bz}, group_bytes, parameters, extra);
}

EXPORT int hipStreamCreate(void** stream) { return *stream = &the_stream, kSuccess; }
EXPORT int hipStreamDestroy(void*) { return kSuccess; }
EXPORT int hipStreamSynchronize(void*) { return kSuccess; }
EXPORT int hipEventCreate(void** event) { return *event = new Event{}, kSuccess; }
EXPORT int hipEventRecord(void* event, void*) {
  return static_cast<Event*>(event)->time = std::chrono::steady_clock::now(), kSuccess;
}
EXPORT int hipEventSynchronize(void*) { return kSuccess; }
EXPORT int hipEventElapsedTime(float* milliseconds, void* from, void* to) {
  std::chrono::duration<float, std::milli> time = static_cast<Event*>(to)->time - static_cast<Event*>(from)->time;
  return *milliseconds = time.count(), kSuccess;
}
EXPORT int hipEventDestroy(void* event) { return delete static_cast<Event*>(event), kSuccess; }
