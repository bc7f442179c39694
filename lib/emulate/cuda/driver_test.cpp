#include <dlfcn.h>

#include <cstdint>

#include "lib/emulate/cuda/testing.h"

namespace tgc::ptx {
namespace {

template <class... A>
int call(const char* name, A... a) {
  static void* library = dlopen(TGC_CUDA_EMULATOR, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  auto* f = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
  bool is_there = f != nullptr;
  REQUIRE_MESSAGE(is_there, name);
  return f(a...);
}
std::string error_text(int code) {
  const char* text = nullptr;
  call("cuGetErrorString", code, &text);
  return text ? text : "";
}
using Address = unsigned long long;

}  // namespace

TEST_CASE("CUDA emulator: a program runs from cuInit to cuMemFree, and wrong calls give error codes") {
  REQUIRE(call("cuInit", 0u) == 0);
  int major = 0, minor = 0;
  CHECK(call("cuDeviceComputeCapability", &major, &minor, 0) == 0);
  CHECK(major * 10 + minor == 90);
  char name[64] = "";
  CHECK(call("cuDeviceGetName", name, 64, 0) == 0);
  CHECK(std::string(name) == "tgc's CUDA emulator, sm_90");
  CHECK(call("cuDeviceGet", &major, 1) == 101);
  int size_y = 0, size_z = 0;  // maximum sizes of a block in y and z
  CHECK(call("cuDeviceGetAttribute", &size_y, 3, 0) == 0);
  CHECK(call("cuDeviceGetAttribute", &size_z, 4, 0) == 0);
  CHECK(size_y == 1024);
  CHECK(size_z == 64);

  Address memory = 0;
  CHECK(call("cuMemAlloc_v2", &memory, size_t(0)) == 1);
  CHECK(call("cuMemAlloc_v2", &memory, size_t(1) << 50) == 2);
  REQUIRE(call("cuMemAlloc_v2", &memory, size_t(128)) == 0);
  CHECK(call("cuMemcpyHtoD_v2", memory + 1, static_cast<const void*>(name), size_t(128)) == 1);
  CHECK(error_text(1).find("are not all allocated") != std::string::npos);

  std::string text =
      kernel_text(1, "mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd2, %rd0, %rd1;\nst.global.u32 [%rd2], %r0;");
  void *module = nullptr, *kernel = nullptr;
  char log[512] = "";
  int options[] = {5, 6};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  std::string wrong = text;
  wrong.replace(wrong.find("mul.wide"), 3, "mop");
  CHECK(call("cuModuleLoadDataEx", &module, static_cast<const void*>(wrong.c_str()), 2u, options, values) == 218);
  CHECK(std::string(log) == "PTX emulator, line 13; error   : unknown instruction 'mop.wide.u32'");
  std::string newer = text;
  newer.replace(newer.find("sm_90"), 5, "sm_99");
  CHECK(call("cuModuleLoadData", &module, static_cast<const void*>(newer.c_str())) == 209);
  REQUIRE(call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())) == 0);
  CHECK(call("cuModuleGetFunction", &kernel, module, "other") == 500);
  REQUIRE(call("cuModuleGetFunction", &kernel, module, "k") == 0);

  void* parameters[] = {&memory};
  auto launch = [&](unsigned threads, void** given, void** extra) {
    return call("cuLaunchKernel", kernel, 1u, 1u, 1u, threads, 1u, 1u, 0u, static_cast<void*>(nullptr), given, extra);
  };
  CHECK(launch(1025, parameters, nullptr) == 1);
  CHECK(launch(0, parameters, nullptr) == 1);
  CHECK(launch(32, parameters, nullptr) == 0);
  uint32_t out[32] = {};
  CHECK(call("cuMemcpyDtoH_v2", static_cast<void*>(out), memory, size_t(128)) == 0);
  for (uint32_t i = 0; i < 32; i++) CHECK(out[i] == i);
  CHECK(launch(33, parameters, nullptr) == 700);
  CHECK(error_text(700).find("kernel 'k', line 15") != std::string::npos);

  // passes the parameters as one block, in cuLaunchKernel's argument `extra`
  size_t bytes = 8;
  void* extra[] = {reinterpret_cast<void*>(1), &memory, reinterpret_cast<void*>(2), &bytes, nullptr};
  CHECK(launch(32, nullptr, extra) == 0);
  bytes = 4;
  CHECK(launch(32, nullptr, extra) == 1);

  CHECK(call("cuModuleUnload", module) == 0);
  CHECK(launch(32, parameters, nullptr) == 400);
  CHECK(call("cuMemFree_v2", memory) == 0);
  CHECK(call("cuMemFree_v2", memory) == 1);
}

}  // namespace tgc::ptx
