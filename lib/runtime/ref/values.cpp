#include "lib/runtime/ref/values.h"

#include <algorithm>

#include "lib/uop/uop.h"

namespace tgc::ref {

void throw_cannot_run(UOp u, const std::string& why) {
  throw Failure("REF cannot run Ops." + std::string(name_of(u.op())) + " (" + std::string(u.dtype().repr()) +
                "): " + why);
}

const LoweredElement& element_of(UOp u, const LoweredValue& operand, size_t i) {
  if (operand.size() == 1) return operand[0];
  if (i >= operand.size())
    throw_cannot_run(u, "an operand of " + std::to_string(operand.size()) + " elements is too short");
  return operand[i];
}

const LoweredValue& LoweredValues::value_of(UOp u) const {
  if (!current_values_[u.id()]) throw_cannot_run(u, "its value is needed where it has none; is a range not ended?");
  return *current_values_[u.id()];
}

const LoweredValue& LoweredValues::pointer_value_of(UOp u) const {
  return current_values_[num_nodes_ + u.id()] ? *current_values_[num_nodes_ + u.id()] : value_of(u);
}

void LoweredValues::set_slot(size_t slot, LoweredValue value) {
  value_pool_.push_back(std::move(value));
  undo_log_.push_back({slot, current_values_[slot]});
  current_values_[slot] = &value_pool_.back();
}

LoweredElement LoweredValues::scalar(UOp u) const {
  const LoweredValue& v = value_of(u);
  if (v.size() != 1) throw_cannot_run(u, "one element was expected, not " + std::to_string(v.size()));
  return v[0];
}

void LoweredValues::leave_scope() {
  for (; undo_log_.size() > undo_log_sizes_.back(); undo_log_.pop_back())
    current_values_[undo_log_.back().first] = undo_log_.back().second;
  undo_log_sizes_.pop_back();
}

void LoweredValues::enter_lanes(std::span<const UOp> own) {
  for (UOp define : own)
    if (int32_t f = register_file_of(define); f >= 0)
      for (size_t i = 0; i < register_files_[size_t(f)].elements.size(); i++) {
        Reg& r = register_files_[size_t(f)].elements[i];
        if (r == kNoRegister) continue;
        lane_registers_.push_back({f, i, r});
        Reg in_lane = builder_.mutable_register(builder_.type(r), true);
        builder_.emit_assign(in_lane, r);
        r = in_lane;
      }
}

void LoweredValues::leave_lanes() {
  for (const LaneRegister& r : lane_registers_)
    register_files_[size_t(r.register_file)].elements[r.element] = r.outer_register;
  lane_registers_.clear();
}

std::vector<LoweredValues::SavedRegister> LoweredValues::save_registers(std::span<const UOp> own) {
  std::vector<SavedRegister> out;
  for (UOp define : own)
    if (int32_t f = register_file_of(define); f >= 0)
      for (Reg r : register_files_[size_t(f)].elements)
        if (r != kNoRegister) out.push_back({r, builder_.emit_copy(r)});
  return out;
}

void LoweredValues::restore_registers(std::span<const SavedRegister> registers) {
  for (const SavedRegister& b : registers) builder_.emit_assign(b.own_register, b.value);
}

// Returns -1 for a DEFINE_REG that has not been lowered yet or is in memory.
int32_t LoweredValues::register_file_of(UOp define) const {
  auto found = std::ranges::find(lowered_defines_, define, &std::pair<UOp, LoweredValue>::first);
  return found == lowered_defines_.end() ? -1 : found->second[0].register_file;
}

namespace {

// True if source `i` of `user` is used as an address, not as the value at that address.
bool takes_pointer(UOp user, size_t i) {
  switch (user.op()) {
    case Op::LOAD:
    case Op::STORE: return i == 0;
    case Op::IF: return i == 1;
    case Op::CAST:
    case Op::PTRCAT: return true;
    case Op::GEP:
    case Op::VECTORIZE:
    case Op::CAT:
    case Op::INDEX: return user.dtype().is_ptr();
    case Op::CUSTOM: return i == 0 && is_atomic_add(user);
    default: return false;
  }
}

bool is_element_index(UOp u) { return u.is(Op::INDEX) && !u.dtype().is_ptr(); }

bool is_constant_expression(UOp u) {
  for (UOp x : toposort(u))
    if (!x.in(ops::ALU | OpSet{Op::CONST, Op::VCONST, Op::CAST, Op::VECTORIZE, Op::GEP})) return false;
  return true;
}

}  // namespace

UOp base_define(UOp u) {
  while (u && !u.in(ops::Defines)) u = u.num_src() && (u.dtype().is_ptr() || is_element_index(u)) ? u.src(0) : UOp();
  return u;
}

void LoweredValues::find_value_uses(std::span<const UOp> nodes) {
  for (UOp u : nodes) {
    for (size_t i = 0; i < u.num_src(); i++) {
      UOp s = u.src(i);
      bool pointer_cast = u.is(Op::CAST) && u.dtype().is_ptr();
      if (is_element_index(s) && !(u.is(Op::CAST) ? pointer_cast : takes_pointer(u, i))) loaded_index_nodes_.insert(s);
    }
    if (!u.is(Op::INDEX)) continue;
    UOp define = base_define(u);
    if (define && define.is(Op::DEFINE_REG) && !is_constant_expression(u.src(1)) &&
        std::find(dynamic_registers_.begin(), dynamic_registers_.end(), define) == dynamic_registers_.end())
      dynamic_registers_.push_back(define);
  }
}

Opcode LoweredValues::rounding_of(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Float16: return Opcode::RoundF16;
    case Scalar::BFloat16: return Opcode::RoundBF16;
    case Scalar::FP8E4M3: return Opcode::RoundE4M3;
    case Scalar::FP8E5M2: return Opcode::RoundE5M2;
    default: return Opcode::Mov;
  }
}

Reg LoweredValues::round_register(Reg r, DType dtype) {
  Opcode op = rounding_of(dtype);
  return op == Opcode::Mov ? r : builder_.emit_unary(op, r);
}

Reg LoweredValues::cast(Reg r, DType from, DType to) {
  RefType a = ref_type_of(from), b = ref_type_of(to);
  if (to.scalar() == from.scalar()) return r;
  if (to.is(Scalar::Float16) && (a == RefType::F64 || size_of_type(a) >= 4) && a != RefType::F32)
    return builder_.emit_unary(Opcode::F64ToF16,
                               builder_.cast(r, RefType::F64));  // through float, it would round twice
  return round_register(builder_.cast(r, b), to);
}

Reg LoweredValues::constant(DType dtype, Const value) {
  RefType type = ref_type_of(dtype);
  Const v = truncate(dtypes::as_const(value, dtype), dtype.scalar());
  if (is_float(type)) return builder_.constant_float(type, v.to_double());
  return builder_.constant_int(type, int64_t(v.to_int().low_64_bits()));
}

Opcode LoweredValues::opcode_of(Op op) {
  switch (op) {
    case Op::ADD: return Opcode::Add;
    case Op::SUB: return Opcode::Sub;
    case Op::MUL: return Opcode::Mul;
    case Op::IDIV: return Opcode::IDiv;
    case Op::MOD: return Opcode::Mod;
    case Op::SHL: return Opcode::Shl;
    case Op::SHR: return Opcode::Shr;
    case Op::AND: return Opcode::And;
    case Op::OR: return Opcode::Or;
    case Op::XOR: return Opcode::Xor;
    case Op::MAX: return Opcode::Max;
    case Op::FDIV: return Opcode::FDiv;
    case Op::POW: return Opcode::Pow;
    case Op::THREEFRY: return Opcode::Threefry;
    case Op::CMPLT: return Opcode::Lt;
    case Op::CMPNE: return Opcode::Ne;
    case Op::CMPEQ: return Opcode::Eq;
    case Op::NEG: return Opcode::Neg;
    case Op::RECIPROCAL: return Opcode::Recip;
    case Op::SQRT: return Opcode::Sqrt;
    case Op::EXP2: return Opcode::Exp2;
    case Op::LOG2: return Opcode::Log2;
    case Op::SIN: return Opcode::Sin;
    case Op::TRUNC: return Opcode::Trunc;
    default: throw Failure("REF has no instruction for Ops." + std::string(name_of(op)));
  }
}

Reg LoweredValues::emit_alu(Op op, DType dtype, std::span<const Reg> x) {
  if (op == Op::MULACC) return round_register(builder_.emit_mulacc(x[0], x[1], x[2]), dtype);
  if (x.size() == 1) return round_register(builder_.emit_unary(opcode_of(op), x[0]), dtype);
  Reg b = x[1];
  if ((op == Op::SHL || op == Op::SHR) && builder_.type(b) != builder_.type(x[0]))
    b = builder_.cast(b, builder_.type(x[0]));
  Reg r = builder_.emit_binary(opcode_of(op), x[0], b);
  bool exact = ops::Comparison.contains(op) || op == Op::MAX;
  return exact ? r : round_register(r, dtype);
}

Reg LoweredValues::size_register(UOp u) {
  if (u.src(0).is(Op::CONST) && u.src(0).vmax().is_int() && u.src(0).vmax().as_int() < 0)
    throw_cannot_run(u, "its size is negative");
  Reg size = builder_.cast(scalar(u.src(0)).reg, RefType::I64);
  return py_less(u.src(0).vmin(), Const(int64_t(0))) ? builder_.emit_unary(Opcode::Size, size) : size;
}

void LoweredValues::lower(UOp u) {
  static constexpr OpSet kNothing{Op::SINK,  Op::GROUP, Op::BARRIER, Op::NOOP,   Op::IF,
                                  Op::ENDIF, Op::END,   Op::DEVICE,  Op::UNIQUE, Op::LUNIQUE};
  if (u.is(Op::NOOP) && u.num_src() && !(u.dtype() == dtypes::void_)) return set_value(u, value_of(u.src(0)));
  if (u.in(kNothing)) return;
  if (u.is(Op::STORE)) {
    lower_store(u);
    return builder_.count_evaluation(builder_.is_in_lanes());
  }
  if (is_atomic_add(u)) return lower_atomic_add(u);
  LoweredValue v = lower_value(u);
  static constexpr OpSet kFree{Op::CONST,      Op::VCONST,     Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL,
                               Op::DEFINE_REG, Op::DEFINE_VAR, Op::BIND,          Op::AFTER};
  if (!u.in(kFree)) {
    bool varying = false;
    for (const LoweredElement& e : v) varying |= e.reg != kNoRegister && builder_.is_varying(e.reg);
    builder_.count_evaluation(varying);
  }
  set_value(u, std::move(v));
}

LoweredValue LoweredValues::lower_value(UOp u) {
  switch (u.op()) {
    case Op::CONST:
    case Op::VCONST: return lower_const(u);
    case Op::DEFINE_GLOBAL:
    case Op::DEFINE_LOCAL:
    case Op::DEFINE_REG: return lower_define(u);
    case Op::DEFINE_VAR:
      return {{.reg = builder_.cast(builder_.variable(std::string(u.arg()[0].text())), ref_type_of(u.dtype()))}};
    case Op::BIND: return value_of(u.src(u.num_src() > 1 && u.src(1).is_const() ? 1 : 0));
    case Op::AFTER: return value_of(u.src(0));
    case Op::VECTORIZE:
    case Op::CAT:
    case Op::PTRCAT: return concatenate_sources(u);
    case Op::GEP: {
      const LoweredValue& from = value_of(u.src(0));
      LoweredValue out;
      for (Arg i : u.arg().items()) {
        if (i.as_int() < 0 || i.as_int() >= Int(int64_t(from.size())))
          throw_cannot_run(u, "element " + i.repr() + " of " + std::to_string(from.size()));
        out.push_back(from[size_t(i.small_int())]);
      }
      return out;
    }
    case Op::INDEX: return lower_index(u);
    case Op::LOAD: return lower_load(u);
    case Op::CAST:
      if (u.dtype().is_ptr()) return value_of(u.src(0));
      [[fallthrough]];
    default:
      if (u.is(Op::WHERE)) return lower_where(u);
      if (u.is(Op::BITCAST)) return lower_bitcast(u);
      if (u.is(Op::WMMA)) return lower_wmma(u);
      if (u.is(Op::CAST) || u.in(ops::ALU)) return lower_elementwise(u);
      throw_cannot_run(u, "it has no meaning in a kernel");
  }
}

LoweredValue LoweredValues::lower_const(UOp u) {
  LoweredValue out;
  auto add = [&](Const c) {
    if (c.is_invalid())
      out.push_back(
          {.reg = builder_.constant_int(ref_type_of(u.dtype()), 0), .gate = builder_.constant(RefType::Bool, 0)});
    else out.push_back({.reg = constant(u.dtype(), c)});
  };
  if (u.arg().is_tuple())
    for (Arg a : u.arg().items()) add(a.to_const());
  else
    for (int i = 0; i < u.dtype().count(); i++) add(u.arg().to_const());
  return out;
}

int32_t LoweredValues::add_scratch_memory(const std::string& name, DType element, int64_t size, int64_t group) {
  if (size < 0 || size > (int64_t(1) << 31))
    throw Failure(name + " has a size of " + std::to_string(size) + " elements");
  return builder_.add_memory({.name = name, .scalar = element.scalar_kind(), .size = size, .lane_group_size = group});
}

// Allocates memory or registers once, even if several scopes lower the DEFINE.
LoweredValue LoweredValues::lower_define(UOp u) {
  for (auto& [define, value] : lowered_defines_)
    if (define == u) return value;
  DType base = u.dtype().base();
  int64_t size = u.dtype().is_image()   ? u.dtype().image_shape()[0] * u.dtype().image_shape()[1] * 4
                 : u.dtype().size() < 0 ? -1
                                        : u.dtype().size() * base.count();
  LoweredElement e;
  if (u.is(Op::DEFINE_GLOBAL)) {
    int64_t number = u.arg().as_int().int64_or_throw("a buffer's number");
    Scalar scalar = u.dtype().is_image() ? u.dtype().scalar_kind() : base.scalar_kind();
    e.memory = builder_.add_memory(
        {.name = "data" + std::to_string(number), .scalar = scalar, .size = size, .buffer_number = number});
  } else if (u.is(Op::DEFINE_LOCAL)) {
    e.memory = add_scratch_memory("local" + u.arg().repr(), base, size, 0);
  } else if (std::find(dynamic_registers_.begin(), dynamic_registers_.end(), u) != dynamic_registers_.end()) {
    e.memory = add_scratch_memory("reg" + u.arg().repr(), base, size, 1);
  } else {
    if (size < 0 || size > (1 << 24)) throw_cannot_run(u, "it has a size of " + std::to_string(size) + " elements");
    e.register_file = int32_t(register_files_.size());
    register_files_.push_back({base.scalar(), std::vector<Reg>(size_t(size), kNoRegister)});
  }
  lowered_defines_.push_back({u, {e}});
  return {e};
}

LoweredValue LoweredValues::concatenate_sources(UOp u) {
  LoweredValue out;
  for (UOp s : u.src()) {
    const LoweredValue& v = value_of(s);
    int each = u.is(Op::PTRCAT) ? s.dtype().base().count() : 1;
    for (const LoweredElement& e : v)
      for (int j = 0; j < each; j++) {
        out.push_back(e);
        if (j) out.back().reg = add_to_offset(e.reg, j);
      }
  }
  return out;
}

// An operand with a single element is used for every element.
LoweredValue LoweredValues::lower_elementwise(UOp u) {
  size_t n = 0;
  for (UOp s : u.src()) n = std::max(n, value_of(s).size());
  LoweredValue out(n);
  std::vector<Reg> operands(u.num_src());
  bool shift = u.is(Op::SHL) || u.is(Op::SHR);
  for (size_t i = 0; i < n; i++) {
    bool pointers = false;
    for (size_t k = 0; k < u.num_src(); k++) {
      const LoweredValue& v = value_of(u.src(k));
      if (v.size() != n && v.size() != 1)
        throw_cannot_run(u, "operands of " + std::to_string(v.size()) + " and " + std::to_string(n) + " elements");
      const LoweredElement& e = v[v.size() == 1 ? 0 : i];
      pointers |= e.is_pointer();
      operands[k] = e.reg;
      if (!e.is_pointer() && !pointers && !shift && builder_.type(e.reg) != builder_.type(operands[0]))
        throw_cannot_run(u, "its operands have different dtypes");
      out[i].gate = builder_.emit_logical_and(out[i].gate, e.gate);
    }
    if (pointers) {
      out[i] = lower_pointer_alu(u, i);
      continue;
    }
    out[i].reg = u.is(Op::CAST) ? cast(operands[0], u.src(0).dtype().scalar(), u.dtype().scalar())
                                : emit_alu(u.op(), u.dtype().scalar(), operands);
  }
  return out;
}

LoweredValue LoweredValues::lower_where(UOp u) {
  const LoweredValue &cond = value_of(u.src(0)), &yes = value_of(u.src(1)), &no = value_of(u.src(2));
  size_t n = std::max({cond.size(), yes.size(), no.size()});
  LoweredValue out(n);
  Reg true_ = builder_.constant(RefType::Bool, 1);
  for (size_t i = 0; i < n; i++) {
    LoweredElement c = element_of(u, cond, i), y = element_of(u, yes, i), x = element_of(u, no, i);
    if (c.is_pointer() || y.is_pointer() || x.is_pointer()) throw_cannot_run(u, "it chooses between pointers");
    auto invalid = [&](const LoweredElement& e) { return e.gate != kNoRegister && builder_.is_false(e.gate); };
    // `yes` or `no` may be Invalid: the result then takes the other operand's number
    if (invalid(x)) out[i].reg = y.reg;
    else if (invalid(y)) out[i].reg = x.reg;
    else out[i].reg = builder_.emit_where(c.reg, y.reg, x.reg);
    if (y.gate == kNoRegister && x.gate == kNoRegister) continue;
    if (invalid(x)) out[i].gate = builder_.emit_logical_and(c.reg, y.gate);
    else
      out[i].gate =
          builder_.emit_where(c.reg, y.gate == kNoRegister ? true_ : y.gate, x.gate == kNoRegister ? true_ : x.gate);
  }
  return out;
}

LoweredValue LoweredValues::lower_bitcast(UOp u) {
  DType from = u.src(0).dtype().scalar(), to = u.dtype().scalar();
  if (from.itemsize() != to.itemsize()) throw_cannot_run(u, "it is from " + std::string(from.repr()));
  auto to_bits = [&](Reg r) {
    switch (from.scalar_kind()) {
      case Scalar::Float16: return builder_.emit_unary(Opcode::BitsOfF16, r);
      case Scalar::BFloat16: return builder_.emit_unary(Opcode::BitsOfBF16, r);
      case Scalar::FP8E4M3: return builder_.emit_unary(Opcode::BitsOfE4M3, r);
      case Scalar::FP8E5M2: return builder_.emit_unary(Opcode::BitsOfE5M2, r);
      default: return r;
    }
  };
  auto from_bits = [&](Reg r) {
    switch (to.scalar_kind()) {
      case Scalar::Float16: return builder_.emit_unary(Opcode::F16OfBits, builder_.emit_bitcast(r, RefType::U16));
      case Scalar::BFloat16: return builder_.emit_unary(Opcode::BF16OfBits, builder_.emit_bitcast(r, RefType::U16));
      case Scalar::FP8E4M3: return builder_.emit_unary(Opcode::E4M3OfBits, builder_.emit_bitcast(r, RefType::U8));
      case Scalar::FP8E5M2: return builder_.emit_unary(Opcode::E5M2OfBits, builder_.emit_bitcast(r, RefType::U8));
      case Scalar::Bool: return builder_.cast(builder_.emit_bitcast(r, RefType::U8), RefType::Bool);
      default: return builder_.emit_bitcast(r, ref_type_of(to));
    }
  };
  LoweredValue out;
  for (const LoweredElement& e : value_of(u.src(0)))
    out.push_back({.reg = from == to ? e.reg : from_bits(to_bits(e.reg)), .gate = e.gate});
  return out;
}

LoweredValue LoweredValues::lower_wmma(UOp u) {
  Arg arg = u.arg();  // (name, (N, M, K), dtype in, dtype out, device, threads, (axes of A, B, C), reduce axes)
  if (!arg.is_tuple() || arg.items().size() != 8 || u.num_src() != 3) throw_cannot_run(u, "it is malformed");
  size_t per[3];
  for (size_t i = 0; i < 3; i++) {
    per[i] = 1;
    for (Arg axis : arg[6][i].items()) per[i] *= size_t(axis[1].small_int());
  }
  const LoweredValue &a = value_of(u.src(0)), &b = value_of(u.src(1)), &c = value_of(u.src(2));
  size_t n = per[2] ? c.size() / per[2] : 0;
  if (n == 0 || a.size() != n * per[0] || b.size() != n * per[1])
    throw_cannot_run(u, "its operands have the wrong sizes");
  auto dim = [&](size_t i) { return int(arg[1][i].small_int()); };
  const WmmaLayout* layout = find_wmma_layout({.device = arg[4].text(),
                                               .threads = int(arg[5].small_int()),
                                               .n = dim(0),
                                               .m = dim(1),
                                               .k = dim(2),
                                               .input_dtype = arg[2].dtype(),
                                               .elements_a = per[0],
                                               .elements_b = per[1],
                                               .elements_c = per[2]});
  if (!builder_.is_in_lanes() && layout->threads != 1) throw_cannot_run(u, "there is no warp");
  LoweredValue out;
  for (size_t i = 0; i < n; i++) {
    auto part = [&](const LoweredValue& v, size_t size) {
      std::vector<Reg> registers;
      for (size_t k = 0; k < size; k++) registers.push_back(builder_.cast(v[i * size + k].reg, RefType::F32));
      return registers;
    };
    std::vector<Reg> d;
    builder_.emit_wmma(layout, arg[3].dtype().scalar_kind(), part(a, per[0]), part(b, per[1]), part(c, per[2]), d);
    for (Reg r : d) out.push_back({.reg = builder_.cast(r, ref_type_of(u.dtype()))});
  }
  return out;
}

}  // namespace tgc::ref
