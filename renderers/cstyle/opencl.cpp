// OpenCL C, and Intel's dialect of it (tinygrad renderer/cstyle.py, OpenCLRenderer and IntelRenderer).

#include "renderers/cstyle/cstyle.h"

namespace tgc {
namespace {

constexpr ScalarTypeName kTypes[] = {{Scalar::Int8, "char"},    {Scalar::UInt8, "uchar"},  {Scalar::UInt32, "uint"},
                               {Scalar::UInt16, "ushort"}, {Scalar::UInt64, "ulong"}, {Scalar::BFloat16, "ushort"}};

bool is_bf16_const(UOp u) { return u.dtype() == dtypes::bfloat16; }

// Prints the bits of a bfloat16 constant, because bfloat16 is ushort in OpenCL.
bool print_bf16_const(CStyleRenderer& c, UOp u) {
  if (!is_bf16_const(u)) return false;
  c.output += std::to_string(float_to_bf16_bits(float(u.arg().to_const().to_double()))) + 'u';
  return true;
}

// Returns true for an INDEX that has `num_src` sources and selects a pixel of an image by a vector of two integers.
bool is_pixel_index(UOp index, size_t num_src) {
  return index.is(Op::INDEX) && index.num_src() == num_src && index.src(1).dtype() == dtypes::int32.vec(2);
}
bool is_pixel_load(UOp u) {
  return u.dtype() == dtypes::float32.vec(4) && u.num_src() == 1 && is_pixel_index(u.src(0), 2);
}
bool is_gated_pixel_load(UOp u) {
  return u.dtype() == dtypes::float32.vec(4) && u.num_src() == 2 && is_pixel_index(u.src(0), 3);
}
bool is_pixel_store(UOp u) {
  return u.num_src() >= 2 && u.src(1).dtype() == dtypes::float32.vec(4) && u.src(0).num_src() >= 2 &&
         is_pixel_index(u.src(0), u.src(0).num_src());
}

bool print_pixel_load(CStyleRenderer& c, UOp u) {
  bool gated = is_gated_pixel_load(u);
  if (!gated && !is_pixel_load(u)) return false;
  UOp index = u.src(0);
  if (gated) c.output.append("(").append(c.text(index, 2)) += '?';
  c.output.append("read_imagef(").append(c.text(index, 0)).append(", smp, ").append(c.text(index, 1)) += ')';
  if (gated) c.output.append(":").append(c.text(u, 1)) += ')';
  return true;
}

bool print_pixel_store(CStyleRenderer& c, UOp u) {
  if (!is_pixel_store(u)) return false;
  UOp index = u.src(0);
  c.output.append("write_imagef(").append(c.text(index, 0)).append(", ").append(c.text(index, 1)).append(", ")
      .append(c.text(u, 1)).append(");");
  return true;
}

std::span<const CTextRow> opencl_rows() {
  static const CTextRow rows[] = {
      {Op::BITCAST, "as_$t(($t0)($0))"},
      {Op::CONST, print_bf16_const},
      {Op::LOAD, print_pixel_load},
      {Op::STORE, print_pixel_store},
  };
  return rows;
}

bool is_float_to_bf16(UOp u) { return u.dtype() == dtypes::bfloat16 && u.src(0).dtype() == dtypes::float32; }
bool is_bf16_to_float(UOp u) { return u.dtype() == dtypes::float32 && u.src(0).dtype() == dtypes::bfloat16; }

std::span<const CTextRow> intel_rows() {
  static const CTextRow rows[] = {
      {Op::CAST, is_float_to_bf16, "intel_convert_bfloat16_as_ushort($0)"},
      {Op::CAST, is_bf16_to_float, "intel_convert_as_bfloat16_float($0)"},
  };
  return rows;
}

void opencl_prologue(CStyleRenderer& c, std::string& out) {
  if (is_dtype_used(c.list(), dtypes::float16)) out += "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
}

// Appends OpenCL's lines, and a function for each tensor core: a subgroup of 8 threads computes A * B + C, with A and B
// packed as ints.
void intel_prologue(CStyleRenderer& c, std::string& out) {
  opencl_prologue(c, out);
  for (const WmmaUse& use : find_wmma_uses(c.list())) {
    bool bf16 = use.input_dtype == dtypes::bfloat16;
    std::string in = bf16 ? "ushort" : std::string(use.input_dtype.name()), kind = bf16 ? "bf16" : "f16",
                result = std::string(use.output_dtype.name()) + "8";
    out += result + " __" + std::string(use.name) + "(" + in + "16 a, " + in + "16 b, " + result +
           " c) {\n    return intel_sub_group_" + kind + "_" + kind +
           "_matrix_mad_k16(as_int8(a), as_int8(b), c);\n}\n";
  }
}

CDialect make_opencl_dialect(const NodeTextTable<CStyleRenderer>& table) {
  return {
      .function_prefix = "__kernel void",
      .buffer_prefix = "__global ",
      .local_align = "__attribute__ ((aligned (16))) ",
      .local_prefix = "__local ",
      .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
      .global_id = "get_group_id($d)",
      .local_id = "get_local_id($d)",
      .global_thread_id = "get_global_id($d)",
      .vector_constructor = "(float4)",
      .type_names = kTypes,
      .text_table = &table,
      .print_prologue = opencl_prologue,
  };
}

}  // namespace

std::string render_opencl(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> table{opencl_rows(), c_rows()};
  static const CDialect dialect = make_opencl_dialect(table);
  return render_c(target, dialect, list, added);
}

std::string render_intel(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> table{intel_rows(), opencl_rows(), c_rows()};
  static const CDialect dialect = [] {
    CDialect d = make_opencl_dialect(table);
    d.function_prefix = "__attribute__((intel_reqd_sub_group_size(8)))\n__kernel void";
    d.print_prologue = intel_prologue;
    return d;
  }();
  return render_c(target, dialect, list, added);
}

}  // namespace tgc
