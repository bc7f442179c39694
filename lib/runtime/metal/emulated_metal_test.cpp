#include "lib/runtime/backends.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "lib/runtime/testing.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

const std::string kHead = "#include <metal_stdlib>\nusing namespace metal;\n";
const std::string kTail =
    ", uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {\n";

// The body starts in line 4.
std::string kernel_text(const std::string& parameters, const std::string& body) {
  return kHead + "kernel void k(" + parameters + kTail + body + "}\n";
}

struct Ran {
  std::string error, context;
  std::vector<float> out;
};

Ran run(const std::string& text, std::vector<float> out, const std::vector<float>& in, LaunchSize size,
        std::vector<int64_t> variables = {}) {
  auto device = make_emulated_metal_device();
  REQUIRE(device->open().ok());
  KernelSource source{"k", "k", "METAL:METAL", text};
  auto code = device->compile(source);
  if (!code) return {code.diag().message, code.diag().context, {}};
  auto kernel = std::move(device->load(source, *code).value_or_throw());
  TestBuffer a(*device, out), b(*device, in);
  std::vector<DeviceBuffer> buffers{a.buffer, b.buffer};
  auto status = kernel->launch({buffers, variables, size});
  if (!status) return {status.diag().message, status.diag().context, {}};
  return {"", "", a.read(*device, out)};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::vector<float> floats_from_1(size_t n) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), 1.0f);
  return out;
}

const char* kTwo = "device float* data0, device float* data1";

TEST_CASE("Metal emulator: buffers, values and positions reach the kernel; vectors and half compute as in Metal") {
  Ran ran =
      run(kernel_text(std::string(kTwo) + ", constant int& n",
                      "  float4 v = (*((device float4*)((data1+(gid.x*8+lid.x*4)))));\n"
                      "  *((device float4*)((data0+(gid.x*8+lid.x*4)))) = float4(v.x+n,v.y,\n"
                      "    as_type<float>((int)(v.z)),(float)((half)(v.w)+(half)(2048.0f)));\n"),
          std::vector<float>(16), floats_from_1(16), {.global_size = {2, 1, 1}, .local_size = {{2, 1, 1}}}, {100});
  REQUIRE(ran.error == "");
  int bits = 0;
  std::memcpy(&bits, &ran.out[14], 4);
  CHECK(bits == 15);
  CHECK(ran.out[12] == 113);
  CHECK(ran.out[15] == 2064);
  CHECK(ran.out[7] == 2056);
  CHECK(ran.out[3] == 2052);
  // 2053 is no half, so the sum of data1[4] and 2048 is rounded
  ran = run(kernel_text(kTwo, "  data0[0] = (float)((half)(data1[4])+(half)(2048.0f));\n"
                        "  data0[1] = (float)((bfloat)(data1[0])+(bfloat)(256.0f));\n"
                        "  data0[2] = precise::sin(data1[0]); data0[3] = exp2(data1[1]);\n"),
            std::vector<float>(4), floats_from_1(8), {});
  REQUIRE(ran.error == "");
  CHECK(ran.out == std::vector<float>{2052, 256, std::sin(1.0f), 4});
}

const std::string kSum =
    "  threadgroup __attribute__((aligned(16))) float temp0[64];\n"
    "  temp0[lid.x] = data1[gid.x*64+lid.x];\n"
    "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  float acc = 0.0f;\n"
    "  for (int i = 0; i < 64; i++) acc = acc+temp0[(i+lid.x)%64];\n"
    "  data0[gid.x*64+lid.x] = acc;\n";

TEST_CASE("Metal emulator: threadgroup memory and barriers work") {
  LaunchSize size{.global_size = {3, 1, 1}, .local_size = {{64, 1, 1}}};
  Ran ran = run(kernel_text(kTwo, kSum), std::vector<float>(192), floats_from_1(192), size);
  REQUIRE(ran.error == "");
  CHECK(ran.out[0] == 64 * 65 / 2);
  CHECK(ran.out[191] == 64 * 65 / 2 + 128 * 64);
}

TEST_CASE("Metal emulator: a forbidden operation is reported with its line, thread and text") {
  LaunchSize size{.global_size = {3, 1, 1}, .local_size = {{64, 1, 1}}};
  auto fails = [&](const std::string& from, const std::string& to, const std::string& message) {
    std::string body = kSum;
    REQUIRE(has(body, from));
    body.replace(body.find(from), from.size(), to);
    Ran ran = run(kernel_text(kTwo, body), std::vector<float>(192), floats_from_1(192), size);
    INFO(ran.error);
    CHECK(has(ran.error, message));
    CHECK(ran.context.size() > 4);
  };
  fails("data1[gid.x*64+lid.x]", "data1[gid.x*64+lid.x+1]",
        "reads 4 bytes out of bounds, at the end of data1 (768 bytes), line 5, thread (63, 0, 0) of group (2, 0, 0)");
  fails("data0[gid.x*64+lid.x]", "data0[(int)(gid.x*64+lid.x)-2]",
        "stores 4 bytes out of bounds, 8 bytes before the beginning of data0 (768 bytes), line 9, thread (0, 0, 0)");
  fails("temp0[lid.x] = data1[gid.x*64+lid.x]", "if (lid.x) temp0[lid.x] = data1[gid.x*64+lid.x]",
        "reads threadgroup memory that no thread of the group has stored, temp0 at byte 0, line 8");
  fails("  threadgroup_barrier", "  if (lid.x >= 60) return; threadgroup_barrier",
        "waits at a barrier that 4 of the group's 64 threads never reach, line 6");
  fails("data1[gid.x*64+lid.x]", "((device float4*)(data1+1))[0].x",
        "at an address that is no multiple of that, line 5");
  fails("temp0[64]", "temp0[64000]", "more threadgroup memory than 32768 bytes, line 4");
}

TEST_CASE("Metal emulator: --race finds accesses of two threads to one address without a barrier between them") {
  LaunchSize size{.global_size = {1, 1, 1}, .local_size = {{64, 1, 1}}};
  ScopedEnvironment race("TGC_METAL_EMULATOR_RACE", "1");
  Ran ran =
      run(kernel_text(kTwo, "  data0[lid.x/2] = data1[lid.x];\n"), std::vector<float>(64), floats_from_1(64), size);
  Ran fine = run(kernel_text(kTwo, kSum), std::vector<float>(64), floats_from_1(64), size);
  CHECK(has(ran.error,
            "stores what thread (0, 0, 0) stored with no barrier between, data0 at byte 0, line 4, thread (1,"));
  CHECK(has(ran.error, "; the other access is in line 4"));
  CHECK(fine.error == "");
}

TEST_CASE("Metal emulator: the 32 threads of a SIMD group multiply matrices") {
  const std::string body =
      "  simdgroup_float8x8 a, b, c;\n"
      "  int row = (lid.x/2)%4+lid.x/16*4, col = lid.x%2*2+lid.x/8%2*4;\n"
      "  for (int i = 0; i < 2; i++) { a.thread_elements()[i] = data1[row*8+col+i];\n"
      "    b.thread_elements()[i] = row==col+i ? 2.0f : row==7 ? 1.0f : 0.0f; c.thread_elements()[i] = 0.5f; }\n"
      "  simdgroup_multiply_accumulate(c, a, b, c);\n"
      "  for (int i = 0; i < 2; i++) data0[row*8+col+i] = c.thread_elements()[i];\n";
  Ran ran = run(kernel_text(kTwo, body), std::vector<float>(64), floats_from_1(64), {.local_size = {{32, 1, 1}}});
  REQUIRE(ran.error == "");
  for (int row = 0; row < 8; row++)
    for (int col = 0; col < 8; col++) {
      float a = float(row * 8 + col + 1), last = float(row * 8 + 8);
      CHECK(ran.out[size_t(row * 8 + col)] == (col == 7 ? 2 * last : 2 * a + last) + 0.5f);
    }
  ran = run(kernel_text(kTwo, body), std::vector<float>(64), floats_from_1(64), {.local_size = {{16, 1, 1}}});
  CHECK(has(ran.error, "a function of its SIMD group, which not all 32 threads reach, line 8"));
}

TEST_CASE("Metal emulator: unsupported input is refused with its line") {
  const std::string unknown = std::string(kTwo) + ", uint n [[dispatch_threads_per_threadgroup]]";
  Ran ran = run(kernel_text(unknown, ""), {1}, {1}, {});
  CHECK(has(ran.error, "[[dispatch_threads_per_threadgroup]], which the emulator does not support"));
  CHECK(has(run(kernel_text(kTwo, "  data0[0] = nothing;\n"), {1}, {1}, {}).error, "undeclared identifier 'nothing'"));
  CHECK(has(run(kernel_text(kTwo, "  asm(\"nop\");\n"), {1}, {1}, {}).error, "inline assembly"));
  CHECK(has(run(kernel_text("device float* data0", ""), {1}, {1}, {}).error, "takes 1 arguments, not 2"));
  CHECK(has(run(kernel_text(kTwo, ""), {1}, {1}, {.local_size = {{1024, 2, 1}}}).error, "a group of 2048 threads"));
}

}  // namespace
}  // namespace tgc
