#include <algorithm>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

Reg LoweredValues::add_to_offset(Reg offset, int64_t addend) {
  if (addend == 0) return offset;
  if (offset == kNoRegister) return builder_.constant_int(RefType::I64, addend);
  return builder_.emit_binary(Opcode::Add, offset, builder_.constant_int(builder_.type(offset), addend));
}

// The index is row-major over the sizes of the BUFFERIZE's ranges.
LoweredValue LoweredValues::flat_index(UOp buffer, std::span<const UOp> indices) const {
  LoweredValue out{{.reg = builder_.constant_int(RefType::I64, 0)}};
  for (size_t d = 0; d < indices.size(); d++) {
    const LoweredValue& at = value_of(indices[d]);
    out.resize(std::max(out.size(), at.size()), out[0]);
    Reg size = builder_.constant_int(RefType::I64, (buffer.src(d + 1).vmax().as_int() + 1).int64_or_throw("a size"));
    for (size_t i = 0; i < out.size(); i++) {
      const LoweredElement& index = element_of(buffer, at, i);
      out[i].reg = builder_.emit_binary(Opcode::Add, builder_.emit_binary(Opcode::Mul, out[i].reg, size),
                                        builder_.cast(index.reg, RefType::I64));
      out[i].gate = builder_.emit_logical_and(out[i].gate, index.gate);
    }
  }
  return out;
}

void LoweredValues::store_buffer(UOp u, int32_t memory) {
  const LoweredValue& values = value_of(u.src(0));
  LoweredValue at = flat_index(u, u.src().subspan(1));
  size_t each = values.size() / at.size();
  if (each * at.size() != values.size()) throw_cannot_run(u, "its operands have different sizes");
  for (size_t i = 0; i < values.size(); i++) {
    Reg offset =
        builder_.emit_binary(Opcode::Mul, at[i / each].reg, builder_.constant_int(RefType::I64, u.dtype().count()));
    store_element({.reg = offset, .gate = at[i / each].gate, .memory = memory}, int64_t(i % each), values[i].reg);
  }
}

LoweredValue LoweredValues::lower_index(UOp u) {
  UOp buffer = u.src(0);
  const LoweredValue& pointers = value_of(buffer);
  if (buffer.is(Op::BUFFERIZE) ? u.num_src() > buffer.num_src() : u.num_src() < 2)
    throw_cannot_run(u,
                     buffer.is(Op::BUFFERIZE) ? "it has more indices than its buffer has ranges" : "it has no index");
  LoweredValue at = buffer.is(Op::BUFFERIZE) ? flat_index(buffer, u.src().subspan(1)) : value_of(u.src(1));
  LoweredValue out;
  if (buffer.dtype().is_image() && at.size() == 2 * pointers.size()) {
    out = lower_image_index(u, pointers, at);
  } else {
    size_t n = std::max(pointers.size(), at.size());
    if ((pointers.size() != n && pointers.size() != 1) || (at.size() != n && at.size() != 1))
      throw_cannot_run(u, "its operands have different sizes");
    // an index counts elements of base(), maybe vectors; an offset counts scalars
    int64_t scale = buffer.dtype().is_image() ? 1 : buffer.dtype().base().count();
    for (size_t i = 0; i < n; i++) {
      LoweredElement p = pointers[pointers.size() == 1 ? 0 : i];
      const LoweredElement& index = at[at.size() == 1 ? 0 : i];
      if (!p.is_pointer()) throw_cannot_run(u, "its first source is not a pointer");
      if (index.is_pointer()) {
        out.push_back(index);
        continue;
      }
      Reg offset = index.reg;
      if (scale != 1)
        offset = builder_.emit_binary(Opcode::Mul, offset, builder_.constant_int(builder_.type(offset), scale));
      p.reg = p.reg == kNoRegister ? offset
                                   : builder_.emit_binary(Opcode::Add, builder_.cast(p.reg, RefType::I64),
                                                          builder_.cast(offset, RefType::I64));
      p.gate = builder_.emit_logical_and(p.gate, index.gate);
      out.push_back(p);
    }
  }
  if (u.num_src() > 2 && !buffer.is(Op::BUFFERIZE)) {
    const LoweredValue& gate = value_of(u.src(2));
    if (!dtypes::is_bool(u.src(2).dtype()) || (gate.size() != 1 && gate.size() != out.size()))
      throw_cannot_run(u, "its gate is not one bool per element");
    for (size_t i = 0; i < out.size(); i++)
      out[i].gate = builder_.emit_logical_and(out[i].gate, gate[gate.size() == 1 ? 0 : i].reg);
  }
  if (!loaded_index_nodes_.contains(u)) return out;
  // the pointer goes into the node's second slot
  set_slot(num_nodes_ + u.id(), out);
  size_t each = size_t(u.dtype().count()) / out.size();
  LoweredValue loaded;
  for (const LoweredElement& p : out)
    for (size_t j = 0; j < std::max<size_t>(each, 1); j++) loaded.push_back(load_element(p, int64_t(j), kNoRegister));
  return loaded;
}

// Accesses outside the image read 0 or do nothing, without an error.
LoweredValue LoweredValues::lower_image_index(UOp u, const LoweredValue& pointers, const LoweredValue& at) {
  auto shape = u.src(0).dtype().image_shape();
  LoweredValue out;
  for (size_t i = 0; i < pointers.size(); i++) {
    LoweredElement p = pointers[i];
    Reg x = builder_.cast(at[2 * i].reg, RefType::I64), y = builder_.cast(at[2 * i + 1].reg, RefType::I64);
    auto number = [&](int64_t v) { return builder_.constant_int(RefType::I64, v); };
    auto inside = [&](Reg v, int64_t size) {
      return builder_.emit_logical_and(builder_.emit_binary(Opcode::Lt, v, number(size)),
                                       builder_.emit_binary(Opcode::Lt, number(-1), v));
    };
    p.gate = builder_.emit_logical_and(builder_.emit_logical_and(at[2 * i].gate, at[2 * i + 1].gate),
                                       builder_.emit_logical_and(inside(x, shape[1]), inside(y, shape[0])));
    p.reg = builder_.emit_binary(
        Opcode::Mul, builder_.emit_binary(Opcode::Add, builder_.emit_binary(Opcode::Mul, y, number(shape[1])), x),
        number(4));
    p.is_pixel_pointer = true;
    out.push_back(p);
  }
  return out;
}

// A CAST of a pointer to an integer, or an ADD of a number to such an integer, gives a byte address, as in PTX.
LoweredElement LoweredValues::lower_pointer_alu(UOp u, size_t i) {
  auto element = [&](size_t k) { return element_of(u, value_of(u.src(k)), i); };
  LoweredElement p = element(0);
  if (u.is(Op::CAST) && p.register_file < 0 && !p.is_byte_offset) {
    Reg size = builder_.constant_int(RefType::I64, dtypes::of(builder_.memory(p.memory).scalar).itemsize());
    if (p.reg != kNoRegister) p.reg = builder_.emit_binary(Opcode::Mul, builder_.cast(p.reg, RefType::I64), size);
    p.is_byte_offset = true;
    return p;
  }
  if (u.is(Op::CAST) && p.is_byte_offset) return p;
  LoweredElement addend = u.num_src() > 1 ? element(1) : LoweredElement();
  if (!p.is_pointer()) std::swap(p, addend);
  if (!u.is(Op::ADD) || !p.is_byte_offset || addend.is_pointer()) throw_cannot_run(u, "arithmetic on a pointer");
  Reg by = builder_.cast(addend.reg, RefType::I64);
  p.reg = p.reg == kNoRegister ? by : builder_.emit_binary(Opcode::Add, p.reg, by);
  p.gate = builder_.emit_logical_and(p.gate, addend.gate);
  return p;
}

// Adds a view of a buffer whose elements are not of the type `scalar`, and returns the pointer into the view.
LoweredElement LoweredValues::view_pointer_as(LoweredElement p, DType scalar) {
  if (!p.is_pointer()) throw Failure("REF can load from and store to pointers only");
  if (p.register_file >= 0 || p.is_pixel_pointer) return p;
  if (scalar.itemsize() <= 0) throw Failure("REF cannot load or store elements without a size");
  const MemoryInfo info = builder_.memory(p.memory);
  DType own = dtypes::of(info.scalar);
  if (scalar != own && info.buffer_number >= 0) {
    auto it = std::find_if(memory_views_.begin(), memory_views_.end(),
                           [&](auto& v) { return v[0] == p.memory && v[1] == int32_t(scalar.scalar_kind()); });
    if (it == memory_views_.end()) {
      MemoryInfo view = info;
      view.scalar = scalar.scalar_kind();
      // WGSL packs small numbers in words, so a packed buffer ends with a whole word
      const bool is_packed = scalar == dtypes::uint32 && own.itemsize() < 4;
      if (info.size >= 0)
        view.size = (info.size * own.itemsize() + (is_packed ? 3 : 0)) / scalar.itemsize();
      memory_views_.push_back({p.memory, int32_t(view.scalar), builder_.add_memory(view)});
      it = memory_views_.end() - 1;
    }
    p.memory = (*it)[2];
  }
  if (p.is_byte_offset && p.reg != kNoRegister)
    p.reg = builder_.emit_binary(Opcode::Shr, p.reg,
                                 builder_.constant_int(RefType::I64, __builtin_ctz(unsigned(scalar.itemsize()))));
  p.is_byte_offset = false;
  return p;
}

LoweredValue LoweredValues::lower_load(UOp u) {
  const LoweredValue& pointers = pointer_value_of(u.src(0));
  const LoweredValue* alt =
      u.num_src() > 1 && !(u.src(1).dtype() == dtypes::void_) && is_lowered(u.src(1)) ? &value_of(u.src(1)) : nullptr;
  // the dtype may say fewer elements, because pyrender's .load() drops the count
  size_t n = std::max(size_t(u.dtype().count()), pointers.size() * (pointers[0].is_pixel_pointer ? 4 : 1)),
         each = n / pointers.size();
  if (each * pointers.size() != n) throw_cannot_run(u, "its operands have different sizes");
  LoweredValue out;
  for (size_t i = 0; i < n; i++) {
    Reg other = alt ? element_of(u, *alt, i).reg : kNoRegister;
    out.push_back(load_element(view_pointer_as(pointers[i / each], u.dtype().scalar()), int64_t(i % each), other));
    out.back().reg = builder_.cast(out.back().reg, ref_type_of(u.dtype()));
  }
  return out;
}

void LoweredValues::lower_store(UOp u) {
  const LoweredValue &pointers = pointer_value_of(u.src(0)), &values = value_of(u.src(1));
  size_t n = std::max(values.size(), pointers.size()), each = n / pointers.size();
  if (each * pointers.size() != n || (values.size() != n && values.size() != 1))
    throw_cannot_run(u, "its operands have different sizes");
  if (std::ranges::any_of(values, &LoweredElement::is_pointer)) throw_cannot_run(u, "it stores a pointer");
  DType dtype = u.src(1).dtype().scalar();
  for (size_t i = 0; i < n; i++)
    store_element(view_pointer_as(pointers[i / each], dtype), int64_t(i % each),
                  values[values.size() == 1 ? 0 : i].reg);
}

// Refuses lanes, because several lanes may add to the same element.
void LoweredValues::lower_atomic_add(UOp u) {
  const LoweredValue &pointers = pointer_value_of(u.src(0)), &values = value_of(u.src(1));
  if (pointers.size() != 1 || values.size() != 1 || !pointers[0].is_pointer() || values[0].is_pointer())
    throw_cannot_run(u, "it does not add a number to an element");
  if (builder_.is_in_lanes()) throw_cannot_run(u, "its iterations cannot run at the same time");
  const DType dtype = u.src(1).dtype().scalar();
  const LoweredElement target = view_pointer_as(pointers[0], dtype);
  const Reg operands[] = {load_element(target, 0, kNoRegister).reg, values[0].reg};
  store_element(target, 0, emit_alu(Op::ADD, dtype, operands));
  builder_.count_evaluation(false);
}

// A load before any store gets a constant 0.
Reg& LoweredValues::register_element(const LoweredElement& pointer, int64_t addend, bool is_load) {
  RegisterFile& file = register_files_[size_t(pointer.register_file)];
  int64_t at = addend;
  if (pointer.reg != kNoRegister) {
    if (!builder_.is_constant(pointer.reg)) throw Failure("REF can index registers with constants only");
    at += int64_t(int32_t(builder_.constant_bits(pointer.reg)));
  }
  if (at < 0 || at >= int64_t(file.elements.size()))
    throw Failure("out of bounds: reg[" + std::to_string(at) + "], which has " + std::to_string(file.elements.size()) +
                  " elements");
  Reg& r = file.elements[size_t(at)];
  RefType type = ref_type_of(file.dtype);
  if (r == kNoRegister) {
    r = builder_.mutable_register(type, builder_.is_in_lanes());
    if (builder_.is_in_lanes()) lane_registers_.push_back({pointer.register_file, size_t(at), kNoRegister});
    if (is_load || builder_.lane_mask() != kNoRegister || pointer.gate != kNoRegister)
      builder_.emit_assign(r, builder_.constant(type, 0));
  }
  return r;
}

LoweredElement LoweredValues::load_element(const LoweredElement& p, int64_t addend, Reg alt) {
  if (p.register_file < 0)
    return {.reg = builder_.load(p.memory, add_to_offset(p.reg, addend), p.gate, alt,
                                 "load from " + builder_.memory(p.memory).name)};
  Reg r = builder_.emit_copy(register_element(p, addend, true));
  if (p.gate == kNoRegister) return {.reg = r};
  return {.reg = builder_.emit_where(p.gate, r, alt == kNoRegister ? builder_.constant(builder_.type(r), 0) : alt)};
}

void LoweredValues::store_element(const LoweredElement& p, int64_t addend, Reg value) {
  if (p.register_file < 0) {
    RefType type = ref_type_of(dtypes::of(builder_.memory(p.memory).scalar));
    return builder_.store(p.memory, add_to_offset(p.reg, addend), p.gate, builder_.cast(value, type),
                          "store to " + builder_.memory(p.memory).name);
  }
  Reg& r = register_element(p, addend, false);
  Reg gate = builder_.emit_logical_and(p.gate, builder_.lane_mask());
  builder_.emit_assign(r, gate == kNoRegister ? value : builder_.emit_where(gate, value, r));
}

}  // namespace tgc::ref
