#include "lib/compile/metal/text.h"

#include <doctest/doctest.h>

#include "lib/compile/backends.h"

using namespace tgc;

TEST_CASE("Metal source: kernels, their parameters and position attributes are parsed") {
  auto kernels = find_metal_kernels(
      "// kernel void not_this(device float* a)\n"
      "float2 f(float2 a){ return a; }\n"
      "kernel void one(device float* data0, constant int& n [[buffer(3)]],\n"
      "                uint3 lid [[thread_position_in_threadgroup]]) {}\n"
      "kernel void two() {}\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "one");
  REQUIRE(kernels[0].parameters.size() == 3);
  CHECK(kernels[0].parameters[0].name == "data0");
  CHECK_FALSE(kernels[0].parameters[0].is_reference);
  CHECK(kernels[0].parameters[1].is_reference);
  CHECK(kernels[0].parameters[1].name == "n");
  CHECK(kernels[0].parameters[2].position == "thread_in_group");
  CHECK(kernels[1].parameters.empty());
}

TEST_CASE("Metal source: threadgroup memory becomes the group's, and line numbers stay the same") {
  std::string text = convert_metal_to_cpp(
      "#include <metal_stdlib>\n"
      "kernel void k(device float* data0) {\n"
      "  threadgroup __attribute__((aligned(16))) float temp0[4][2]; /* threadgroup */\n"
      "  *((threadgroup float2*)(temp0)) = *((device float2*)(data0));\n"
      "}\n");
  size_t begin = text.find("#line 1 \"kernel.metal\"\n");
  REQUIRE(begin != text.npos);
  CHECK(text.substr(begin + 23) ==
        "\n"
        "kernel void k(device float* data0) {\n"
        "  typedef __attribute__((aligned(16))) float tgc_type_0[4][2]; tgc_type_0& temp0 = "
        "tgc_threadgroup_memory<tgc_type_0>(0, \"temp0\"); /* threadgroup */\n"
        "  *((threadgroup float2*)(temp0)) = *((device float2*)(data0));\n"
        "}\n"
        "extern \"C\" TGC_UNCHECKED void tgc_entry_k(void* const* a, const tgc::Position* p) "
        "{ k(tgc::Pointer{a[0]}); }\n");
}

TEST_CASE("Metal source: unsupported constructs are refused with their line; malformed text does not crash") {
  auto line_of = [](const std::string& text) {
    try {
      convert_metal_to_cpp(text);
    } catch (const RejectedSource& r) {
      return int(r.diag().line);
    }
    return 0;
  };
  CHECK(line_of("\nkernel void k(uint n [[amplification_id]]) {}") == 2);
  CHECK(line_of("kernel void k(\n\nfloat x) {}") == 3);
  CHECK(line_of("kernel void k(device float* x") == 1);
  CHECK(line_of("void f() {\n threadgroup float a[2], b[2];\n}") == 2);
  CHECK(line_of("{ threadgroup float a[2]") == 1);
  CHECK(line_of("{ threadgroup ;") == 1);
  CHECK(line_of("kernel void k(device float* x [[") == 1);
  for (const char* odd : {"", "\"", "'", "/*", "//", "kernel void", "kernel void k", "threadgroup", ";threadgroup"})
    line_of(odd);
}
