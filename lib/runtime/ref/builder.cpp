#include "lib/runtime/ref/builder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/support/result.h"

namespace tgc::ref {
namespace {

bool is_comparison(Opc op) { return op == Opc::Lt || op == Opc::Ne || op == Opc::Eq; }
bool is_commutative(Opc op) {
  return op == Opc::Add || op == Opc::Mul || op == Opc::And || op == Opc::Or || op == Opc::Xor || op == Opc::Ne ||
         op == Opc::Eq;
}

Type unary_result(Opc op, Type a) {
  switch (op) {
    case Opc::F64ToF16:
    case Opc::F16OfBits:
    case Opc::BF16OfBits:
    case Opc::E4M3OfBits:
    case Opc::E5M2OfBits: return Type::F32;
    case Opc::BitsOfF16:
    case Opc::BitsOfBF16: return Type::U16;
    case Opc::BitsOfE4M3:
    case Opc::BitsOfE5M2: return Type::U8;
    default: return a;
  }
}

}  // namespace

int size_of(Type type) {
  static constexpr int kSizes[] = {
#define X(name, ctype) sizeof(ctype),
      TGC_REF_TYPES(X)
#undef X
  };
  return kSizes[int(type)];
}

Type type_of(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Bool: return Type::Bool;
    case Scalar::Int8: return Type::I8;
    case Scalar::UInt8: return Type::U8;
    case Scalar::Int16: return Type::I16;
    case Scalar::UInt16: return Type::U16;
    case Scalar::Int32: return Type::I32;
    case Scalar::UInt32: return Type::U32;
    case Scalar::Int64:
    case Scalar::Index: return Type::I64;
    case Scalar::UInt64: return Type::U64;
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2:
    case Scalar::Float16:
    case Scalar::BFloat16:
    case Scalar::Float32: return Type::F32;
    case Scalar::Float64: return Type::F64;
    case Scalar::Void:
    case Scalar::Other: break;
  }
  throw Failure("a value cannot have the dtype " + std::string(dtype.repr()));
}

Builder::Builder(bool count_evaluations) : counts_evaluations_(count_evaluations), scopes_(1) {}

Reg Builder::new_register(Type type, bool varying) {
  registers_.push_back({.type = type, .is_varying_register = varying, .scope_depth = uint32_t(scopes_.size() - 1)});
  return Reg(registers_.size() - 1);
}

Reg Builder::constant(Type type, uint64_t bits) {
  auto [it, added] = constants_[int(type)].emplace(bits, kNoRegister);
  if (added) {
    it->second = new_register(type, false);
    Register& r = registers_.back();
    r.is_constant = true, r.bits = bits, r.scope_depth = 0;
  }
  return it->second;
}

Reg Builder::constant_int(Type type, int64_t value) {
  int bits = size_of(type) * 8;
  return constant(type, bits == 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << bits) - 1));
}

Reg Builder::constant_float(Type type, double value) {
  return type == Type::F64 ? constant(type, std::bit_cast<uint64_t>(value))
                           : constant(type, std::bit_cast<uint32_t>(float(value)));
}

Reg Builder::variable(const std::string& name) {
  auto [it, added] = variables_.emplace(name, kNoRegister);
  if (added) {
    it->second = new_register(Type::I64, false);
    registers_.back().scope_depth = 0;
  }
  return it->second;
}

Reg Builder::emit(Virtual v, Type result, bool varying) {
  v.dst = new_register(result, varying);
  scopes_.back().code.push_back(v);
  return v.dst;
}

bool Builder::has_constant_operands(const Virtual& v) const {
  for (Reg r : {v.a, v.b, v.c})
    if (r != kNoRegister && !is_constant(r)) return false;
  return true;
}

Reg Builder::evaluate_constant(Virtual v, Type result) {
  alignas(8) uint8_t memory[32] = {};
  Instruction ins{};
  int32_t at = 8;
  for (auto [from, to] : {std::pair(v.a, &ins.a), std::pair(v.b, &ins.b), std::pair(v.c, &ins.c)}) {
    if (from == kNoRegister) continue;
    uint64_t bits = constant_bits(from);
    std::memcpy(memory + at, &bits, 8);
    *to = at, at += 8;
  }
  Frame f{};
  f.registers = memory;
  Fn function = select({.op = v.op, .type = v.type, .type2 = v.type2});
  if (function == nullptr) throw Unsupported("REF has no instruction for an op of these dtypes");
  function(f, &ins);
  uint64_t bits = 0;
  std::memcpy(&bits, memory, size_t(size_of(result)));
  return constant(result, bits);
}

Reg Builder::splat(Reg r) {
  if (is_varying_register(r)) return r;
  // the Splat (copy to all lanes) runs once, in the scope that defines the register, but inside Lanes
  size_t depth = std::max<size_t>(registers_[size_t(r)].scope_depth, lanes_depth_);
  Scope& scope = scopes_[depth];
  auto [it, added] = scope.splat_registers.emplace(r, kNoRegister);
  if (added) {
    it->second = new_register(registers_[size_t(r)].type, true);
    registers_.back().scope_depth = uint32_t(depth);
    scope.code.push_back({.op = Opc::Splat, .type = uint8_t(type(r)), .dst = it->second, .a = r});
  }
  return it->second;
}

Reg Builder::binary(Opc op, Reg a, Reg b) {
  if (type(a) != type(b)) throw Unsupported("operands of different types");
  Type result = is_comparison(op) ? Type::Bool : type(a);
  Virtual v{.op = op, .type = uint8_t(type(a)), .a = a, .b = b};
  bool division = op == Opc::IDiv || op == Opc::Mod;
  if (has_constant_operands(v) && !(division && constant_bits(b) == 0)) return evaluate_constant(v, result);
  if (!is_float(type(a)) && type(a) != Type::Bool) {  // x + 0 and x * 1 are frequent in index arithmetic
    if (is_constant(a) && is_commutative(op)) std::swap(a, b);
    if (op == Opc::Add && is_constant(b) && constant_bits(b) == 0) return a;
    if (op == Opc::Mul && is_constant(b) && constant_bits(b) == 1) return a;
    v.a = a, v.b = b;
  }
  return emit(v, result, is_varying_register(a) || is_varying_register(b));
}

Reg Builder::unary(Opc op, Reg a) {
  Virtual v{.op = op, .type = uint8_t(type(a)), .a = a};
  Type result = unary_result(op, type(a));
  return has_constant_operands(v) ? evaluate_constant(v, result) : emit(v, result, is_varying_register(a));
}

Reg Builder::cast(Reg a, Type to) {
  if (type(a) == to) return a;
  Virtual v{.op = Opc::Cast, .type = uint8_t(to), .type2 = uint8_t(type(a)), .a = a};
  return has_constant_operands(v) ? evaluate_constant(v, to) : emit(v, to, is_varying_register(a));
}

Reg Builder::bitcast(Reg a, Type to) {
  if (size_of(type(a)) != size_of(to)) throw Unsupported("a bitcast between sizes");
  if (is_constant(a)) return constant(to, constant_bits(a));
  return type(a) == to ? a : emit({.op = Opc::Mov, .type = uint8_t(to), .a = a}, to, is_varying_register(a));
}

Reg Builder::where(Reg cond, Reg yes, Reg no) {
  if (is_constant(cond)) return constant_bits(cond) ? yes : no;
  if (yes == no) return yes;
  bool any = is_varying_register(cond) || is_varying_register(yes) || is_varying_register(no);
  if (any) cond = splat(cond), yes = splat(yes), no = splat(no);
  return emit({.op = Opc::Where, .type = uint8_t(type(yes)), .a = cond, .b = yes, .c = no}, type(yes), any);
}

Reg Builder::mulacc(Reg a, Reg b, Reg c) {
  bool any = is_varying_register(a) || is_varying_register(b) || is_varying_register(c);
  if (any) a = splat(a), b = splat(b), c = splat(c);
  return emit({.op = Opc::MulAcc, .type = uint8_t(type(a)), .a = a, .b = b, .c = c}, type(a), any);
}

Reg Builder::logical_and(Reg a, Reg b) {
  if (a == kNoRegister || a == b) return b;
  if (b == kNoRegister) return a;
  if (is_true(a) || is_false(b)) return b;
  if (is_true(b) || is_false(a)) return a;
  return binary(Opc::And, a, b);
}

Reg Builder::copy(Reg a) {
  return emit({.op = Opc::Mov, .type = uint8_t(type(a)), .a = a}, type(a), is_varying_register(a));
}

void Builder::wmma(const WmmaLayout* layout, Scalar out, const std::vector<Reg>& a, const std::vector<Reg>& b,
                   const std::vector<Reg>& c, std::vector<Reg>& d) {
  Wmma w{.layout = layout, .is_varying = is_in_lanes(), .result_scalar = out};
  auto take = [&](std::vector<int32_t>& to, const std::vector<Reg>& from) {
    for (Reg r : from) to.push_back(w.is_varying ? splat(r) : r);
  };
  take(w.a, a), take(w.b, b), take(w.c, c);
  for (size_t i = 0; i < c.size(); i++) w.d.push_back(new_register(Type::F32, w.is_varying));
  d = w.d;
  scopes_.back().code.push_back({.op = Opc::Wmma, .immediate = int64_t(code_.wmmas.size())});
  code_.wmmas.push_back(std::move(w));
}

Reg Builder::mutable_register(Type type, bool varying) { return new_register(type, varying); }

void Builder::assign(Reg to, Reg value) {
  Opc op = is_varying_register(to) && !is_varying_register(value) ? Opc::Splat : Opc::Mov;
  TGC_CHECK(is_varying_register(to) || !is_varying_register(value),
            "a uniform register cannot take a value that differs between lanes");
  scopes_.back().code.push_back({.op = op, .type = uint8_t(type(to)), .dst = to, .a = value});
}

void Builder::fold(Opc op, Opc rounding, Reg accumulator, Reg value) {
  scopes_.back().code.push_back({.op = Opc::Fold, .type = uint8_t(type(accumulator)), .type2 = uint8_t(op),
                                 .dst = accumulator, .a = splat(value), .rounding = rounding});
}

int32_t Builder::add_memory(MemoryInfo info) {
  if (dtypes::of(info.scalar).itemsize() <= 0) throw Failure(info.name + " has elements without a size");
  code_.memories.push_back(std::move(info));
  return int32_t(code_.memories.size() - 1);
}

// If each group of lanes has its own copy of the memory, checks the offset against the copy's size, then adds the
// copy's start. `other` is a load's alternative or a store's value.
Builder::Virtual Builder::access(Opc op, int32_t memory, Reg offset, Reg gate, Reg other, const std::string& what) {
  const MemoryInfo& m = code_.memories[size_t(memory)];
  bool grouped = m.lane_group_size > 0 && is_in_lanes();
  if (offset == kNoRegister) offset = constant_int(Type::I64, 0);
  if (type(offset) != Type::I32 && type(offset) != Type::I64) offset = cast(offset, Type::I64);
  bool any = grouped;
  for (Reg r : {offset, gate, other}) any |= r != kNoRegister && is_varying_register(r);
  if (any)
    for (Reg* r : {&offset, &gate, &other}) *r = *r == kNoRegister ? kNoRegister : splat(*r);

  Virtual v{.op = op, .type = uint8_t(m.scalar), .type2 = uint8_t(type(offset)), .a = offset, .b = gate, .c = other};
  v.immediate = int64_t(code_.accesses.size()) << 32 | memory;
  code_.accesses.push_back({.text = what,
                            .ranges = open_loops_,
                            .axes = {},
                            .memory = memory,
                            .is_store = op == Opc::Store,
                            .has_narrow_offset = type(offset) == Type::I32,
                            .is_varying = any});
  if (is_in_lanes()) code_.accesses.back().axes = lane_axes_.back();
  if (!grouped) return v;

  Virtual check = v;
  check.op = Opc::Check, check.c = kNoRegister;
  scopes_.back().code.push_back(check);
  auto [it, added] = group_indices_.emplace(memory, kNoRegister);
  if (added) {
    it->second = new_register(Type::I64, true);
    registers_.back().scope_depth = uint32_t(lanes_depth_);
    scopes_[lanes_depth_].code.push_back(
        {.op = Opc::GroupBase, .dst = it->second, .immediate = m.size, .raw_field = int32_t(m.lane_group_size)});
  }
  v.a = binary(Opc::Add, cast(offset, Type::I64), it->second);
  v.type2 = uint8_t(Type::I64);
  return v;
}

// Combines a gate with the enclosing masks. Returns kNoRegister if the result is always true.
Reg Builder::effective_gate(Reg gate) {
  gate = logical_and(gate, lane_mask());
  return gate != kNoRegister && is_true(gate) ? kNoRegister : gate;
}

Reg Builder::load(int32_t memory, Reg offset, Reg gate, Reg alt, const std::string& what) {
  Type result = type_of(dtypes::of(code_.memories[size_t(memory)].scalar));
  gate = effective_gate(gate);
  if (gate != kNoRegister && is_false(gate)) return alt == kNoRegister ? constant(result, 0) : alt;
  Virtual v = access(Opc::Load, memory, offset, gate, gate == kNoRegister ? kNoRegister : alt, what);
  return emit(v, result, is_varying_register(v.a));
}

void Builder::store(int32_t memory, Reg offset, Reg gate, Reg value, const std::string& what) {
  gate = effective_gate(gate);
  if (gate != kNoRegister && is_false(gate)) return;
  Virtual v = access(Opc::Store, memory, offset, gate, value, what);
  scopes_.back().code.push_back(v);
}

void Builder::begin_scope(Virtual begin, Virtual end) {
  scopes_.emplace_back();
  scopes_.back().begin = begin;
  scopes_.back().end = end;
}

void Builder::end_scope() {
  Scope inner = std::move(scopes_.back());
  scopes_.pop_back();
  auto& code = scopes_.back().code;
  code.push_back(inner.begin);
  code.insert(code.end(), inner.code.begin(), inner.code.end());
  if (inner.evaluations || inner.lane_evaluations)
    code.push_back({.op = Opc::Count, .immediate = inner.evaluations, .raw_field = int32_t(inner.lane_evaluations)});
  code.push_back(inner.end);
}

Reg Builder::begin_loop(Reg bound, const std::string& name) {
  bound = cast(bound, Type::I64);
  if (is_varying_register(bound)) throw Unsupported("a loop whose end differs between lanes");
  Reg counter = new_register(Type::I64, false);
  begin_scope({.op = Opc::Loop, .dst = counter, .a = bound}, {.op = Opc::LoopEnd, .dst = counter, .a = bound});
  registers_[size_t(counter)].scope_depth = uint32_t(scopes_.size() - 1);
  open_loops_.push_back({name, counter});
  return counter;
}

void Builder::end_loop() {
  open_loops_.pop_back();
  end_scope();
}

std::vector<Reg> Builder::begin_lanes(const std::vector<LaneAxis>& axes, int64_t group, int64_t most) {
  if (is_in_lanes()) throw Unsupported("nested lanes");
  std::vector<Access::LaneAxis> infos(axes.size());
  Reg total = constant_int(Type::I64, 1);
  for (size_t i = axes.size(); i-- > 0;) {
    Reg extent = cast(axes[i].extent, Type::I64);
    infos[i] = {axes[i].loop_name, total, extent};
    total = binary(Opc::Mul, total, extent);
  }
  Virtual begin{.op = Opc::Lanes, .a = total, .immediate = int64_t(lane_axes_.size()), .raw_field = int32_t(group)};
  Virtual end = begin;
  end.op = Opc::LanesEnd;
  lane_axes_.push_back(infos);
  begin_scope(begin, end);
  lanes_depth_ = scopes_.size() - 1;
  largest_group_ = std::max(largest_group_, group);
  max_lanes_ = std::max(max_lanes_, most);
  std::vector<Reg> out;
  for (const Access::LaneAxis& axis : infos)
    out.push_back(emit({.op = Opc::Axis, .a = axis.stride, .b = axis.extent}, Type::I64, true));
  return out;
}

void Builder::end_lanes() {
  TGC_CHECK(lanes_depth_ == scopes_.size() - 1, "lanes closed before what is in them");
  end_scope();
  lanes_depth_ = 0;
  group_indices_.clear();
}

Reg Builder::max_lane(Reg a) {
  if (!is_varying_register(a)) return a;
  return emit({.op = Opc::MaxLane, .type = uint8_t(type(a)), .a = a}, type(a), false);
}

void Builder::push_mask(Reg cond) { lane_masks_.push_back(logical_and(lane_mask(), cond)); }

void Builder::count_evaluation(bool varying) {
  if (!counts_evaluations_) return;
  Scope& scope = scopes_.back();
  (varying ? scope.lane_evaluations : scope.evaluations)++;
}

}  // namespace tgc::ref
