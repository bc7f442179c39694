// Assigns registers to the nodes of PTX: new registers, or the registers of another node (tinygrad renderer/ptx.py,
// PTXRenderer.render).
#include <algorithm>

#include "renderers/ptx/ptx.h"

namespace tgc {

PtxRenderer::RegisterCounter& PtxRenderer::counter_of(std::string_view prefix, std::string_view type) {
  auto it = std::find_if(counters_.begin(), counters_.end(),
                         [&](const RegisterCounter& c) { return c.prefix == prefix && c.type == type; });
  if (it == counters_.end())
    it = counters_.insert(it, {prefix, type, "%" + std::string(prefix) + "_" + std::string(type) + "_", 0});
  return *it;
}

PtxRenderer::RegisterNames PtxRenderer::make_registers(size_t count, std::string_view prefix, std::string_view type) {
  RegisterNames names;
  RegisterCounter& c = counter_of(prefix, type);
  for (size_t i = 0; i < count; i++) names.push_back(name_arena_.copy(c.name_start + std::to_string(c.count++)));
  return names;
}

std::string PtxRenderer::join_names(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view n : names) text.append(text.empty() ? "" : ", ").append(n);
  return text;
}

std::span<const std::string_view> PtxRenderer::vector_registers(UOp u) {
  auto* names = node_registers_.find(u);
  if (!names) throw_cannot_render(u, "it is used as a vector, but has no registers of elements");
  return *names;
}

void PtxRenderer::name_node(UOp u) {
  auto name = [&](std::string_view prefix, std::string_view type) {
    RegisterCounter& c = counter_of(prefix, type);
    output.append(c.name_start).append_number(c.count++);
    node_text_ = finish_text(u);
  };
  switch (u.op()) {
    case Op::SPECIAL: node_text_ = set_text(u, "%" + std::string(u.arg().text())); return;
    case Op::LOAD:
      if (u.src(0).dtype() != dtypes::int64) throw_cannot_render(u, "its address is not an int64");
      if (u.dtype().count() == 1) return name("val", register_type_name(u, u.dtype()));
      return set_vector_registers(
          u, make_registers(size_t(u.dtype().count()), "val", register_type_name(u, u.dtype().scalar())));
    case Op::CAST:
    case Op::BITCAST: return name("cast", register_type_name(u, u.dtype()));
    case Op::END: return name("pred", "pred");
    case Op::RANGE: return name("ridx", register_type_name(u, u.dtype()));
    case Op::DEFINE_VAR: return name("dat", register_type_name(u, u.dtype()));
    case Op::CONST: return name("const", register_type_name(u, u.dtype()));
    case Op::DEFINE_LOCAL: return name("local", "u64");
    case Op::DEFINE_GLOBAL: return name("dat", "u64");
    default:
      if (u.in(ops::ALU)) name("alu", register_type_name(u, u.dtype()));
  }
}

void PtxRenderer::share_registers(UOp u, UOp from) {
  if (auto* names = node_registers_.find(from)) node_registers_[u] = *names;
  else share_text(u, from);
}

void PtxRenderer::share_element(UOp u, const Int& i) {
  auto elements = vector_registers(u.src(0));
  if (i < Int(0) || i >= Int(int64_t(elements.size()))) throw_cannot_render(u, "there is no such element");
  set_text(u, elements[size_t(i.small_value())]);
}

// Handles an access to a buffer in registers. The access shares the buffer's registers; a STORE also moves its value
// into them.
void PtxRenderer::share_accessed_buffer(UOp u) {
  share_registers(u, u.src(0));
  if (!u.is(Op::STORE)) return;
  DType d = u.src(1).dtype();
  std::string t = d == dtypes::bool_ ? "pred" : "b" + std::string(register_type_name(u, d).substr(1));
  add_lines("mov." + t + " " + std::string(text(u, 0)) + ", " + std::string(text(u, 1)) + ";");
}

bool PtxRenderer::handle_register_node(UOp u) {
  DType first = u.num_src() ? u.src(0).dtype() : dtypes::void_;
  bool in_registers = first.is_ptr() && first.addrspace() == AddrSpace::REG;
  switch (u.op()) {
    case Op::NOOP:
    case Op::GROUP: return true;
    case Op::AFTER: share_registers(u, u.src(0)); return true;
    case Op::CAST:
    case Op::BITCAST:
      if (first != u.dtype() && !first.is_ptr()) return false;
      share_registers(u, u.src(0));
      return true;
    case Op::VECTORIZE: {
      RegisterNames names;
      for (UOp s : u.src()) names.push_back(text(s));
      set_vector_registers(u, std::move(names));
      return true;
    }
    case Op::GEP:
      if (u.arg().items().size() != 1) throw_cannot_render(u, "it takes several elements");
      share_element(u, u.arg()[0].as_int());
      return true;
    case Op::DEFINE_REG:
      set_vector_registers(
          u, make_registers(size_t(u.dtype().size()), "reg", register_type_name(u, u.dtype().base().scalar())));
      return true;
    case Op::INDEX:
      if (!in_registers) return true;
      if (!u.src(1).is_const()) throw_cannot_render(u, "only a constant can index a buffer in registers");
      share_element(u, u.src(1).arg().as_int());
      return true;
    case Op::LOAD:
    case Op::STORE:
      if (in_registers) share_accessed_buffer(u);
      return in_registers;
    default: return false;
  }
}

}  // namespace tgc
