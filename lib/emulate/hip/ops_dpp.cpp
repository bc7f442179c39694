// Instructions that exchange values between lanes: DPP, which permutes the first source of an instruction, and
// permutations. Also moves between lanes and scalar registers, and v_mbcnt.
#include "lib/emulate/hip/access.h"
#include "lib/emulate/hip/lanes.h"
#include "lib/emulate/hip/scalar_rows.h"

namespace tgc::hip {

namespace {

constexpr int kNoLane = -1;
constexpr u32 kRow = 16;

// Each of these functions returns the lane that `lane` reads from, or kNoLane.
using SourceLaneFunction = int (*)(u32 lane, u32 lanes, u32 value);
int lane_in_row(u32 lane, int at) { return at < 0 || at >= int(kRow) ? kNoLane : int(lane / kRow * kRow) + at; }
int quad_perm(u32 lane, u32, u32 v) { return int(lane / 4 * 4 + (v >> (2 * (lane % 4)) & 3)); }
int dpp8(u32 lane, u32, u32 v) { return int(lane / 8 * 8 + (v >> (3 * (lane % 8)) & 7)); }
int row_shl(u32 lane, u32, u32 v) { return lane_in_row(lane, int(lane % kRow + v)); }
int row_shr(u32 lane, u32, u32 v) { return lane_in_row(lane, int(lane % kRow) - int(v)); }
int row_ror(u32 lane, u32, u32 v) { return lane_in_row(lane, int((lane + kRow - v % kRow) % kRow)); }
int row_mirror(u32 lane, u32, u32) { return lane_in_row(lane, int(15 - lane % kRow)); }
int row_half_mirror(u32 lane, u32, u32) { return int(lane / 8 * 8 + 7 - lane % 8); }
int row_share(u32 lane, u32, u32 v) { return lane_in_row(lane, int(v % kRow)); }
int row_xmask(u32 lane, u32, u32 v) { return lane_in_row(lane, int((lane ^ v) % kRow)); }
// row_bcast:15 broadcasts the last lane of each row to the next row; row_bcast:31 broadcasts lane 31 to lanes 32 to 63.
int row_bcast(u32 lane, u32, u32 v) {
  u32 size = v == 31 ? 32 : kRow;
  return lane < size ? kNoLane : int(lane / size * size - 1);
}
int wave_shl(u32 lane, u32 lanes, u32) { return lane + 1 < lanes ? int(lane + 1) : kNoLane; }
int wave_shr(u32 lane, u32, u32) { return int(lane) - 1; }
int wave_rol(u32 lane, u32 lanes, u32) { return int((lane + 1) % lanes); }
int wave_ror(u32 lane, u32 lanes, u32) { return int((lane + lanes - 1) % lanes); }

struct DppControl {
  std::string_view name;
  SourceLaneFunction source_lane;
  u32 bits = 0;  // for a control with a list of numbers: bits per number
};
constexpr DppControl kControls[] = {
    {"quad_perm", quad_perm, 2},
    {"dpp8", dpp8, 3},
    {"row_shl", row_shl},
    {"row_shr", row_shr},
    {"row_ror", row_ror},
    {"row_mirror", row_mirror},
    {"row_half_mirror", row_half_mirror},
    {"row_share", row_share},
    {"row_newbcast", row_share},
    {"row_xmask", row_xmask},
    {"row_bcast", row_bcast},
    {"wave_shl", wave_shl},
    {"wave_shr", wave_shr},
    {"wave_rol", wave_rol},
    {"wave_ror", wave_ror},
};
constexpr u32 kZeroWhereNone = 1, kFromInactive = 2;  // in Op::num_words, for the modifiers bound_ctrl:1 and fi:1

// Writes the values of source operand `a`, permuted across lanes, to register `to`. Restricts EXEC, until restore_exec,
// to the active lanes that the row and bank masks select and that have an active source lane (kFromInactive: any source
// lane; kZeroWhereNone: also those without one). Op::scale_exponent is the index of the control in kControls, `offset`
// the control's value, `bytes` the row mask (low 4 bits) and bank mask (high 4 bits), `num_words` the flags above.
void run_permute(Wave& w, const Op& o) {
  const DppControl& control = kControls[size_t(o.scale_exponent)];
  u32 lanes = w.num_halves * kNumLanes;
  uint64_t active = w.exec(), runs = 0;
  w.saved_exec[0] = w.scalar_registers[kExec], w.saved_exec[1] = w.scalar_registers[kExec + 1];
  u32 given[2 * kNumLanes] = {};
  for (u32 lane = 0; lane < lanes; lane++) {
    int source_lane = control.source_lane(lane, lanes, u32(o.offset));
    bool is_given = source_lane != kNoLane && ((active >> source_lane & 1) || (o.num_words & kFromInactive));
    if (is_given) given[lane] = w.lane(o.a.register_index, u32(source_lane));
    bool is_selected = (o.bytes >> (lane / kRow) & 1) && (o.bytes >> (4 + lane / 4 % 4) & 1);
    runs |= uint64_t(is_selected && (is_given || (o.num_words & kZeroWhereNone))) << lane;
  }
  runs &= active;
  for (u32 lane = 0; lane < lanes; lane++) w.lane(o.to, lane) = given[lane];
  w.scalar_registers[kExec] = u32(runs), w.scalar_registers[kExec + 1] = u32(runs >> 32);
}
void restore_exec(Wave& w, const Op&) {
  w.scalar_registers[kExec] = w.saved_exec[0], w.scalar_registers[kExec + 1] = w.saved_exec[1];
}

// ds_bpermute_b32: each lane reads from lane (a + offset) / 4; inactive source lanes give 0.
void run_backward_permute(Wave& w, const Op& o) {
  u32 lanes = w.num_halves * kNumLanes, given[2 * kNumLanes];
  for_each_active_lane(w, [&](u32 lane) {
    u32 from = (w.lane(o.a.register_index, lane) + u32(o.offset)) / 4 % lanes;
    given[lane] = w.exec() >> from & 1 ? w.lane(o.b.register_index, from) : 0;
  });
  for_each_active_lane(w, [&](u32 lane) { w.lane(o.to, lane) = given[lane]; });
}
// ds_permute_b32: each lane writes to lane (a + offset) / 4. The highest numbered writer wins; a lane without a writer
// gets 0.
void run_forward_permute(Wave& w, const Op& o) {
  u32 lanes = w.num_halves * kNumLanes, given[2 * kNumLanes] = {};
  for_each_active_lane(w, [&](u32 lane) {
    given[(w.lane(o.a.register_index, lane) + u32(o.offset)) / 4 % lanes] = w.lane(o.b.register_index, lane);
  });
  for_each_active_lane(w, [&](u32 lane) { w.lane(o.to, lane) = given[lane]; });
}
void build_permutation(CodeBuilder& b) {
  allow_memory_modifiers(b);
  Op op = b.make_op(b.row->run_op);
  op.to = b.vector_register(b.operand(0), 1);
  op.a = SourceOperand{.register_index = b.vector_register(b.operand(1), 1), .is_vector = true};
  op.b = SourceOperand{.register_index = b.vector_register(b.operand(2), 1), .is_vector = true};
  op.offset = int32_t(b.instruction->modifier_value("offset"));
  op.num_words = 1, op.counter = WaitCounter::Lds, op.is_load = true;
  b.emit_op(op);
}

// v_permlane16_b32: lane n of a row reads from the lane of that row whose number is 4-bit field n of the scalars b and
// c. kOther (v_permlanex16_b32): from the other row of its pair of rows.
template <bool kOther>
void run_permlane(Wave& w, const Op& o) {
  uint64_t names = w.scalar_registers[o.b.register_index] | uint64_t(w.scalar_registers[o.c.register_index]) << 32;
  u32 given[2 * kNumLanes];
  for_each_active_lane(w, [&](u32 lane) {
    u32 from = lane / kRow * kRow + u32(names >> (4 * (lane % kRow)) & 15);
    if (kOther) from ^= kRow;
    bool is_given = (w.exec() >> from & 1) || (o.num_words & kFromInactive);
    given[lane] = is_given ? w.lane(o.a.register_index, from) : (o.num_words & kZeroWhereNone) ? 0 : w.lane(o.to, lane);
  });
  for_each_active_lane(w, [&](u32 lane) { w.lane(o.to, lane) = given[lane]; });
}
void build_permlane(CodeBuilder& b) {
  b.allow_modifiers({"op_sel"});
  Op op = b.make_op(b.row->run_op);
  op.to = b.vector_register(b.operand(0), 1);
  op.a = SourceOperand{.register_index = b.vector_register(b.operand(1), 1), .is_vector = true};
  op.b = b.source_operand(b.operand(2), Type::U32), op.c = b.source_operand(b.operand(3), Type::U32);
  if (op.b.is_vector || op.c.is_vector) b.throw_error("the lanes are named in a vector register");
  const OpcodeModifier* flags = b.instruction->modifier("op_sel");
  auto flag = [&](size_t n) { return flags && n < flags->values.size() && flags->values[n]; };
  op.num_words = uint8_t((flag(0) ? kFromInactive : 0) | (flag(1) ? kZeroWhereNone : 0));
  b.emit_op(op);
}

}  // namespace

// Builds a DPP instruction in three steps: permute the first source, run the instruction, restore EXEC.
void CodeBuilder::build_dpp() {
  const Instruction& whole = *instruction;
  Op permute = make_op(run_permute, false), restore = make_op(restore_exec, false);
  permute.clamps_result = false, permute.bytes = 0xff, permute.num_words = 0,
  permute.to = scratch_source(3).register_index;
  Instruction plain = whole;
  for (std::string_view suffix : {"_e64_dpp", "_dpp"})
    if (plain.opcode.ends_with(suffix)) plain.opcode.remove_suffix(suffix.size());
  plain.modifiers.clear();
  const DppControl* control = nullptr;
  for (const OpcodeModifier& m : whole.modifiers) {
    auto value = [&](size_t n) { return n < m.values.size() ? u32(m.values[n]) : 0; };
    auto found = std::ranges::find(kControls, m.name, &DppControl::name);
    if (found != std::end(kControls)) {
      control = found;
      permute.offset = int32_t(value(0));
      for (size_t n = 1; control->bits && n < m.values.size(); n++)
        permute.offset |= int32_t(value(n) << n * control->bits);
    } else if (m.name == "row_mask") permute.bytes = uint8_t((permute.bytes & 0xf0) | (value(0) & 15));
    else if (m.name == "bank_mask") permute.bytes = uint8_t((permute.bytes & 15) | value(0) << 4);
    else if (m.name == "bound_ctrl") permute.num_words |= kZeroWhereNone;
    else if (m.name == "fi") permute.num_words |= value(0) ? kFromInactive : 0;
    else plain.modifiers.push_back(m);
  }
  if (!control) throw_error("no lanes are named");
  permute.scale_exponent = int8_t(control - kControls);
  auto first = std::ranges::find(plain.operands.begin() + !plain.operands.empty(), plain.operands.end(),
                                 Operand::Vector, &Operand::kind);
  if (first == plain.operands.end() || first->count != 1) throw_error("its first source is no vector register");
  permute.a = SourceOperand{.register_index = vector_register(*first, 1), .is_vector = true};
  first->register_index = permute.to;
  emit_op(permute);
  instruction = &plain;
  build_instruction();
  instruction = &whole;
  emit_op(restore);
}

void add_permutation_rows(OpcodeTable& t) {
  add_row(t, "ds_bpermute_b32", {.run_op = run_backward_permute, .is_vector = true, .build_ops = build_permutation});
  add_row(t, "ds_permute_b32", {.run_op = run_forward_permute, .is_vector = true, .build_ops = build_permutation});
  add_row(t, "v_permlane16_b32", {.run_op = run_permlane<false>, .is_vector = true, .build_ops = build_permlane});
  add_row(t, "v_permlanex16_b32", {.run_op = run_permlane<true>, .is_vector = true, .build_ops = build_permlane});
}

namespace {

void run_read_first_lane(Wave& w, const Op& o) {
  u32 lane = w.exec() ? u32(std::countr_zero(w.exec())) : 0;
  w.scalar_registers[o.to] = w.lane(o.a.register_index, lane);
}
void run_read_lane(Wave& w, const Op& o) {
  w.scalar_registers[o.to] =
      w.lane(o.a.register_index, w.scalar_registers[o.b.register_index] & (w.num_halves * kNumLanes - 1));
}
void run_write_lane(Wave& w, const Op& o) {
  w.lane(o.to, w.scalar_registers[o.b.register_index] & (w.num_halves * kNumLanes - 1)) =
      w.scalar_registers[o.a.register_index];
}

// Starts an operation that runs once, independent of EXEC.
Op make_scalar_op(CodeBuilder& b) {
  b.allow_modifiers({});
  return b.make_op(b.row->run_op, false);
}
void build_read_first_lane(CodeBuilder& b) {
  Op op = make_scalar_op(b);
  op.to = b.scalar_register(b.operand(0), 1);
  op.a = SourceOperand{.register_index = b.vector_register(b.operand(1), 1), .is_vector = true};
  b.emit_op(op);
}
void build_read_lane(CodeBuilder& b) {
  Op op = make_scalar_op(b);
  op.to = b.scalar_register(b.operand(0), 1);
  op.a = SourceOperand{.register_index = b.vector_register(b.operand(1), 1), .is_vector = true};
  op.b = b.source_operand(b.operand(2), Type::U32);
  if (op.b.is_vector) b.throw_error("the lane is in a vector register");
  b.emit_op(op);
}
void build_write_lane(CodeBuilder& b) {
  Op op = make_scalar_op(b);
  op.to = b.vector_register(b.operand(0), 1);
  op.a = b.source_operand(b.operand(1), Type::U32), op.b = b.source_operand(b.operand(2), Type::U32);
  if (op.a.is_vector || op.b.is_vector) b.throw_error("an operand in a vector register");
  b.emit_op(op);
}

// v_mbcnt: d = b + number of set bits below this lane in the lower or, if kUpper, upper 32 bits of the mask.
template <bool kUpper>
void run_masked_bit_count(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<u32> ra, rb;
    const u32 *a = read_lanes(w, o.a, half, ra), *b = read_lanes(w, o.b, half, rb);
    write_words<u32>(w, o.to, half, [&](int i) {
      u32 below = half == int(kUpper) ? (1u << i) - 1 : half > int(kUpper) ? ~0u : 0;
      return u32(std::popcount(a[i] & below)) + b[i];
    });
  }
}

}  // namespace

void add_lane_rows(OpcodeTable& t) {
  add_row(t, "v_readfirstlane_b32", {.run_op = run_read_first_lane, .build_ops = build_read_first_lane});
  add_row(t, "v_readlane_b32", {.run_op = run_read_lane, .build_ops = build_read_lane});
  add_row(t, "v_writelane_b32", {.run_op = run_write_lane, .build_ops = build_write_lane});
  OpcodeRow count = vector_row<[](u32 a, u32 b) { return a + b; }>();
  count.run_op = run_masked_bit_count<false>;
  add_row(t, "v_mbcnt_lo_u32_b32", count);
  count.run_op = run_masked_bit_count<true>;
  add_row(t, "v_mbcnt_hi_u32_b32", count);
}

}  // namespace tgc::hip
