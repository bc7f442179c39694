// The rows of PTX that read and write memory (tinygrad renderer/ptx.py, LOAD, STORE and DEFINE_LOCAL of
// string_rewrite).
#include "renderers/ptx/ptx.h"

namespace tgc {
namespace {

std::string_view state_space_of(PtxRenderer& p, UOp buffer, UOp user) {
  while (buffer.is(Op::AFTER)) buffer = buffer.src(0);
  if (buffer.is(Op::DEFINE_LOCAL)) return "shared";
  if (buffer.is(Op::DEFINE_GLOBAL)) return "global";
  p.throw_cannot_render(user, "Ops." + std::string(name_of(buffer.op())) + " is not a buffer in memory");
}

// Appends the beginning of an access, such as "ld.global.v4.f32 ". `what` is ld or st; `d` is the dtype of the value at
// `index`.
void append_access(PtxRenderer& p, UOp user, std::string_view what, UOp index, DType d) {
  p.output.append(what).append(".").append(state_space_of(p, index.src(0), user));
  if (d.count() > 1) p.output.append(".v").append(std::to_string(d.count()));
  p.output.append(".").append(p.memory_type_name(user, d.scalar())) += ' ';
}

void append_load(PtxRenderer& p, UOp u) {
  UOp index = u.src(0);
  append_access(p, u, "ld", index, u.dtype());
  if (u.dtype().count() > 1) p.output.append("{").append(PtxRenderer::join_names(p.vector_registers(u))) += '}';
  else p.append_name(u);
  p.output.append(", [").append(p.text(index, 1)).append("+0];");
}

// Appends a gated load. If the gate is false, the result is the alternative value for a scalar, and 0 for a vector.
void append_gated_load(PtxRenderer& p, UOp u) {
  std::string_view gate = p.text(u.src(0), 2);
  DType scalar = u.dtype().scalar();
  bool is_vector = u.src(1).dtype().count() > 1;
  if (is_vector)
    for (std::string_view r : p.vector_registers(u))
      p.output.append("mov.")
          .append(p.memory_type_name(u, scalar))
          .append(" ")
          .append(r)
          .append(", ")
          .append(p.immediate_text(u, 0, scalar))
          .append(";\n");
  p.output.append("@").append(gate) += ' ';
  append_load(p, u);
  if (is_vector) return;
  p.output.append("\n@!").append(gate).append(" mov.b").append(p.register_type_name(u, scalar).substr(1)).append(" ");
  p.append_name(u);
  p.output.append(", ").append(p.text(u, 1)) += ';';
}

bool print_load(PtxRenderer& p, UOp u) {
  UOp index = u.src(0);
  if (!index.is(Op::INDEX)) return false;
  if (index.num_src() == 2) append_load(p, u);
  else if (index.num_src() == 3 && u.num_src() > 1) append_gated_load(p, u);
  else return false;
  return true;
}

bool print_store(PtxRenderer& p, UOp u) {
  UOp index = u.src(0);
  if (u.num_src() != 2 || !index.is(Op::INDEX)) return false;
  UOp value = u.src(1);
  append_access(p, u, "st", index, value.dtype());
  p.output.append("[").append(p.text(index, 1)).append("+0], ");
  if (value.dtype().count() > 1)
    p.output.append("{").append(PtxRenderer::join_names(p.vector_registers(value))).append("};");
  else p.output.append(p.text(value)) += ';';
  return true;
}

bool print_local(PtxRenderer& p, UOp u) {
  std::string name = "local" + u.arg().str();
  p.output +=
      ".shared .align 16 .b8 " + name + "[" + std::to_string(u.dtype().size() * u.dtype().itemsize()) + "];\nmov.u64 ";
  p.append_name(u);
  p.output += ", " + name + "[0];";
  return true;
}

}  // namespace

std::span<const PtxTextRow> ptx_memory_rows() {
  static const PtxTextRow rows[] = {
      {Op::DEFINE_LOCAL, print_local},
      {Op::LOAD, print_load},
      {Op::STORE, print_store},
  };
  return rows;
}

}  // namespace tgc
