// Metal's shading language (tinygrad renderer/cstyle.py, MetalRenderer).
#include <algorithm>
#include <tuple>

#include "renderers/cstyle/cstyle.h"

namespace tgc {
namespace {

constexpr ScalarTypeName kTypes[] = {{Scalar::BFloat16, "bfloat"}};

std::span<const CTextRow> metal_rows() {
  static const CTextRow rows[] = {
      {Op::BITCAST, "as_type<$t>(($t0)($0))"},
      {Op::SIN, "precise::sin($0)"},
  };
  return rows;
}

// Returns a function that computes A * B + C of 8x8 matrices with a SIMD group; two elements of each matrix are in the
// registers of each thread.
std::string simdgroup_function(CStyleRenderer& c, std::string_view name, DType in, DType out) {
  std::string in2 = c.type_name(in.vec(2)), out2 = c.type_name(out.vec(2));
  return out2 + " __" + std::string(name) + "(" + in2 + " a, " + in2 + " b, " + out2 + " c){\n" + "  simdgroup_" +
         c.type_name(in) + "8x8 mat_a, mat_b; simdgroup_" + c.type_name(out) + "8x8 mat_c;\n" +
         R"(  mat_a.thread_elements()[0] = a[0]; mat_b.thread_elements()[0] = b[0]; mat_c.thread_elements()[0] = c[0];
  mat_a.thread_elements()[1] = a[1]; mat_b.thread_elements()[1] = b[1]; mat_c.thread_elements()[1] = c[1];
  simdgroup_multiply_accumulate(mat_c, mat_a, mat_b, mat_c);
  return )" +
         out2 + "(mat_c.thread_elements()[0], mat_c.thread_elements()[1]);\n}\n";
}

void metal_prologue(CStyleRenderer& c, std::string& out) {
  out += "#include <metal_stdlib>\nusing namespace metal;\n";
  std::vector<std::tuple<std::string_view, DType, DType>> done;
  for (const WmmaUse& use : find_wmma_uses(c.list())) {
    std::tuple key(use.name, use.input_dtype, use.output_dtype);
    if (std::find(done.begin(), done.end(), key) != done.end()) continue;
    done.push_back(key);
    out += simdgroup_function(c, use.name, use.input_dtype, use.output_dtype);
  }
}

}  // namespace

std::string render_metal(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> table{metal_rows(), c_rows()};
  static const CDialect dialect{
      .function_prefix = "kernel void",
      .buffer_prefix = "device ",
      .local_prefix = "threadgroup __attribute__((aligned(16))) ",
      .int_parameter_type = "constant int&",
      .extra_parameters = "uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]",
      .barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);",
      .global_id = "gid.$l",
      .local_id = "lid.$l",
      .vector_constructor = "float4",
      .type_names = kTypes,
      .text_table = &table,
      .print_prologue = metal_prologue,
  };
  return render_c(target, dialect, list, added);
}

}  // namespace tgc
