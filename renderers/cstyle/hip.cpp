// HIP C++ for AMD GPUs (tinygrad renderer/cstyle.py, AMDHIPRenderer). The source includes no HIP headers: the functions
// and types that a kernel needs are declared above it.
#include <algorithm>
#include <cmath>
#include <map>

#include "lib/target/target.h"
#include "renderers/cstyle/cstyle.h"

namespace tgc {
namespace {

constexpr ScalarTypeName kTypes[] = {
    {Scalar::BFloat16, "hip_bfloat16"}, {Scalar::FP8E4M3, "hip_fp8"}, {Scalar::FP8E5M2, "hip_bf8"}};

bool is_half(UOp u) { return u.dtype() == dtypes::float16; }
bool is_double(UOp u) { return u.dtype() == dtypes::float64; }

std::span<const CTextRow> hip_rows() {
  static const CTextRow rows[] = {
#define OCML(OP, name)                                                                          \
  {Op::OP, is_half, "__ocml_" name "_f16($0)"}, {Op::OP, is_double, "__ocml_" name "_f64($0)"}, \
      {Op::OP, "__ocml_" name "_f32($0)"}
      OCML(TRUNC, "trunc"), OCML(SIN, "sin"), OCML(LOG2, "log2"), OCML(EXP2, "exp2"), OCML(SQRT, "sqrt"),
#undef OCML
  };
  return rows;
}

bool is_scaled_mfma(UOp u) { return u.arg()[1][2] == Arg(128); }
bool is_float_to_fp8(UOp u) {
  return dtypes::fp8s.contains(u.dtype()) && u.src(0).dtype().scalar() == dtypes::float32;
}
bool is_fp8_to_float(UOp u) {
  return u.dtype().scalar() == dtypes::float32 && dtypes::fp8s.contains(u.src(0).dtype());
}

std::string fp8_format_number(CStyleRenderer& c, UOp u, DType d) {
  if (!dtypes::fp8s.contains(d)) c.throw_cannot_render(u, std::string(d.repr()) + " is not an fp8 dtype");
  return d.scalar_kind() == Scalar::FP8E4M3 ? "0" : "1";
}

bool print_scaled_mfma(CStyleRenderer& c, UOp u) {
  if (!is_scaled_mfma(u)) return false;
  std::string format = fp8_format_number(c, u, u.src(0).dtype());
  c.output.append("__").append(u.arg()[0].text()).append("(").append(c.text(u, 0)).append(", ").append(c.text(u, 1))
      .append(", ").append(c.text(u, 2));
  c.output.append(", ").append(format).append(", ").append(format).append(", 0, 0, 0, 0)");
  return true;
}
bool print_to_fp8(CStyleRenderer& c, UOp u) {
  if (!is_float_to_fp8(u)) return false;
  c.output.append("f32_to_fp8(").append(c.text(u, 0)).append(", ").append(fp8_format_number(c, u, u.dtype())) += ')';
  return true;
}
bool print_from_fp8(CStyleRenderer& c, UOp u) {
  if (!is_fp8_to_float(u)) return false;
  bool e4m3 = u.src(0).dtype().scalar_kind() == Scalar::FP8E4M3;
  c.output.append("__builtin_amdgcn_cvt_f32_")
      .append(e4m3 ? "fp8" : "bf8")
      .append("((unsigned int)")
      .append(c.text(u, 0))
      .append(", 0)");
  return true;
}

std::span<const CTextRow> cdna_rows() {
  static const CTextRow rows[] = {
      {Op::WMMA, print_scaled_mfma},
      {Op::WMMA, "__$w($0, $1, $2, 0, 0, 0)"},
      {Op::CAST, print_to_fp8},
      {Op::CAST, print_from_fp8},
  };
  return rows;
}

constexpr std::string_view kFloatToFp8 = R"(typedef unsigned char hip_bf8;
typedef unsigned char hip_fp8;
static inline __attribute__((device)) unsigned char f32_to_fp8(float v, int is_bf8) {
  v = (((*(unsigned*)&v)&0x7F800000)!=0x7F800000)?__builtin_amdgcn_fmed3f(v,is_bf8?57344.0f:448.0f,is_bf8?-57344.0f:-448.0f) : v;
  return (unsigned char)(is_bf8?__builtin_amdgcn_cvt_pk_bf8_f32(v,v,0,false):__builtin_amdgcn_cvt_pk_fp8_f32(v,v,0,false));
}
)";

// The parameters and body of a function that calls RDNA3's tensor core for halves, whose accumulator uses only the
// halves at even indices.
constexpr std::string_view kHalfAccumulator = R"((half16 a, half16 b, half8 c) {
  half16 c_frag = {}; half8 d; for (int n = 0; n < 8; n++) { c_frag[n*2] = c[n]; }
  c_frag = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a, b, c_frag, false);
  for (int n = 0; n < 8; n++) { d[n] = c_frag[n*2]; } return d;
}
)";

void declare_function(std::string& out, std::string_view attribute, std::string_view result, std::string_view name,
                      std::string_view parameter) {
  out.append("extern \"C\" __attribute__((device").append(attribute.empty() ? "" : ", ").append(attribute)
      .append(")) ");
  out.append(result).append(" ").append(name).append("(").append(parameter).append(");\n");
}

void declare_math_functions(CStyleRenderer& c, std::string& out) {
  struct OcmlFunction {
    Op op;
    std::string_view name, attribute;
  };
  static constexpr OcmlFunction kFunctions[] = {{Op::EXP2, "exp2", "pure"}, {Op::LOG2, "log2", "pure"},
                                                {Op::SQRT, "sqrt", "const"}, {Op::SIN, "sin", ""},
                                                {Op::TRUNC, "trunc", ""}};
  std::vector<std::pair<Op, DType>> done;
  for (UOp u : c.list())
    for (const OcmlFunction& f : kFunctions) {
      DType d = u.dtype().scalar();
      if (!u.is(f.op) || (d != dtypes::float16 && d != dtypes::float32 && d != dtypes::float64)) continue;
      if (std::pair key(f.op, d); std::find(done.begin(), done.end(), key) == done.end()) done.push_back(key);
      else continue;
      declare_function(out, f.attribute, d.name(), "__ocml_" + std::string(f.name) + "_f" + std::to_string(d.bitsize()),
                       d.name());
    }
}

void define_vector_type(CStyleRenderer& c, DType d, std::string& out) {
  std::string vector = c.type_name(d), scalar = c.type_name(d.scalar());
  out += "typedef " + scalar + " " + vector + " __attribute__((ext_vector_type(" + std::to_string(d.count()) +
         ")));\nstatic inline __attribute__((device)) " + vector + " make_" + vector + "(" +
         element_names_text(d.count(), scalar + " ") + ") { return { " + element_names_text(d.count()) + " }; }\n";
}

// Defines a macro or function for each tensor core. On CDNA, as in tinygrad, the type in an instruction's name depends
// on the preceding tensor cores.
void define_wmma_functions(CStyleRenderer& c, std::string& out) {
  std::map<Scalar, std::string> types{{Scalar::BFloat16, "bf16"}, {Scalar::Float32, "f32"}, {Scalar::Float16, "f16"},
                                      {Scalar::FP8E4M3, "_fp8_fp8"}, {Scalar::FP8E5M2, "_bf8_bf8"}};
  auto type = [&](DType d) {
    auto it = types.find(d.scalar_kind());
    if (it == types.end())
      throw Failure("the " + c.target().name() + " renderer has no tensor core of " + std::string(d.repr()));
    return it->second;
  };
  for (const WmmaUse& use : find_wmma_uses(c.list())) {
    std::string define = "#define __" + std::string(use.name) + " __builtin_amdgcn_";
    std::string size = std::to_string(use.n) + "x" + std::to_string(use.m) + "x" + std::to_string(use.k);
    if (is_cdna(c.target().arch)) {
      if (size == "16x16x16") types[Scalar::BFloat16] = "bf16_1k";
      else if (size == "16x16x32") types[Scalar::BFloat16] = "_bf16", types[Scalar::Float16] = "_f16";
      else if (size == "16x16x128") types[Scalar::FP8E4M3] = types[Scalar::FP8E5M2] = "_f8f6f4";
      out += define + "mfma_" + (use.k == 128 ? "scale_" : "") + "f32_" + size + type(use.input_dtype) + "\n";
    } else if (is_rdna4(c.target().arch)) {
      out += define + "wmma_" + type(use.output_dtype) + "_16x16x16_" + type(use.input_dtype) + "_w32_gfx12\n";
    } else if (use.output_dtype == dtypes::float32) {
      out += define + "wmma_f32_16x16x16_" + (use.input_dtype == dtypes::float16 ? "f16" : "bf16") + "_w32\n";
    } else {
      out.append("static inline __attribute__((device)) half8 __").append(use.name).append(kHalfAccumulator);
    }
  }
}

void hip_prologue(CStyleRenderer& c, std::string& out) {
  auto list = c.list();
  auto used = value_dtypes_of(list);
  auto has_node_where = [&](auto test) { return std::any_of(list.begin(), list.end(), test); };
  auto any_dtype = [&](DTypeSet set) {
    return std::any_of(used.begin(), used.end(), [&](DType d) { return set.contains(d); });
  };
  if (has_node_where(
          [](UOp u) { return u.is_const() && u.arg().is_float() && !std::isfinite(u.arg().to_const().as_float()); }))
    out += "#define INFINITY (__builtin_inff())\n#define NAN (__builtin_nanf(\"\"))\n";
  bool ids = has_node_where([](UOp u) { return u.is(Op::SPECIAL); });
  if (ids) out += "typedef long unsigned int size_t;\n";
  if (any_dtype({Scalar::BFloat16})) out += "typedef unsigned short hip_bfloat16;\n";
  if (any_dtype({Scalar::Float16})) out += "#define half _Float16\n";
  if (any_dtype(dtypes::fp8s)) out += kFloatToFp8;
  if (ids)
    for (std::string_view name : {"__ockl_get_local_id", "__ockl_get_group_id", "__ockl_get_local_size"})
      declare_function(out, "const", "size_t", name, "unsigned int");
  declare_math_functions(c, out);
  for (DType d : used)
    if (d.count() > 1) define_vector_type(c, d, out);
  define_wmma_functions(c, out);
  if (out.empty()) out += '\n';  // tinygrad also prints one empty line if there is nothing to print above the kernel
}

CDialect make_hip_dialect(const NodeTextTable<CStyleRenderer>& table) {
  return {
      .function_prefix =
          "extern \"C\" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, {})))",
      .local_prefix = "__attribute__((shared, aligned(16)))",
      .has_local_prefix_in_casts = false,
      .barrier =
          "__builtin_amdgcn_fence(__ATOMIC_RELEASE, "
          "\"workgroup\");__builtin_amdgcn_s_barrier();__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "
          "\"workgroup\");",
      .global_id = "__ockl_get_group_id($d)",
      .local_id = "__ockl_get_local_id($d)",
      .global_thread_id = "(__ockl_get_group_id($d)*__ockl_get_local_size($d)+__ockl_get_local_id($d))",
      .vector_constructor = "make_float4",
      .type_names = kTypes,
      .text_table = &table,
      .print_prologue = hip_prologue,
  };
}

}  // namespace

std::string render_hip(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> rdna_table{hip_rows(), c_rows()},
      cdna_table{cdna_rows(), hip_rows(), c_rows()};
  static const CDialect rdna = make_hip_dialect(rdna_table), cdna = make_hip_dialect(cdna_table);
  return render_c(target, is_cdna(target.arch) ? cdna : rdna, list, added);
}

}  // namespace tgc
