// CUDA C++ (tinygrad renderer/cstyle.py, CUDARenderer).
#include <algorithm>

#include "renderers/cstyle/cstyle.h"

namespace tgc {
namespace {

constexpr ScalarTypeName kTypes[] = {
    {Scalar::BFloat16, "nv_bfloat16"}, {Scalar::FP8E4M3, "__nv_fp8_e4m3"}, {Scalar::FP8E5M2, "__nv_fp8_e5m2"}};
constexpr DTypeSet kHalves{Scalar::Float16, Scalar::BFloat16};

bool is_half(UOp u) { return u.dtype().count() == 1 && kHalves.contains(u.dtype()); }

std::span<const CTextRow> cuda_rows() {
  static const CTextRow rows[] = {
      {Op::BITCAST, "tg_bitcast<$t>(($t0)($0))"},
      {Op::TRUNC, is_half, "htrunc($0)"},
      {Op::SIN, is_half, "hsin($0)"},
      {Op::LOG2, is_half, "hlog2($0)"},
      {Op::EXP2, is_half, "hexp2($0)"},
      {Op::SQRT, is_half, "hsqrt($0)"},
      {Op::RECIPROCAL, is_half, "hrcp($0)"},
  };
  return rows;
}

// Returns the definitions of a vector type that CUDA does not have, and of the function that makes a vector of this
// type.
std::string vector_struct(CStyleRenderer& c, DType d) {
  std::string vector = c.type_name(d), scalar = c.type_name(d.scalar()), names = element_names_text(d.count());
  return "struct __align__(" + std::to_string(d.itemsize()) + ") " + vector + " { " + scalar + " " + names +
         "; }; __device__ " + vector + " make_" + vector + "(" + element_names_text(d.count(), scalar + " ") + ") { " +
         vector + " r={" + names + "}; return r; }\n";
}

std::string_view mma_type(DType d, bool result) {
  switch (d.scalar_kind()) {
    case Scalar::Float32: return result ? "f32" : "tf32";
    case Scalar::Float16: return "f16";
    case Scalar::BFloat16: return result ? "" : "bf16";
    case Scalar::FP8E4M3: return result ? "" : "e4m3";
    case Scalar::FP8E5M2: return result ? "" : "e5m2";
    default: return "";
  }
}

// Returns a function that executes the tensor core's instruction. The operands are in 4-byte registers; the registers
// of C also receive the result.
std::string mma_function(CStyleRenderer& c, const WmmaUse& use) {
  DType dtypes[] = {use.input_dtype, use.input_dtype, use.output_dtype};
  std::string types[3];
  int64_t registers[3];
  for (size_t i = 0; i < 3; i++) {
    types[i] = c.type_name(dtypes[i].vec(use.num_elements(i)));
    registers[i] = use.num_elements(i) * dtypes[i].itemsize() / 4;
  }
  std::string in(mma_type(use.input_dtype, false)), out(mma_type(use.output_dtype, true));
  if (in.empty() || out.empty())
    throw Failure("the " + c.target().name() + " renderer has no tensor core from " +
                  std::string(use.input_dtype.repr()) + " to " + std::string(use.output_dtype.repr()));
  auto list = [](int64_t first, int64_t count, const std::string& before, const std::string& after) {
    std::string text;
    for (int64_t i = first; i < first + count; i++)
      text += (i > first ? ", " : "") + before + std::to_string(i) + after;
    return text;
  };
  int64_t nc = registers[2], na = registers[0], nb = registers[1];
  std::string accumulators = list(0, nc, "%", "");
  return "__device__ " + types[2] + " __" + std::string(use.name) + "(" + types[0] + " a, " + types[1] + " b, " +
         types[2] + " c){\n" + "  int *a_pk = (int *)(&a), *b_pk = (int *)(&b), *c_pk = (int *)(&c);\n" +
         "  asm(\"mma.sync.aligned.m" + std::to_string(use.m) + "n" + std::to_string(use.n) + "k" +
         std::to_string(use.k) + ".row.col." + out + "." + in + "." + in + "." + out + "\"\n" + "      \"{" +
         accumulators + "}, {" + list(nc, na, "%", "") + "},\"\n      \"{" + list(nc + na, nb, "%", "") + "}, {" +
         accumulators + "};\"\n    : " + list(0, nc, "\"+r\"(c_pk[", "])") +
         "\n    : " + list(0, na, "\"r\"(a_pk[", "])") + ", " + list(0, nb, "\"r\"(b_pk[", "])") +
         ");\n  return c;\n}\n";
}

void cuda_prologue(CStyleRenderer& c, std::string& out) {
  out += R"(#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fffffff))
template <class T, class F> __device__ __forceinline__ T tg_bitcast(F v) { union U { F f; T t; }; U u; u.f = v; return u.t; }
)";
  auto used = value_dtypes_of(c.list());
  auto any = [&](DTypeSet set) {
    return std::any_of(used.begin(), used.end(), [&](DType d) { return set.contains(d); });
  };
  if (any(dtypes::fp8s)) out += "#include <cuda_fp8.h>\n";
  if (any({Scalar::Float16})) out += "#include <cuda_fp16.h>\n";
  if (any({Scalar::BFloat16})) out += "#include <cuda_bf16.h>\n";
  for (DType d : used) {
    int n = d.count();
    bool half_vector = (n == 4 || n == 8) && kHalves.contains(d),
         fp8_vector = (n == 2 || n == 4 || n == 8 || n == 16) && dtypes::fp8s.contains(d);
    if (half_vector || fp8_vector) out += vector_struct(c, d);
  }
  for (const WmmaUse& use : find_wmma_uses(c.list())) out += mma_function(c, use);
}

}  // namespace

std::string render_cuda(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> table{cuda_rows(), c_rows()};
  static const CDialect dialect{
      .function_prefix = "extern \"C\" __global__ void __launch_bounds__({})",
      .local_prefix = "__shared__ __align__(16) ",
      .has_local_prefix_in_casts = false,
      .barrier = "__syncthreads();",
      .global_id = "blockIdx.$l",
      .local_id = "threadIdx.$l",
      .global_thread_id = "(blockIdx.$l*blockDim.$l+threadIdx.$l)",
      .vector_constructor = "make_float4",
      .largest_named_vector = 8,
      .type_names = kTypes,
      .text_table = &table,
      .print_prologue = cuda_prologue,
  };
  return render_c(target, dialect, list, added);
}

}  // namespace tgc
