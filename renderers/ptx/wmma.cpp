// Tensor cores in PTX; their operands are registers of 4 bytes (tinygrad renderer/ptx.py, render_wmma).
#include "renderers/ptx/ptx.h"

namespace tgc {
namespace {

// Returns the number of elements per register. Throws Failure if they are too large or do not fill whole registers.
size_t elements_per_register(PtxRenderer& p, UOp wmma, DType element, size_t elements) {
  int size = element.itemsize();
  if (size <= 0 || size > 4 || elements % size_t(4 / size))
    p.throw_cannot_render(wmma, "its elements do not fill registers of four bytes");
  return size_t(4 / size);
}

std::string register_operand(std::span<const std::string_view> elements, size_t each, size_t i) {
  return each == 1 ? std::string(elements[i]) : "{" + PtxRenderer::join_names(elements.subspan(i * each, each)) + "}";
}

PtxRenderer::RegisterNames pack_operand(PtxRenderer& p, UOp wmma, UOp operand, std::string_view prefix) {
  auto elements = p.vector_registers(operand);
  size_t each = elements_per_register(p, wmma, operand.dtype().scalar(), elements.size());
  auto packed = p.make_registers(elements.size() / each, prefix, "b32");
  for (size_t i = 0; i < packed.size(); i++)
    p.output.append("mov.b32 ")
        .append(packed[i])
        .append(", ")
        .append(register_operand(elements, each, i))
        .append(";\n");
  return packed;
}

void unpack_result(PtxRenderer& p, UOp wmma, const PtxRenderer::RegisterNames& packed, DType element) {
  p.set_vector_registers(
      wmma, p.make_registers(size_t(wmma.dtype().count()), "wmma", p.register_type_name(wmma, wmma.dtype().scalar())));
  auto elements = p.vector_registers(wmma);
  size_t each = elements_per_register(p, wmma, element, elements.size());
  if (packed.size() * each != elements.size())
    p.throw_cannot_render(wmma, "its number of elements differs from its accumulator's");
  for (size_t i = 0; i < packed.size(); i++)
    p.output.append("\nmov.b32 ").append(register_operand(elements, each, i)).append(", ").append(packed[i]) += ';';
}

std::string_view mma_type_name(PtxRenderer& p, UOp wmma, DType d, std::string_view of_float) {
  if (d == dtypes::float16) return "f16";
  if (d != dtypes::float32) p.throw_cannot_render(wmma, "there is no tensor core of " + std::string(d.repr()));
  return of_float;
}

bool print_wmma(PtxRenderer& p, UOp u) {
  const Arg &dims = u.arg()[1], &in = u.arg()[2], &result = u.arg()[3];
  std::string_view in_type = mma_type_name(p, u, in.dtype(), "tf32"),
                   result_type = mma_type_name(p, u, result.dtype(), "f32");
  auto a = pack_operand(p, u, u.src(0), "wmma_in"), b = pack_operand(p, u, u.src(1), "wmma_in"),
       sums = pack_operand(p, u, u.src(2), "wmma_acc");
  p.output.append("mma.sync.aligned.m").append(dims[1].str()).append("n").append(dims[0].str()).append("k")
      .append(dims[2].str()).append(".row.col.");
  p.output.append(result_type).append(".").append(in_type).append(".").append(in_type).append(".").append(result_type);
  std::string c = PtxRenderer::join_names(sums);
  p.output.append(12, ' ').append("{").append(c).append("}, {").append(PtxRenderer::join_names(a)).append("}, {")
      .append(PtxRenderer::join_names(b)).append("}, {").append(c).append("};");
  unpack_result(p, u, sums, result.dtype());
  return true;
}

}  // namespace

std::span<const PtxTextRow> ptx_wmma_rows() {
  static const PtxTextRow rows[] = {{Op::WMMA, print_wmma}};
  return rows;
}

}  // namespace tgc
