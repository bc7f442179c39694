#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/runtime/devices.h"
#include "lib/runtime/testing.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

class Fakes {
 public:
  explicit Fakes(const std::string& fail = "") : fail_("TGC_FAKE_FAIL", fail) { std::ofstream(log_).close(); }
  ~Fakes() { std::filesystem::remove(log_); }
  // Returns the calls since the last call of this function, one per line.
  std::string calls() {
    std::ifstream in(log_);
    std::string all{std::istreambuf_iterator<char>(in), {}};
    std::string out = all.substr(seen_);
    seen_ = all.size();
    return out;
  }

 private:
  std::string log_ = (std::filesystem::temp_directory_path() / ("tgc_fakes." + std::to_string(getpid()))).string();
  ScopedEnvironment cuda_{"TGC_CUDA_LIBRARY", TGC_FAKE_CUDA}, hip_{"TGC_HIP_LIBRARY", TGC_FAKE_HIP},
      objc_{"TGC_OBJC_LIBRARY", TGC_FAKE_METAL}, metal_{"TGC_METAL_LIBRARY", TGC_FAKE_METAL},
      fake_log_{"TGC_FAKE_LOG", log_}, fail_;
  size_t seen_ = 0;
};

// Runs a kernel out[i] = in[i] + n. Returns "", or the first error.
std::string use(const std::string& name, const std::string& code, const std::string& function = "add") {
  auto device = std::move(make_device(name).value_or_throw());
  if (auto status = device->open(); !status) return status.diag().text();
  auto result = catch_failures([&] {
    std::vector<float> in(64, 1.5f), out(64, 0.f);
    TestBuffer a(*device, out), b(*device, in);
    auto kernel = std::move(device->load({"add", function, name, code}, code).value_or_throw());
    std::vector<DeviceBuffer> buffers{a.buffer, b.buffer};
    std::vector<int64_t> variables{3};
    LaunchArguments arguments{buffers, variables, {.global_size = {2, 2, 1}, .local_size = {{8, 1, 2}}}};
    kernel->launch(arguments).value_or_throw();
    device->synchronize().value_or_throw();
    auto values = a.read(*device, out);  // outside of CHECK, because CHECK catches exceptions
    CHECK(values == std::vector<float>(64, 4.5f));
    kernel->time_launch(arguments).value_or_throw();
    return Unit{};
  });
  return result ? "" : result.diag().text();
}

constexpr const char* kPtx = ".visible .entry add() {}";
constexpr const char* kMetal = "kernel void add() {}";

TEST_CASE("CUDA on a fake driver: makes the expected calls") {
  Fakes fakes;
  CHECK(use("CUDA", kPtx) == "");
  CHECK(fakes.calls() ==
        "cuInit 0\ncuDeviceGet 0\ncuDevicePrimaryCtxRetain 7\ncuCtxSetCurrent\n"
        "cuMemAlloc_v2 256\ncuMemcpyHtoD_v2 256\ncuMemAlloc_v2 256\ncuMemcpyHtoD_v2 256\n"
        "cuModuleLoadDataEx 2 options\ncuModuleGetFunction add\n"
        "cuLaunchKernel add (2, 2, 1) (8, 1, 2) shared 0\ncuCtxSynchronize\ncuMemcpyDtoH_v2 256\n"
        "cuEventCreate 0\ncuEventCreate 0\ncuEventRecord\n"
        "cuLaunchKernel add (2, 2, 1) (8, 1, 2) shared 0\ncuEventRecord\ncuEventSynchronize\n"
        "cuEventElapsedTime\n"
        "cuEventDestroy_v2\ncuEventDestroy_v2\ncuModuleUnload\ncuMemFree_v2\ncuMemFree_v2\n"
        "cuDevicePrimaryCtxRelease_v2 7\n");
  RuntimeInfo info = probe_device("CUDA");
  CHECK((info.is_available && info.target == "CUDA:CUDA:sm_90" && info.detail_text == "Fake GPU"));
  auto device = std::move(make_device("CUDA").value_or_throw());
  REQUIRE(device->open().ok());
  auto kernel = std::move(device->load({"add", "add", "CUDA", kPtx}, kPtx).value_or_throw());
  std::vector<float> in(1, 1.f), out(1, 0.f);
  TestBuffer a(*device, out), b(*device, in);
  std::vector<DeviceBuffer> buffers{a.buffer, b.buffer};
  std::vector<int64_t> variables{3};
  CHECK(kernel->time_launch({buffers, variables, {}}).value_or_throw() == doctest::Approx(1.5e-3));
}

TEST_CASE("CUDA on a fake driver: each failing call is named, and everything allocated is freed") {
  Fakes fakes;
  CHECK(use("CUDA", "nothing")
        .find("the driver does not load the kernel 'add' of CUDA: CUDA_ERROR_INVALID_PTX (a fake error)") == 0);
  CHECK(use("CUDA", "nothing").find("ptxas: no entry") != std::string::npos);
  CHECK(use("CUDA", kPtx, "missing") == "cuModuleGetFunction 'missing': CUDA_ERROR_NOT_FOUND (a fake error)");
  for (const char* name : {"cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemcpyHtoD",
                           "cuLaunchKernel", "cuCtxSynchronize", "cuMemcpyDtoH", "cuEventCreate", "cuEventRecord",
                           "cuEventSynchronize", "cuEventElapsedTime"}) {
    std::string symbol = std::string(name) + (std::string(name).starts_with("cuMemcpy") ? "_v2" : "");
    Fakes failing(symbol);
    CHECK(use("CUDA", kPtx) == std::string(name) + ": CUDA_ERROR_OUT_OF_MEMORY (a fake error)");
    std::string calls = failing.calls();
    auto count = [&](const char* what) {
      size_t n = 0;
      for (size_t at = 0; (at = calls.find(what, at)) != calls.npos; at++) n++;
      return n;
    };
    CHECK(count("cuMemAlloc_v2") == count("cuMemFree_v2"));
    CHECK(count("cuModuleLoadDataEx") == count("cuModuleUnload"));
  }
  {
    Fakes failing("cuMemAlloc_v2");
    CHECK(use("CUDA", kPtx) == "cannot allocate 256 bytes: CUDA_ERROR_OUT_OF_MEMORY (a fake error)");
  }
  Fakes none("no GPU");
  CHECK(use("CUDA", kPtx) == "the NVIDIA driver finds no GPU");
}

TEST_CASE("AMD on a fake driver: makes the expected calls") {
  Fakes fakes;
  std::string elf = "\x7f" "ELF...";
  CHECK(use("AMD", elf) == "");
  CHECK(fakes.calls() ==
        "hipInit 0\nhipSetDevice 0\nhipMalloc 256\nhipMemcpy 256 to device\nhipMalloc 256\nhipMemcpy 256 to device\n"
        "hipModuleLoadData\nhipModuleGetFunction add\n"
        "hipModuleLaunchKernel add (2, 2, 1) (8, 1, 2) shared 0, 20 bytes\n"
        "hipDeviceSynchronize\nhipDeviceSynchronize\nhipMemcpy 256 to host\n"
        "hipEventCreate\nhipEventCreate\nhipEventRecord\n"
        "hipModuleLaunchKernel add (2, 2, 1) (8, 1, 2) shared 0, 20 bytes\nhipEventRecord\n"
        "hipEventSynchronize\nhipEventElapsedTime\n"
        "hipEventDestroy\nhipEventDestroy\nhipModuleUnload\nhipFree\nhipFree\n");
  RuntimeInfo info = probe_device("AMD");
  CHECK((info.is_available && info.target == "AMD:HIP:gfx1100" && info.detail_text == "Fake Radeon"));
  CHECK(use("AMD", "text") == "the driver does not load the kernel 'add' of AMD: hipErrorInvalidImage (a fake error)");
  CHECK(use("AMD", elf, "missing") == "hipModuleGetFunction 'missing': hipErrorNotFound (a fake error)");
  for (const char* name : {"hipInit", "hipSetDevice", "hipMemcpy", "hipModuleLaunchKernel", "hipDeviceSynchronize",
                           "hipEventCreate", "hipEventRecord", "hipEventSynchronize", "hipEventElapsedTime"}) {
    Fakes failing(name);
    CHECK(use("AMD", elf) == std::string(name) + ": hipErrorOutOfMemory (a fake error)");
  }
  Fakes none("no GPU");
  CHECK(use("AMD", elf) == "the AMD driver finds no GPU");
}

TEST_CASE("METAL on a fake runtime: sends the expected messages") {
  Fakes fakes;
  CHECK(use("METAL", kMetal) == "");
  std::string calls = fakes.calls();
  CHECK(calls.find("UNKNOWN") == std::string::npos);
  CHECK(calls.find("WITHOUT A POOL") == std::string::npos);
  size_t at = 0;  // `calls` may contain other calls in between
  for (const char* expected : {"new buffer 256", "new buffer 256", "fast math 0", "function add",
                               "buffer 0 at offset 0", "buffer 1 at offset 0", "constant 3 of 4 bytes at 2",
                               "dispatch 4 x 16", "endEncoding", "commit", "waitUntilCompleted", "release pipeline",
                               "release buffer", "release buffer", "release queue", "release device, 0 objects left"}) {
    INFO(expected);
    size_t found = calls.find(expected, at);
    REQUIRE(found != std::string::npos);
    at = found + 1;
  }
  CHECK(probe_device("METAL").detail_text == "Fake M1");
  CHECK(use("METAL", "nothing").find("Metal source does not compile: kernel 'add'\nno kernel in the source") == 0);
  CHECK(use("METAL", kMetal, "missing") == "the compiled kernel has no function 'missing'");
  for (auto [object, message] : {std::pair("no GPU", "Metal finds no GPU"), {"queue", "Metal gives no command queue"},
                                 {"buffer", "Metal cannot allocate 256 bytes"},
                                 {"commands", "Metal gives no command buffer"}, {"GPU fault", "Metal: the GPU hung"}}) {
    Fakes failing(object);
    CHECK(use("METAL", kMetal) == message);
    calls = failing.calls();
    CHECK(calls.find("WITHOUT A POOL") == std::string::npos);
    if (object != std::string("no GPU")) CHECK(calls.find("release device, 0 objects left") != std::string::npos);
  }
}

TEST_CASE("a missing driver is an error that names the library") {
  ScopedEnvironment cuda("TGC_CUDA_LIBRARY", "/nonexistent/libcuda.so"),
      hip("TGC_HIP_LIBRARY", "/nonexistent/libhip.so"), cl("TGC_OPENCL_LIBRARY", "/nonexistent/libcl.so");
  for (auto [name, words] : {std::pair("CUDA", "no NVIDIA driver: /nonexistent/libcuda.so"),
                             {"AMD", "no AMD driver (ROCm): /nonexistent/libhip.so"},
                             {"CL", "no OpenCL loader: /nonexistent/libcl.so"}}) {
    RuntimeInfo info = probe_device(name);
    CHECK(!info.is_available);
    CHECK(info.detail_text.starts_with(words));
  }
  ScopedEnvironment other("TGC_CUDA_LIBRARY", TGC_FAKE_HIP);
  CHECK(probe_device("CUDA").detail_text.find("has no function 'cuInit'") != std::string::npos);
  CHECK(!make_device("TPU").ok());
}

TEST_CASE("OpenCL: buffers, views, variables and unset local size work; errors include the compiler's message") {
  auto device = std::move(make_device("CL").value_or_throw());
  if (auto status = device->open(); !status) {
    MESSAGE("SKIPPED: no OpenCL here: " << status.diag().text());
    return;
  }
  KernelSource source{"add", "add", "CL:CL",
                      "__kernel void add(__global float* out, __global const float* in, const int n) {\n"
                      "  int i = get_group_id(0) * get_local_size(0) + get_local_id(0);\n  out[i] = in[i] + n;\n}\n"};
  LoadedKernel k(*device, source);
  std::vector<float> in(256), out(64, 0.f);
  for (size_t i = 0; i < in.size(); i++) in[i] = float(i);
  TestBuffer a(*device, out), b(*device, in);
  std::vector<DeviceBuffer> buffers{a.buffer, b.buffer.subbuffer(512, 256)};
  std::vector<int64_t> variables{1};
  REQUIRE(k.kernel->launch({buffers, variables, {.global_size = {8, 1, 1}, .local_size = {{8, 1, 1}}}}).ok());
  REQUIRE(device->synchronize().ok());
  CHECK(a.read(*device, out)[0] == 129);
  CHECK(a.read(*device, out)[63] == 192);
  variables[0] = 2;
  auto seconds = k.kernel->time_launch({buffers, variables, {.global_size = {64, 1, 1}, .local_size = std::nullopt}});
  REQUIRE(seconds.ok());
  CHECK((*seconds > 0 && *seconds < 1));
  CHECK(a.read(*device, out)[63] == 193);
  source.text = "__kernel void add() { nonsense; }";
  auto broken = [&] {
    StandardErrorSilencer silent;
    return device->load(source, source.text);
  }();
  REQUIRE(!broken.ok());
  CHECK(broken.diag().text().find("CL_BUILD_PROGRAM_FAILURE") != std::string::npos);
  CHECK(broken.diag().text().find("undeclared identifier 'nonsense'") != std::string::npos);
}

}  // namespace
}  // namespace tgc
