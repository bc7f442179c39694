// A fake libcuda: one GPU of compute capability 9.0 whose memory is the host's.
#include "lib/runtime/testing/fake_driver.h"

#define CALL(name, format, ...)        \
  fake::log(#name format, __VA_ARGS__); \
  if (fake::should_fail(#name)) return 2

namespace {
int fake_context, fake_module, fake_event;
char kernel_name[256];
}  // namespace

extern "C" {
int cuInit(unsigned flags) {
  CALL(cuInit, " %u", flags);
  return 0;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 500 ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR_INVALID_PTX";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "a fake error";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = fake::should_fail("no GPU") ? 0 : 1;
  return 0;
}
int cuDeviceGet(int* device, int i) {
  CALL(cuDeviceGet, " %d", i);
  *device = 7;
  return 0;
}
int cuDeviceGetName(char* name, int n, int) {
  std::snprintf(name, size_t(n), "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  CALL(cuDevicePrimaryCtxRetain, " %d", device);
  *context = &fake_context;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  CALL(cuDevicePrimaryCtxRelease_v2, " %d", device);
  return 0;
}
int cuCtxSetCurrent(void* context) {
  CALL(cuCtxSetCurrent, "%s", context == &fake_context ? "" : " WRONG CONTEXT");
  return 0;
}
int cuCtxSynchronize() {
  CALL(cuCtxSynchronize, "%s", "");
  return 0;
}
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  CALL(cuMemAlloc_v2, " %zu", bytes);
  *address = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  CALL(cuMemFree_v2, "%s", "");
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  CALL(cuMemcpyHtoD_v2, " %zu", bytes);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  CALL(cuMemcpyDtoH_v2, " %zu", bytes);
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}
int cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options, void** values) {
  auto ptx = static_cast<const char*>(image);
  CALL(cuModuleLoadDataEx, " %u options", n);
  if (!std::strstr(ptx, ".entry")) {
    for (unsigned i = 0; i < n; i++)
      if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), "ptxas: no entry");
    return 218;
  }
  *module = &fake_module;
  return 0;
}
int cuModuleUnload(void*) {
  CALL(cuModuleUnload, "%s", "");
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  CALL(cuModuleGetFunction, " %s%s", name, module == &fake_module ? "" : " WRONG MODULE");
  if (std::strcmp(name, "missing") == 0) return 500;
  std::snprintf(kernel_name, sizeof kernel_name, "%s", name);
  *function = kernel_name;
  return 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned lx, unsigned ly, unsigned lz,
                   unsigned shared, void* stream, void** arguments, void** extra) {
  CALL(cuLaunchKernel, " %s (%u, %u, %u) (%u, %u, %u) shared %u%s", static_cast<char*>(function), gx, gy, gz, lx, ly,
       lz, shared, stream || extra ? " WRONG" : "");
  fake::run_kernel(*static_cast<float**>(arguments[0]), *static_cast<float**>(arguments[1]),
                   *static_cast<int*>(arguments[2]), size_t(gx) * gy * gz * lx * ly * lz);
  return 0;
}
int cuEventCreate(void** event, unsigned flags) {
  CALL(cuEventCreate, " %u", flags);
  *event = &fake_event;
  return 0;
}
int cuEventRecord(void*, void*) {
  CALL(cuEventRecord, "%s", "");
  return 0;
}
int cuEventSynchronize(void*) {
  CALL(cuEventSynchronize, "%s", "");
  return 0;
}
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  CALL(cuEventElapsedTime, "%s", "");
  *milliseconds = 1.5f;
  return 0;
}
int cuEventDestroy_v2(void*) {
  CALL(cuEventDestroy_v2, "%s", "");
  return 0;
}
}
