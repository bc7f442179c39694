// Compiles CUDA with clang's NVPTX target, without NVRTC and CUDA's headers, so that the PTX can be read on any
// computer. The prelude declares the parts of CUDA's headers that tinygrad's CUDA renderer uses, except fp8.
#include "lib/compile/backends.h"
#include "lib/compile/cuda_math.h"

namespace tgc {
namespace {

constexpr std::string_view kDeclarations = R"(
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
struct uint3; struct dim3;
#include <__clang_cuda_builtin_vars.h>
typedef _Float16 half;
#define TGC_VECTORS(T, N) \
  struct __align__(2 * sizeof(T)) N##2 { T x, y; }; struct N##3 { T x, y, z; }; \
  struct __align__(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) N##4 { T x, y, z, w; }; \
  static __device__ __forceinline__ N##2 make_##N##2(T x, T y) { return {x, y}; } \
  static __device__ __forceinline__ N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
  static __device__ __forceinline__ N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
TGC_VECTORS(float, float) TGC_VECTORS(double, double) TGC_VECTORS(int, int) TGC_VECTORS(unsigned int, uint)
TGC_VECTORS(signed char, char) TGC_VECTORS(unsigned char, uchar)
TGC_VECTORS(short, short) TGC_VECTORS(unsigned short, ushort)
TGC_VECTORS(long long, longlong) TGC_VECTORS(unsigned long long, ulonglong)
struct half2 { half x, y; };
static __device__ __forceinline__ half2 make_half2(half x, half y) { return {x, y}; }
static __device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
static __device__ __forceinline__ float exp2(float x) { return __nvvm_ex2_approx_f(x); }
static __device__ __forceinline__ float log2(float x) { return __nvvm_lg2_approx_f(x); }
static __device__ __forceinline__ float sin(float x) { return __nvvm_sin_approx_f(x); }
static __device__ __forceinline__ float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
static __device__ __forceinline__ double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
static __device__ __forceinline__ float trunc(float x) { return __nvvm_trunc_f(x); }
static __device__ __forceinline__ double trunc(double x) { return __nvvm_trunc_d(x); }
static __device__ __forceinline__ half hexp2(half x) { return exp2((float)x); }
static __device__ __forceinline__ half hlog2(half x) { return log2((float)x); }
static __device__ __forceinline__ half hsin(half x) { return sin((float)x); }
static __device__ __forceinline__ half hsqrt(half x) { return sqrt((float)x); }
static __device__ __forceinline__ half hrcp(half x) { return 1.0f / (float)x; }
static __device__ __forceinline__ half htrunc(half x) { return trunc((float)x); }
struct nv_bfloat16 {
  unsigned short bits;
  nv_bfloat16() = default;
  __device__ nv_bfloat16(float x) {
    unsigned int u = __builtin_bit_cast(unsigned int, x);
    bits = x != x ? 0x7FFF : (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
  }
  __device__ operator float() const { return __builtin_bit_cast(float, (unsigned int)bits << 16); }
};
// each operation rounds, as in CUDA's header
static __device__ __forceinline__ nv_bfloat16 operator-(nv_bfloat16 x) { return -(float)x; }
#define TGC_BFLOAT16(op) static __device__ __forceinline__ nv_bfloat16 operator op(nv_bfloat16 a, nv_bfloat16 b) \
  { return (float)a op (float)b; }
TGC_BFLOAT16(+) TGC_BFLOAT16(-) TGC_BFLOAT16(*) TGC_BFLOAT16(/)
static __device__ __forceinline__ nv_bfloat16 hsqrt(nv_bfloat16 x) { return sqrt((float)x); }
static __device__ __forceinline__ nv_bfloat16 hexp2(nv_bfloat16 x) { return exp2((float)x); }
static __device__ __forceinline__ nv_bfloat16 hlog2(nv_bfloat16 x) { return log2((float)x); }
static __device__ __forceinline__ nv_bfloat16 hsin(nv_bfloat16 x) { return sin((float)x); }
static __device__ __forceinline__ nv_bfloat16 htrunc(nv_bfloat16 x) { return trunc((float)x); }
static __device__ __forceinline__ nv_bfloat16 hrcp(nv_bfloat16 x) { return 1.0f / (float)x; }
)";

// Line numbers stay the same.
std::string remove_include_lines(std::string source) {
  for (std::string_view header : {"#include <cuda_fp16.h>", "#include <cuda_bf16.h>"})
    for (size_t at = 0; (at = source.find(header, at)) != source.npos;) source.replace(at, header.size(), "");
  return source;
}

}  // namespace

std::string compile_cuda_by_clang(const CompileJob& job, OutputForm form) {
  std::vector<std::string> args{"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + job.arch, "-nocudainc",
                                "-nocudalib", "-nogpuinc", "-O3", "-std=c++17", "-Wno-unknown-cuda-version",
                                "--no-cuda-version-check"};
  if (job.annotates_lines) args.insert(args.end(), {"-gline-tables-only", kHideFolderOption});
  ClangEngine& clang = *clang_engine().value_or_throw();
  std::string prelude = std::string(kDeclarations) + std::string(kCudaMathSource) + "#line 1 \"kernel.cu\"\n";
  return result_or_throw(clang.compile(prelude + remove_include_lines(job.source), "kernel.cu", args, form));
}

}  // namespace tgc
