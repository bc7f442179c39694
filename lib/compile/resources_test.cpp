#include "lib/compile/resources.h"

#include <doctest/doctest.h>

#include "lib/compile/occupancy.h"

using namespace tgc;

namespace {

CompileJob hip_job(std::string body) {
  return {.language = Language::Hip,
          .machine = "amdgcn",
          .arch = "gfx1100",
          .source = "extern \"C\" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 96))) k("
                    "float* out, float* in) {\n" + body + "}\n",
          .name = "k"};
}

}  // namespace

TEST_CASE("resources of a HIP kernel are those of LLVM's own report") {
  auto job = hip_job("  __attribute__((shared, aligned(16))) float t[4096];\n"
                     "  int i = __builtin_amdgcn_workitem_id_x();\n"
                     "  t[i] = in[i];\n  __builtin_amdgcn_s_barrier();\n  out[i] = t[95 - i] + in[i];\n");
  auto found = resources_of_job(job);
  REQUIRE_MESSAGE(found, found.diag().text());
  REQUIRE(found->size() == 1);
  const KernelResources& k = found->at(0);
  CHECK(k.kernel == "k");
  CHECK(k.shared_bytes == 16384u);
  CHECK(k.scratch_bytes == 0u);
  CHECK(k.num_spills == 0u);
  CHECK(k.max_threads == 96);
  const std::string assembly = compile(job, Artifact::Assembly).value_or_throw();
  auto says = [&](std::string_view key, uint32_t n) {
    return assembly.find(std::string(key) + ": " + std::to_string(n) + "\n") != assembly.npos;
  };
  CHECK(says("; NumVgprs", k.num_vector_registers.value_or(999)));
  CHECK(assembly.find("; codeLenInByte = " + std::to_string(k.code_bytes.value_or(0)) + "\n") != assembly.npos);
  auto o = occupancy_of_kernel(k, "gfx1100", k.max_threads);
  REQUIRE(o);
  CHECK(says("; Occupancy", o->num_resident_waves));
  CHECK(o->limiting_resource == "local memory");
}

TEST_CASE("resources of a CPU kernel: the stack, spills and the width of vectors") {
  std::string source = "void k(float* restrict out, float* restrict in) {\n";
  for (int i = 0; i < 48; i++) source += "  float a" + std::to_string(i) + " = in[" + std::to_string(i * 7) + "];\n";
  source += "  for (int n = 0; n < 99; n++) {\n";
  for (int i = 0; i < 48; i++)
    source += "    a" + std::to_string(i) + " = a" + std::to_string((i * 5 + 3) % 48) + "/a" + std::to_string(i) +
              ";\n";
  source += "  }\n";
  for (int i = 0; i < 48; i++) source += "  out[" + std::to_string(i * 5) + "] = a" + std::to_string(i) + ";\n";
  auto k = resources_of_job({.machine = "x86_64", .arch = "x86-64", .source = source + "}\n", .name = "k"});
  REQUIRE_MESSAGE(k, k.diag().text());
  REQUIRE(k->size() == 1);
  CHECK(k->at(0).num_spills.value_or(0) > 10);
  CHECK(k->at(0).num_spill_loads.value_or(0) > 10);
  CHECK(k->at(0).scratch_bytes.value_or(0) >= 100);
  CHECK(k->at(0).code_bytes.value_or(0) > 500);
  auto wide = resources_of_job({.machine = "x86_64", .arch = "skylake",
                            .source = "void k(float* restrict out, float* restrict in) {\n"
                                      "  for (int i = 0; i < 4096; i++) out[i] = in[i]*in[i];\n}\n",
                            .name = "k"});
  REQUIRE_MESSAGE(wide, wide.diag().text());
  CHECK(wide->at(0).vector_bits == 256u);
  CHECK(wide->at(0).num_spills == 0u);
  CHECK(wide->at(0).scratch_bytes.value_or(99) < 16);
}

TEST_CASE("the log of ptxas is read, and occupancy names what limits it") {
  auto log = read_ptxas_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 128 registers, used 1 barriers, 24 bytes cumulative stack size, 49152 bytes smem, 368 "
      "bytes cmem[0]\n");
  REQUIRE(log.size() == 1);
  KernelResources k = log[0];
  CHECK(k.kernel == "k");
  CHECK(k.num_vector_registers == 128u);
  CHECK(k.num_spills == 16u);
  CHECK(k.num_spill_loads == 20u);
  CHECK(k.scratch_bytes == 24u);
  CHECK(k.shared_bytes == 49152u);
  CHECK(occupancy_of_kernel(k, "sm_80", 128)->text() == "12 of 64 warps, by shared memory");  // 3 blocks of 48 KiB fit
  k.shared_bytes = 0;
  CHECK(occupancy_of_kernel(k, "sm_80", 128)->text() == "16 of 64 warps, by registers");
  k.num_vector_registers = 144;  // enough for 14 warps, but each of four schedulers has room for only 3
  CHECK(occupancy_of_kernel(k, "sm_80", 32)->text() == "12 of 64 warps, by registers");
  CHECK(occupancy_of_kernel(k, "sm_60", 32)->text() == "14 of 64 warps, by registers");
  k.num_vector_registers = 32;
  CHECK(occupancy_of_kernel(k, "sm_80", 128)->text() == "64 of 64 warps");
  CHECK(occupancy_of_kernel(k, "sm_80", 32)->text() == "32 of 64 warps, by resident blocks");
  CHECK_FALSE(occupancy_of_kernel(k, "sm_80", 0));
  CHECK_FALSE(occupancy_of_kernel(k, "sm_20", 32));
}

TEST_CASE("the registers of PTX are estimated from live ranges, which a loop extends") {
  auto k = estimate_ptx_resources(
      ".visible .entry k(\n)\n.maxntid 64, 2, 1\n{\n"
      "\t.reg .pred %p<2>;\n\t.reg .f32 %f<4>;\n\t.reg .b64 %rd<3>;\n"
      "\t.shared .align 16 .b8 t[1024];\n"
      "\tmov.f32 %f1, 0f00000000;\n\tld.param.u64 %rd1, [k_param_0];\n"
      "$L__BB0_1:\n\tadd.f32 %f2, %f1, %f1;\n\tst.shared.f32 [t], %f2;\n\tld.global.f32 %f3, [%rd1];\n"
      "\t@%p1 bra $L__BB0_1;\n\tret;\n}\n");
  REQUIRE(k.size() == 1);
  CHECK(k[0].is_estimate);
  CHECK(k[0].max_threads == 128);
  CHECK(k[0].shared_bytes == 1024u);
  CHECK(k[0].num_vector_registers == 6u + 1 + 2 + 1);  // 6 reserved; f1 and rd1, live throughout the loop; f2 or f3
}
