#include "lib/runtime/ref/builder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/support/result.h"

namespace tgc::ref {
namespace {

bool is_comparison(Opcode op) { return op == Opcode::Lt || op == Opcode::Ne || op == Opcode::Eq; }
bool is_commutative(Opcode op) {
  return op == Opcode::Add || op == Opcode::Mul || op == Opcode::And || op == Opcode::Or || op == Opcode::Xor ||
         op == Opcode::Ne || op == Opcode::Eq;
}

RefType unary_result(Opcode op, RefType a) {
  switch (op) {
    case Opcode::F64ToF16:
    case Opcode::F16OfBits:
    case Opcode::BF16OfBits:
    case Opcode::E4M3OfBits:
    case Opcode::E5M2OfBits: return RefType::F32;
    case Opcode::BitsOfF16:
    case Opcode::BitsOfBF16: return RefType::U16;
    case Opcode::BitsOfE4M3:
    case Opcode::BitsOfE5M2: return RefType::U8;
    default: return a;
  }
}

}  // namespace

int size_of_type(RefType type) {
  static constexpr int kSizes[] = {
#define X(name, ctype) sizeof(ctype),
      TGC_REF_TYPES(X)
#undef X
  };
  return kSizes[int(type)];
}

RefType ref_type_of(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Bool: return RefType::Bool;
    case Scalar::Int8: return RefType::I8;
    case Scalar::UInt8: return RefType::U8;
    case Scalar::Int16: return RefType::I16;
    case Scalar::UInt16: return RefType::U16;
    case Scalar::Int32: return RefType::I32;
    case Scalar::UInt32: return RefType::U32;
    case Scalar::Int64:
    case Scalar::Index: return RefType::I64;
    case Scalar::UInt64: return RefType::U64;
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2:
    case Scalar::Float16:
    case Scalar::BFloat16:
    case Scalar::Float32: return RefType::F32;
    case Scalar::Float64: return RefType::F64;
    case Scalar::Void:
    case Scalar::Other: break;
  }
  throw Failure("a value cannot have the dtype " + std::string(dtype.repr()));
}

RefBuilder::RefBuilder(bool count_evaluations) : should_count_evaluations_(count_evaluations), code_scopes_(1) {}

Reg RefBuilder::make_register(RefType type, bool varying) {
  virtual_registers_.push_back(
      {.type = type, .is_varying = varying, .scope_depth = uint32_t(code_scopes_.size() - 1)});
  return Reg(virtual_registers_.size() - 1);
}

Reg RefBuilder::constant(RefType type, uint64_t bits) {
  auto [it, added] = constants_[int(type)].emplace(bits, kNoRegister);
  if (added) {
    it->second = make_register(type, false);
    VirtualRegister& r = virtual_registers_.back();
    r.is_constant = true, r.bits = bits, r.scope_depth = 0;
  }
  return it->second;
}

Reg RefBuilder::constant_int(RefType type, int64_t value) {
  int bits = size_of_type(type) * 8;
  return constant(type, bits == 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << bits) - 1));
}

Reg RefBuilder::constant_float(RefType type, double value) {
  return type == RefType::F64 ? constant(type, std::bit_cast<uint64_t>(value))
                           : constant(type, std::bit_cast<uint32_t>(float(value)));
}

Reg RefBuilder::variable(const std::string& name) {
  auto [it, added] = variables_.emplace(name, kNoRegister);
  if (added) {
    it->second = make_register(RefType::I64, false);
    virtual_registers_.back().scope_depth = 0;
  }
  return it->second;
}

Reg RefBuilder::emit_op(VirtualOp v, RefType result, bool varying) {
  v.destination = make_register(result, varying);
  code_scopes_.back().code.push_back(v);
  return v.destination;
}

bool RefBuilder::has_constant_operands(const VirtualOp& v) const {
  for (Reg r : {v.a, v.b, v.c})
    if (r != kNoRegister && !is_constant(r)) return false;
  return true;
}

Reg RefBuilder::evaluate_constant(VirtualOp v, RefType result) {
  alignas(8) uint8_t memory[32] = {};
  RefInstruction ins{};
  int32_t at = 8;
  for (auto [from, to] : {std::pair(v.a, &ins.a), std::pair(v.b, &ins.b), std::pair(v.c, &ins.c)}) {
    if (from == kNoRegister) continue;
    uint64_t bits = constant_bits(from);
    std::memcpy(memory + at, &bits, 8);
    *to = at, at += 8;
  }
  RefFrame f{};
  f.registers = memory;
  InstructionFunction function = find_function({.op = v.op, .type = v.type, .type2 = v.type2});
  if (function == nullptr) throw UnsupportedOperation("REF has no instruction for an op of these dtypes");
  function(f, &ins);
  uint64_t bits = 0;
  std::memcpy(&bits, memory, size_t(size_of_type(result)));
  return constant(result, bits);
}

Reg RefBuilder::emit_splat(Reg r) {
  if (is_varying(r)) return r;
  // the Splat (copy to all lanes) is in the scope that defines the register, or in that of Lanes if it is inner
  size_t depth = std::max<size_t>(virtual_registers_[size_t(r)].scope_depth, lanes_depth_);
  CodeScope& scope = code_scopes_[depth];
  auto [it, added] = scope.splat_registers.emplace(r, kNoRegister);
  if (added) {
    it->second = make_register(virtual_registers_[size_t(r)].type, true);
    virtual_registers_.back().scope_depth = uint32_t(depth);
    scope.code.push_back({.op = Opcode::Splat, .type = uint8_t(type(r)), .destination = it->second, .a = r});
  }
  return it->second;
}

Reg RefBuilder::emit_binary(Opcode op, Reg a, Reg b) {
  if (type(a) != type(b)) throw UnsupportedOperation("operands of different types");
  RefType result = is_comparison(op) ? RefType::Bool : type(a);
  VirtualOp v{.op = op, .type = uint8_t(type(a)), .a = a, .b = b};
  bool division = op == Opcode::IDiv || op == Opcode::Mod;
  if (has_constant_operands(v) && !(division && constant_bits(b) == 0)) return evaluate_constant(v, result);
  if (!is_float(type(a)) && type(a) != RefType::Bool) {  // x + 0 and x * 1 are frequent in index arithmetic
    if (is_constant(a) && is_commutative(op)) std::swap(a, b);
    if (op == Opcode::Add && is_constant(b) && constant_bits(b) == 0) return a;
    if (op == Opcode::Mul && is_constant(b) && constant_bits(b) == 1) return a;
    v.a = a, v.b = b;
  }
  return emit_op(v, result, is_varying(a) || is_varying(b));
}

Reg RefBuilder::emit_unary(Opcode op, Reg a) {
  VirtualOp v{.op = op, .type = uint8_t(type(a)), .a = a};
  RefType result = unary_result(op, type(a));
  return has_constant_operands(v) ? evaluate_constant(v, result) : emit_op(v, result, is_varying(a));
}

Reg RefBuilder::cast(Reg a, RefType to) {
  if (type(a) == to) return a;
  VirtualOp v{.op = Opcode::Cast, .type = uint8_t(to), .type2 = uint8_t(type(a)), .a = a};
  return has_constant_operands(v) ? evaluate_constant(v, to) : emit_op(v, to, is_varying(a));
}

Reg RefBuilder::emit_bitcast(Reg a, RefType to) {
  if (size_of_type(type(a)) != size_of_type(to)) throw UnsupportedOperation("a bitcast between sizes");
  if (is_constant(a)) return constant(to, constant_bits(a));
  return type(a) == to ? a : emit_op({.op = Opcode::Mov, .type = uint8_t(to), .a = a}, to, is_varying(a));
}

Reg RefBuilder::emit_where(Reg condition, Reg yes, Reg no) {
  if (is_constant(condition)) return constant_bits(condition) ? yes : no;
  if (yes == no) return yes;
  bool any = is_varying(condition) || is_varying(yes) || is_varying(no);
  if (any) condition = emit_splat(condition), yes = emit_splat(yes), no = emit_splat(no);
  return emit_op({.op = Opcode::Where, .type = uint8_t(type(yes)), .a = condition, .b = yes, .c = no}, type(yes), any);
}

Reg RefBuilder::emit_mulacc(Reg a, Reg b, Reg c) {
  bool any = is_varying(a) || is_varying(b) || is_varying(c);
  if (any) a = emit_splat(a), b = emit_splat(b), c = emit_splat(c);
  return emit_op({.op = Opcode::MulAcc, .type = uint8_t(type(a)), .a = a, .b = b, .c = c}, type(a), any);
}

Reg RefBuilder::emit_logical_and(Reg a, Reg b) {
  if (a == kNoRegister || a == b) return b;
  if (b == kNoRegister) return a;
  if (is_true(a) || is_false(b)) return b;
  if (is_true(b) || is_false(a)) return a;
  return emit_binary(Opcode::And, a, b);
}

Reg RefBuilder::emit_copy(Reg a) {
  return emit_op({.op = Opcode::Mov, .type = uint8_t(type(a)), .a = a}, type(a), is_varying(a));
}

void RefBuilder::emit_wmma(const WmmaLayout* wmma_layout, Scalar out, const std::vector<Reg>& a,
                           const std::vector<Reg>& b, const std::vector<Reg>& c, std::vector<Reg>& d) {
  WmmaOperands w{.wmma_layout = wmma_layout, .is_varying = is_in_lanes(), .result_scalar = out};
  auto take = [&](std::vector<int32_t>& to, const std::vector<Reg>& from) {
    for (Reg r : from) to.push_back(w.is_varying ? emit_splat(r) : r);
  };
  take(w.a, a), take(w.b, b), take(w.c, c);
  for (size_t i = 0; i < c.size(); i++) w.d.push_back(make_register(RefType::F32, w.is_varying));
  d = w.d;
  code_scopes_.back().code.push_back({.op = Opcode::Wmma, .immediate = int64_t(ref_code_.wmmas.size())});
  ref_code_.wmmas.push_back(std::move(w));
}

Reg RefBuilder::mutable_register(RefType type, bool varying) { return make_register(type, varying); }

void RefBuilder::emit_assign(Reg to, Reg value) {
  Opcode op = is_varying(to) && !is_varying(value) ? Opcode::Splat : Opcode::Mov;
  TGC_CHECK(is_varying(to) || !is_varying(value),
            "a uniform register cannot take a value that differs between lanes");
  code_scopes_.back().code.push_back({.op = op, .type = uint8_t(type(to)), .destination = to, .a = value});
}

void RefBuilder::emit_fold(Opcode op, Opcode rounding, Reg accumulator, Reg value) {
  code_scopes_.back().code.push_back({.op = Opcode::Fold, .type = uint8_t(type(accumulator)), .type2 = uint8_t(op),
                                 .destination = accumulator, .a = emit_splat(value), .rounding = rounding});
}

int32_t RefBuilder::add_memory(MemoryInfo info) {
  if (dtypes::of(info.scalar).itemsize() <= 0) throw Failure(info.name + " has elements without a size");
  ref_code_.memories.push_back(std::move(info));
  return int32_t(ref_code_.memories.size() - 1);
}

// If each group of lanes has its own copy of the memory, checks the offset against the copy's size, then adds the
// copy's start. `other` is a load's alternative or a store's value.
RefBuilder::VirtualOp RefBuilder::make_access(Opcode op, int32_t memory, Reg offset, Reg gate, Reg other,
                                              const std::string& what) {
  const MemoryInfo& m = ref_code_.memories[size_t(memory)];
  bool grouped = m.lane_group_size > 0 && is_in_lanes();
  if (offset == kNoRegister) offset = constant_int(RefType::I64, 0);
  if (type(offset) != RefType::I32 && type(offset) != RefType::I64) offset = cast(offset, RefType::I64);
  bool any = grouped;
  for (Reg r : {offset, gate, other}) any |= r != kNoRegister && is_varying(r);
  if (any)
    for (Reg* r : {&offset, &gate, &other}) *r = *r == kNoRegister ? kNoRegister : emit_splat(*r);

  VirtualOp v{.op = op, .type = uint8_t(m.scalar), .type2 = uint8_t(type(offset)), .a = offset, .b = gate, .c = other};
  v.immediate = int64_t(ref_code_.accesses.size()) << 32 | memory;
  ref_code_.accesses.push_back({.text = what,
                            .ranges = open_loops_,
                            .axes = {},
                            .memory = memory,
                            .is_store = op == Opcode::Store,
                            .has_narrow_offset = type(offset) == RefType::I32,
                            .is_varying = any});
  if (is_in_lanes()) ref_code_.accesses.back().axes = lane_axes_.back();
  if (!grouped) return v;

  VirtualOp check = v;
  check.op = Opcode::Check, check.c = kNoRegister;
  code_scopes_.back().code.push_back(check);
  auto [it, added] = group_base_registers_.emplace(memory, kNoRegister);
  if (added) {
    it->second = make_register(RefType::I64, true);
    virtual_registers_.back().scope_depth = uint32_t(lanes_depth_);
    code_scopes_[lanes_depth_].code.push_back({.op = Opcode::GroupBase,
                                               .destination = it->second,
                                               .immediate = m.size,
                                               .operand_number = int32_t(m.lane_group_size)});
  }
  v.a = emit_binary(Opcode::Add, cast(offset, RefType::I64), it->second);
  v.type2 = uint8_t(RefType::I64);
  return v;
}

// Combines a gate with the enclosing masks. Returns kNoRegister if the result is always true.
Reg RefBuilder::effective_gate(Reg gate) {
  gate = emit_logical_and(gate, lane_mask());
  return gate != kNoRegister && is_true(gate) ? kNoRegister : gate;
}

Reg RefBuilder::load(int32_t memory, Reg offset, Reg gate, Reg alt, const std::string& what) {
  RefType result = ref_type_of(dtypes::of(ref_code_.memories[size_t(memory)].scalar));
  gate = effective_gate(gate);
  if (gate != kNoRegister && is_false(gate)) return alt == kNoRegister ? constant(result, 0) : alt;
  VirtualOp v = make_access(Opcode::Load, memory, offset, gate, gate == kNoRegister ? kNoRegister : alt, what);
  return emit_op(v, result, is_varying(v.a));
}

void RefBuilder::store(int32_t memory, Reg offset, Reg gate, Reg value, const std::string& what) {
  gate = effective_gate(gate);
  if (gate != kNoRegister && is_false(gate)) return;
  VirtualOp v = make_access(Opcode::Store, memory, offset, gate, value, what);
  code_scopes_.back().code.push_back(v);
}

void RefBuilder::begin_scope(VirtualOp begin, VirtualOp end) {
  code_scopes_.emplace_back();
  code_scopes_.back().begin = begin;
  code_scopes_.back().end = end;
}

void RefBuilder::end_scope() {
  CodeScope inner = std::move(code_scopes_.back());
  code_scopes_.pop_back();
  auto& code = code_scopes_.back().code;
  code.push_back(inner.begin);
  code.insert(code.end(), inner.code.begin(), inner.code.end());
  if (inner.num_evaluations || inner.num_lane_evaluations)
    code.push_back({.op = Opcode::Count,
                    .immediate = inner.num_evaluations,
                    .operand_number = int32_t(inner.num_lane_evaluations)});
  code.push_back(inner.end);
}

Reg RefBuilder::begin_loop(Reg bound, const std::string& name) {
  bound = cast(bound, RefType::I64);
  if (is_varying(bound)) throw UnsupportedOperation("a loop whose end differs between lanes");
  Reg counter = make_register(RefType::I64, false);
  begin_scope({.op = Opcode::Loop, .destination = counter, .a = bound},
              {.op = Opcode::LoopEnd, .destination = counter, .a = bound});
  virtual_registers_[size_t(counter)].scope_depth = uint32_t(code_scopes_.size() - 1);
  open_loops_.push_back({name, counter});
  return counter;
}

void RefBuilder::end_loop() {
  open_loops_.pop_back();
  end_scope();
}

std::vector<Reg> RefBuilder::begin_lanes(const std::vector<LaneAxis>& axes, int64_t group, int64_t most) {
  if (is_in_lanes()) throw UnsupportedOperation("nested lanes");
  std::vector<MemoryAccess::LaneAxis> infos(axes.size());
  Reg total = constant_int(RefType::I64, 1);
  for (size_t i = axes.size(); i-- > 0;) {
    Reg extent = cast(axes[i].extent, RefType::I64);
    infos[i] = {axes[i].loop_name, total, extent};
    total = emit_binary(Opcode::Mul, total, extent);
  }
  VirtualOp begin{
      .op = Opcode::Lanes, .a = total, .immediate = int64_t(lane_axes_.size()), .operand_number = int32_t(group)};
  VirtualOp end = begin;
  end.op = Opcode::LanesEnd;
  lane_axes_.push_back(infos);
  begin_scope(begin, end);
  lanes_depth_ = code_scopes_.size() - 1;
  largest_lane_group_ = std::max(largest_lane_group_, group);
  max_lanes_ = std::max(max_lanes_, most);
  std::vector<Reg> out;
  for (const MemoryAccess::LaneAxis& axis : infos)
    out.push_back(emit_op({.op = Opcode::Axis, .a = axis.stride, .b = axis.extent}, RefType::I64, true));
  return out;
}

void RefBuilder::end_lanes() {
  TGC_CHECK(lanes_depth_ == code_scopes_.size() - 1, "lanes closed before what is in them");
  end_scope();
  lanes_depth_ = 0;
  group_base_registers_.clear();
}

Reg RefBuilder::max_over_lanes(Reg a) {
  if (!is_varying(a)) return a;
  return emit_op({.op = Opcode::MaxLane, .type = uint8_t(type(a)), .a = a}, type(a), false);
}

void RefBuilder::push_mask(Reg condition) { lane_masks_.push_back(emit_logical_and(lane_mask(), condition)); }

void RefBuilder::count_evaluation(bool varying) {
  if (!should_count_evaluations_) return;
  CodeScope& scope = code_scopes_.back();
  (varying ? scope.num_lane_evaluations : scope.num_evaluations)++;
}

}  // namespace tgc::ref
