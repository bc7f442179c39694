#include "lib/compile/hand_written.h"

#include <doctest/doctest.h>

using namespace tgc;

TEST_CASE("hand-written kernels: the parameters of each language") {
  struct {
    Language language;
    const char* source;
  } cases[] = {
      {Language::Cuda,
       "// a kernel\nextern \"C\" __global__ void __launch_bounds__(64) add(const float* __restrict__ a, "
       "float *b,\n  int n) {}"},
      {Language::Hip,
       "extern \"C\" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 64))) "
       "add(const float* a, float* b, int n) {}"},
      {Language::OpenCl, "__kernel void add(__global const float* restrict a, __global float* b, const int n) {}"},
      {Language::Metal,
       "kernel void add(device const float* a [[buffer(0)]], device float* b [[buffer(1)]], "
       "constant int& n [[buffer(2)]]) {}"},
      {Language::C, "void add(const float* restrict a, float* restrict b, int n) {}"},
      {Language::LlvmIr, "define void @add(float* noalias readonly align 32 %a, float* %b, i32 %n) {"},
  };
  for (auto& c : cases) {
    INFO(c.source);
    auto kernels = kernels_in_source(c.language, c.source);
    REQUIRE_MESSAGE(kernels, kernels.diag().text());
    REQUIRE(kernels->size() == 1);
    const HandWrittenKernel& k = kernels->front();
    CHECK(k.name == "add");
    REQUIRE(k.parameters.size() == 3);
    CHECK(k.parameters[0].name == "a");
    CHECK(k.parameters[0].type == "float");
    CHECK(k.parameters[0].is_pointer);
    CHECK(k.parameters[0].is_const);
    CHECK(k.parameters[1].name == "b");
    CHECK_FALSE(k.parameters[1].is_const);
    CHECK(k.parameters[2].name == "n");
    CHECK(k.parameters[2].is_pointer == (c.language == Language::Metal));
  }
  auto metal = kernels_in_source(Language::Metal, "kernel void add(device float* a [[buffer(0)]], "
                                 "uint3 at [[thread_position_in_grid]], uint2 wide [[ buffer(1) ]]) {}");
  REQUIRE_MESSAGE(metal, metal.diag().text());
  CHECK_FALSE(metal->front().parameters.at(0).is_builtin);
  CHECK(metal->front().parameters.at(1).is_builtin);
  CHECK_FALSE(metal->front().parameters.at(2).is_builtin);
  CHECK_FALSE(kernels_in_source(Language::Cuda, "__device__ void f() {}"));
  CHECK_FALSE(kernels_in_source(Language::OpenCl, "void my_kernel(global float* a) {}"));
}

TEST_CASE("hand-written kernels: macros, headers and HIP's keywords are replaced, and lines keep their numbers") {
  auto made =
      make_self_contained_source(Language::Hip,
                            "#include <hip/hip_runtime.h>\n#define TILE 16  // elements\n#pragma unroll\n"
                            "__global__ void __launch_bounds__(TILE) k(float* a) { a[threadIdx.x * TILE] = 1; }\n");
  REQUIRE_MESSAGE(made, made.diag().text());
  CHECK(*made == "\n\n\nextern \"C\" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 16))) "
        "k(float* a) { a[(int)__builtin_amdgcn_workitem_id_x() * 16] = 1; }\n");
  for (const char* line : {"#include \"/etc/passwd\"", "#define F(x) x", "#define A b##c", "#if 1", "#define A 1 \\"}) {
    INFO(line);
    auto refused = make_self_contained_source(Language::Cuda, std::string("\n") + line + "\n");
    REQUIRE_FALSE(refused);
    CHECK(refused.diag().line == 2);
  }
}

TEST_CASE("hand-written kernels: macros are not replaced in comments, also those of several lines") {
  auto made = make_self_contained_source(Language::Hip,
                                         "#define N 4\n/* N threadIdx.x\n#if N */ int a = N; /* N */\n// N\n"
                                         "const char* s = \"/*\"; int b = N;\n");
  REQUIRE_MESSAGE(made, made.diag().text());
  CHECK(*made == "\n \n  int a = 4;  \n// N\nconst char* s = \"/*\"; int b = 4;\n");
}
