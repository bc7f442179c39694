// Uses wgpu-native if it is installed (TGC_WEBGPU_LIBRARY, or in the loader's folders); otherwise checks the error.
#include "lib/runtime/backends.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/runtime/devices.h"
#include "lib/runtime/testing.h"

using namespace tgc;

TEST_CASE("WebGPU: infinity, buffers and variables reach the kernel; a source that does not compile is an error") {
  auto probed = probe_device("WEBGPU");
  if (!probed.is_available) {
    CHECK(probed.detail_text.find("WebGPU") != std::string::npos);
    MESSAGE("SKIPPED: " << probed.detail_text);
    return;
  }
  CHECK(probed.target == "WEBGPU:WGSL");
  auto device = make_webgpu_device();
  REQUIRE(device->open().ok());
  const std::string head =
      "@group(0) @binding(0)\nvar<uniform> INFINITY : f32;\n"
      "@group(0) @binding(1)var<storage,read_write>data0:array<f32>;\n"
      "@group(0) @binding(2)var<storage,read_write>data1:array<f32>;\n"
      "@group(0) @binding(3)var<uniform>n:i32;\n"
      "@compute @workgroup_size(2) fn k(@builtin(workgroup_id) gindex: vec3<u32>,"
      "@builtin(local_invocation_id) lindex: vec3<u32>) {\n  var i = i32(gindex.x)*2+i32(lindex.x);\n";
  KernelSource source{"k", "k", "WEBGPU:WGSL", head + "  data0[i] = select(data1[i]+f32(n), INFINITY, i==3);\n}\n"};
  LoadedKernel k(*device, source);
  std::vector<float> in{1, 2, 3, 4, 5, 6}, out(6);
  TestBuffer a(*device, out), b(*device, in);
  std::vector<DeviceBuffer> buffers{a.buffer, b.buffer};
  std::vector<int64_t> variables{-10};
  REQUIRE(k.kernel->launch({buffers, variables, {.global_size = {3, 1, 1}, .local_size = {{2, 1, 1}}}}).ok());
  CHECK(a.read(*device, out) == std::vector<float>{-9, -8, -7, INFINITY, -5, -4});
  CHECK_FALSE(k.kernel->launch({buffers, {}, {}}).ok());
  source.text = head + "  data0[i] = nothing;\n}\n";
  auto refused = device->load(source, source.text);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.diag().context.find("nothing") != std::string::npos);
}
