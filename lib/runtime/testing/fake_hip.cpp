// A fake libamdhip64: one gfx1100 whose memory is the host's.
#include "lib/runtime/testing/fake_driver.h"

#define CALL(name, format, ...)        \
  fake::log(#name format, __VA_ARGS__); \
  if (fake::should_fail(#name)) return 2

namespace {
int fake_module, fake_event;
char kernel_name[256];
}  // namespace

extern "C" {
const char* hipGetErrorName(int code) {
  return code == 2 ? "hipErrorOutOfMemory" : code == 500 ? "hipErrorNotFound" : "hipErrorInvalidImage";
}
const char* hipGetErrorString(int) { return "a fake error"; }
int hipInit(unsigned flags) {
  CALL(hipInit, " %u", flags);
  return 0;
}
int hipGetDeviceCount(int* count) {
  *count = fake::should_fail("no GPU") ? 0 : 1;
  return 0;
}
int hipSetDevice(int i) {
  CALL(hipSetDevice, " %d", i);
  return 0;
}
int hipGetDevicePropertiesR0600(char* properties, int) {
  std::memset(properties, 0, 1472);
  std::strcpy(properties, "Fake Radeon");
  std::strcpy(properties + 1160, "gfx1100");
  return 0;
}
int hipMalloc(void** memory, size_t bytes) {
  CALL(hipMalloc, " %zu", bytes);
  *memory = std::malloc(bytes);
  return 0;
}
int hipFree(void* memory) {
  CALL(hipFree, "%s", "");
  std::free(memory);
  return 0;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  CALL(hipMemcpy, " %zu %s", bytes, kind == 1 ? "to device" : kind == 2 ? "to host" : "WRONG KIND");
  std::memcpy(to, from, bytes);
  return 0;
}
int hipModuleLoadData(void** module, const void* image) {
  CALL(hipModuleLoadData, "%s", "");
  if (std::memcmp(image, "\x7f" "ELF", 4) != 0) return 200;
  *module = &fake_module;
  return 0;
}
int hipModuleUnload(void*) {
  CALL(hipModuleUnload, "%s", "");
  return 0;
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
  CALL(hipModuleGetFunction, " %s%s", name, module == &fake_module ? "" : " WRONG MODULE");
  if (std::strcmp(name, "missing") == 0) return 500;
  std::snprintf(kernel_name, sizeof kernel_name, "%s", name);
  *function = kernel_name;
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned lx, unsigned ly, unsigned lz,
                          unsigned shared, void* stream, void** arguments, void** extra) {
  bool right = !stream && !arguments && extra && extra[0] == reinterpret_cast<void*>(1) &&
               extra[2] == reinterpret_cast<void*>(2) && extra[4] == reinterpret_cast<void*>(3);
  size_t bytes = right ? *static_cast<size_t*>(extra[3]) : 0;
  CALL(hipModuleLaunchKernel, " %s (%u, %u, %u) (%u, %u, %u) shared %u, %zu bytes%s", static_cast<char*>(function), gx,
       gy, gz, lx, ly, lz, shared, bytes, right ? "" : " WRONG");
  struct {
    float *out, *in;
    int n;
  } block;
  std::memcpy(&block, extra[1], 20);
  fake::run_kernel(block.out, block.in, block.n, size_t(gx) * gy * gz * lx * ly * lz);
  return 0;
}
int hipDeviceSynchronize() {
  CALL(hipDeviceSynchronize, "%s", "");
  return 0;
}
int hipEventCreate(void** event) {
  CALL(hipEventCreate, "%s", "");
  *event = &fake_event;
  return 0;
}
int hipEventRecord(void*, void*) {
  CALL(hipEventRecord, "%s", "");
  return 0;
}
int hipEventSynchronize(void*) {
  CALL(hipEventSynchronize, "%s", "");
  return 0;
}
int hipEventElapsedTime(float* milliseconds, void*, void*) {
  CALL(hipEventElapsedTime, "%s", "");
  *milliseconds = 1.5f;
  return 0;
}
int hipEventDestroy(void*) {
  CALL(hipEventDestroy, "%s", "");
  return 0;
}
}
