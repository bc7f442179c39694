#include "lib/target/target.h"

#include <doctest/doctest.h>

#include "lib/target/tensor_core.h"

namespace tgc {
namespace {

Target target(std::string_view text, const Settings& settings = {}) {
  auto t = parse_target(text, settings);
  REQUIRE_MESSAGE(t.ok(), t.diag().text());
  return *t;
}

std::string refusal(std::string_view text) {
  auto t = parse_target(text, {});
  return t ? "" : t.diag().text();
}

TEST_CASE("target: every known target parses and prints as itself") {
  CHECK(known_targets().size() > 40);
  for (std::string_view name : known_targets()) CHECK(target(name).name() == name);
}

TEST_CASE("target: missing parts take the device's default") {
  CHECK(target("CPU").name() == "CPU:CLANG");
  CHECK(target("cuda").name() == "CUDA:CUDA:sm_80");
  CHECK(target("CUDA:PTX").name() == "CUDA:PTX:sm_80");
  CHECK(target("NV").name() == "NV:CUDA:sm_80");
  CHECK(target("AMD::gfx942").name() == "AMD:HIP:gfx942");
  CHECK(target("AMD:LLVM").name() == "AMD:LLVM:gfx1100");
  CHECK(target("CL").name() == "CL:CL");
  CHECK(target("WEBGPU").name() == "WEBGPU:WGSL");
  CHECK(target("METAL").name() == "METAL:METAL");
  CHECK(target("CUDA:CUDA:sm_121").tensor_cores.size() == 8);
  CHECK(target("NV:CUDA:sm_35").tensor_cores.empty());  // tinygrad's mock GPU
  CHECK(target("QCOM").name() == "QCOM:CL");
  CHECK(target("HIP").name() == "HIP:HIP:gfx1100");
  CHECK(target("AMD:HIP:gfx942:sramecc+:xnack-").tensor_cores.data() == tensor_cores::amd("gfx942").data());
}

TEST_CASE("target: errors name the unknown part and list the known ones") {
  CHECK(refusal("GPU") ==
        "unknown device 'GPU' in target 'GPU', expected CPU, CUDA, NV, METAL, CL, QCOM, AMD, HIP, WEBGPU");
  CHECK(refusal("plugin:./x.so").starts_with("'plugin:./x.so' names a plugin, which is native code"));
  CHECK(refusal("") == "unknown device '' in target '', expected CPU, CUDA, NV, METAL, CL, QCOM, AMD, HIP, WEBGPU");
  CHECK(refusal("CPU:HIP") == "unknown renderer 'HIP' in target 'CPU:HIP', expected CLANG, LLVM");
  CHECK(refusal("CUDA:CUDA:sm_12") ==
        "unknown arch 'sm_12' in target 'CUDA:CUDA:sm_12', expected sm_70, sm_75, sm_80, sm_86, "
        "sm_89, sm_90, sm_100, sm_120");
  CHECK(refusal("CUDA:CUDA:sm_8x").starts_with("unknown arch 'sm_8x'"));
  for (const char* none : {"CUDA:CUDA:sm_99", "CUDA:PTX:sm_81", "NV:CUDA:sm_130", "CUDA:CUDA:sm_", "CUDA:CUDA:sm_-80"})
    CHECK(refusal(none).ends_with("expected sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120"));
  CHECK(refusal("AMD:HIP:gfx9999").starts_with("unknown arch 'gfx9999'"));
  CHECK(refusal("METAL:METAL:m3") == "METAL has no archs, but target 'METAL:METAL:m3' names 'm3'");
  CHECK(refusal("AMD:HIP:gfx1030").starts_with("unknown arch 'gfx1030'"));
  CHECK(refusal("CPU:CLANG:x86") == "CLANG has no archs, but target 'CPU:CLANG:x86' names 'x86'");
}

TEST_CASE("recorded_target: accepts every arch that tinygrad's renderers accept and chooses its tensor cores") {
  auto recorded = [](std::string_view text) { return std::move(parse_recorded_target(text, {}).value_or_throw()); };
  CHECK(recorded("CUDA:CUDA:sm_99").tensor_cores.data() == target("CUDA:CUDA:sm_90").tensor_cores.data());
  CHECK(recorded("CUDA:PTX:sm_81").name() == "CUDA:PTX:sm_81");
  CHECK(recorded("CUDA:CUDA:sm_21").tensor_cores.empty());
  CHECK(recorded("AMD:HIP:gfx1030").tensor_cores.data() == tensor_cores::amd("gfx1100").data());
  CHECK(recorded("AMD:LLVM:gfx90a:xnack-").name() == "AMD:LLVM:gfx90a:xnack-");
  CHECK(recorded("CUDA").name() == "CUDA:CUDA:sm_80");
  for (const char* none : {"CUDA:CUDA:gfx1100", "CUDA:CUDA:sm_8x", "AMD:HIP:sm_80", "METAL:METAL:m3", "TPU"})
    CHECK_FALSE(parse_recorded_target(none, {}));
}

TEST_CASE("target: settings change CPU targets") {
  Settings s;
  s.CPU_COUNT = 6;
  Target t = target("CPU", s);
  CHECK(t.has_threads);
  CHECK(*t.global_max == std::array<int64_t, 3>{6, 0, 0});
  CHECK(t.tensor_cores.empty());
  s.THREADS = 0;
  s.AMX = 1;
  CHECK(!target("CPU", s).has_threads);
  CHECK(target("CPU", s).tensor_cores.size() == 1);
  CHECK(target("CPU:LLVM", s).tensor_cores.size() == 1);
  CHECK(target("CUDA", s).tensor_cores.size() == 6);
}

TEST_CASE("target: limits equal those of tinygrad's renderer classes") {
  Target cpu = target("CPU:LLVM"), cuda = target("CUDA"), amd = target("AMD:LLVM"), hip = target("AMD"),
         wgsl = target("WEBGPU"), cl = target("CL");
  CHECK(!cpu.has_local);
  CHECK(!cpu.global_max);
  CHECK(!cpu.has_threads);
  CHECK(*cuda.global_max == std::array<int64_t, 3>{2147483647, 65535, 65535});
  CHECK(*cuda.local_max == std::array<int64_t, 3>{1024, 1024, 64});
  CHECK(cuda.shared_max == 49152);
  CHECK(amd.has_local);
  CHECK(amd.shared_max == 65536);
  CHECK(*hip.global_max == *amd.global_max);
  CHECK(*hip.local_max == std::array<int64_t, 3>{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF});
  CHECK(!wgsl.supports_float4);
  CHECK(*wgsl.local_max == std::array<int64_t, 3>{256, 256, 64});
  CHECK(cl.shared_max == 32768);
  for (auto name : known_targets()) CHECK(target(name).has_shared);
}

TEST_CASE("target: code_for_op equals that of tinygrad's renderer classes") {
  CHECK(target("CPU").code_for_op.size() == 18);
  CHECK(!target("CPU").code_for_op.contains(Op::EXP2));
  CHECK(target("CPU:LLVM").code_for_op == OpSet{Op::FDIV, Op::CMPLT});
  CHECK(target("AMD:LLVM").code_for_op == OpSet{Op::FDIV, Op::CMPLT, Op::SQRT, Op::LOG2, Op::EXP2});
  CHECK(target("CUDA:PTX").code_for_op.contains(Op::MULACC));
  CHECK(!target("CUDA:PTX").code_for_op.contains(Op::NEG));
  for (auto name : {"CUDA", "CL", "CL:INTEL", "METAL", "AMD", "WEBGPU"}) CHECK(target(name).code_for_op.size() == 21);
}

TEST_CASE("is_dtype_supported: equals tinygrad's") {
  CHECK(!is_dtype_supported(dtypes::index, target("CPU")));
  CHECK(!is_dtype_supported(dtypes::int64, target("WEBGPU")));
  CHECK(is_dtype_supported(dtypes::float16, target("WEBGPU")));
  CHECK(is_dtype_supported(dtypes::int64, target("METAL")));
  CHECK(!is_dtype_supported(dtypes::float64, target("METAL")));
  CHECK(is_dtype_supported(dtypes::bfloat16, target("CUDA")));
  CHECK(!is_dtype_supported(dtypes::bfloat16, target("CUDA:PTX")));
  CHECK(!is_dtype_supported(dtypes::fp8e4m3, target("CPU")));
  CHECK(is_dtype_supported(dtypes::fp8e4m3, target("AMD:HIP:gfx942")));
  CHECK(!is_dtype_supported(dtypes::fp8e4m3, target("AMD:HIP:gfx1100")));
  CHECK(!is_dtype_supported(dtypes::float16, target("CPU:LLVM")));
}

}  // namespace
}  // namespace tgc
