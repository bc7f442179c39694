#include <algorithm>
#include <queue>

#include "lib/runtime/ref/builder.h"
#include "lib/support/result.h"

namespace tgc::ref {
namespace {

// Limits for a chunk, whose registers should stay in the second-level cache.
constexpr int64_t kRegisterBytes = 256 << 10;
constexpr int64_t kScratchBytes = 64 << 20;
constexpr int64_t kMostLanes = 2048;

bool begins_section(Opcode op) { return op == Opcode::Loop || op == Opcode::Lanes; }
bool ends_section(Opcode op) { return op == Opcode::LoopEnd || op == Opcode::LanesEnd; }
// A stretch is straight-line code in which one register may be replaced by another.
bool ends_straight_code(Opcode op) {
  return begins_section(op) || ends_section(op) || op == Opcode::Wmma || op == Opcode::Fold;
}

}  // namespace

template <class Visit>
void RefBuilder::for_each_register(const VirtualOp& v, Visit visit) const {
  for (Reg r : {v.a, v.b, v.c, v.destination})
    if (r != kNoRegister) visit(r);
  if (v.op == Opcode::Wmma) {
    const WmmaOperands& w = ref_code_.wmmas[size_t(v.immediate)];
    for (auto* list : {&w.a, &w.b, &w.c, &w.d})
      for (Reg r : *list) visit(r);
  }
  if (v.op == Opcode::LanesEnd)  // errors of accesses in the lanes read the axes' registers
    for (const MemoryAccess::LaneAxis& axis : lane_axes_[size_t(v.immediate)]) visit(axis.stride), visit(axis.extent);
}

// Removes copies within a stretch. Uses of a copy become uses of the copied accumulator if that keeps its value until
// the last one; a value that is only copied is computed in the copy's destination.
void RefBuilder::remove_copies() {
  CopyRemoval copies{std::vector<uint32_t>(virtual_registers_.size()), std::vector<bool>(instructions_.size()),
                     std::vector<CopyRemoval::CopyUse>(virtual_registers_.size()),
                     std::vector<Reg>(virtual_registers_.size(), kNoRegister)};
  for (const VirtualOp& v : instructions_) for_each_register(v, [&](Reg r) { copies.use_counts[size_t(r)]++; });
  for (size_t from = 0; from < instructions_.size();) {
    size_t to = from;
    while (to < instructions_.size() && !ends_straight_code(instructions_[to].op)) to++;
    replace_accumulator_copies(copies, from, to);
    from = to + 1;
  }
  for (size_t at = 1; at < instructions_.size(); at++)
    if (!copies.is_removed[at]) assign_in_place(copies, at);
  size_t kept = 0;
  for (size_t at = 0; at < instructions_.size(); at++)
    if (!copies.is_removed[at]) instructions_[kept++] = instructions_[at];
  instructions_.resize(kept);
}

bool RefBuilder::is_plain_copy(const VirtualOp& v) const {
  return v.op == Opcode::Mov && is_varying(v.destination) == is_varying(v.a) &&
         type(v.destination) == type(v.a);
}

// Replaces uses of copies by the copied accumulators in the stretch [from, to).
void RefBuilder::replace_accumulator_copies(CopyRemoval& copies, size_t from, size_t to) {
  auto& seen = copies.copy_uses;
  // backwards, to find each copy's last use and the next write to the accumulator that it copies
  for (size_t at = to; at-- > from;) {
    const VirtualOp& v = instructions_[at];
    auto use = [&](Reg r, int32_t last) {
      CopyRemoval::CopyUse& s = seen[size_t(r)];
      s.last_use = std::max(s.last_use, last), s.count++;
    };
    if (is_plain_copy(v)) {
      const CopyRemoval::CopyUse& d = seen[size_t(v.destination)];
      if (d.count > 0 && d.count + 1 == int32_t(copies.use_counts[size_t(v.destination)]) &&
          d.last_use <= seen[size_t(v.a)].next_write) {
        copies.replacements[size_t(v.destination)] = v.a;
        copies.is_removed[at] = true;
        use(v.a, d.last_use);
        continue;
      }
    }
    for (Reg r : {v.a, v.b, v.c})
      if (r != kNoRegister) use(r, int32_t(at));
    if (v.destination != kNoRegister) seen[size_t(v.destination)].next_write = int32_t(at);
  }
  for (size_t at = from; at < to; at++) {
    VirtualOp& v = instructions_[at];
    for (Reg r : {v.a, v.b, v.c, v.destination})
      if (r != kNoRegister) seen[size_t(r)] = {};
    for (Reg* r : {&v.a, &v.b, &v.c})
      while (*r != kNoRegister && copies.replacements[size_t(*r)] != kNoRegister) *r = copies.replacements[size_t(*r)];
  }
}

// If instruction `at` copies a value that was computed shortly before, in the same stretch, and that nothing else uses,
// computes the value in the copy's destination, unless an instruction between them uses the destination.
void RefBuilder::assign_in_place(CopyRemoval& copies, size_t at) {
  const VirtualOp& v = instructions_[at];
  if (!is_plain_copy(v) || copies.use_counts[size_t(v.a)] != 2) return;
  for (size_t before = at; before-- > 0 && at - before < 64;) {
    if (copies.is_removed[before]) continue;
    VirtualOp& maker = instructions_[before];
    if (ends_straight_code(maker.op)) return;
    if (maker.destination == v.a) {
      maker.destination = v.destination;
      copies.is_removed[at] = true;
      return;
    }
    if (maker.destination == v.destination || maker.a == v.destination || maker.b == v.destination ||
        maker.c == v.destination)
      return;
  }
}

// A register that is set before a loop or a Lanes section and used in it is needed until the section ends.
void RefBuilder::find_lifetimes() {
  std::vector<int32_t> end_of(instructions_.size(), -1), open;
  for (size_t at = 0; at < instructions_.size(); at++) {
    if (begins_section(instructions_[at].op)) open.push_back(int32_t(at));
    if (ends_section(instructions_[at].op)) end_of[size_t(open.back())] = int32_t(at), open.pop_back();
  }
  for (size_t at = 0; at < instructions_.size(); at++) {
    for_each_register(instructions_[at], [&](Reg reg) {
      VirtualRegister& r = virtual_registers_[size_t(reg)];
      if (r.first_use < 0) r.first_use = int32_t(at);
      r.last_use = std::max(r.last_use, int32_t(at));
      for (int32_t begin : open)
        if (r.first_use < begin) {
          r.last_use = std::max(r.last_use, end_of[size_t(begin)]);
          break;
        }
    });
    if (begins_section(instructions_[at].op)) open.push_back(int32_t(at));
    if (ends_section(instructions_[at].op)) open.pop_back();
  }
}

void RefBuilder::assign_slots() {
  struct BusySlot {
    int32_t last_use;
    uint32_t slot;
    bool operator<(const BusySlot& other) const { return last_use > other.last_use; }
  };
  std::priority_queue<BusySlot> busy[5];
  std::vector<uint32_t> free[5];
  auto class_of = [&](const VirtualRegister& r) {
    return r.is_varying ? 1 + __builtin_ctz(unsigned(size_of_type(r.type))) : 0;
  };
  auto take = [&](VirtualRegister& r, int32_t at, bool operands_stay) {
    int c = class_of(r);
    while (!busy[c].empty() && (operands_stay ? busy[c].top().last_use < at : busy[c].top().last_use <= at)) {
      free[c].push_back(busy[c].top().slot);
      busy[c].pop();
    }
    uint32_t slot = free[c].empty() ? slot_counts_[c]++ : free[c].back();
    if (!free[c].empty()) free[c].pop_back();
    r.slot = int32_t(slot);
    busy[c].push({r.last_use, slot});
  };
  // constants and variables keep their slots for the whole run
  for (VirtualRegister& r : virtual_registers_)
    if (r.is_constant) r.slot = int32_t(slot_counts_[0]++);
  for (auto& [name, reg] : variables_) virtual_registers_[size_t(reg)].slot = int32_t(slot_counts_[0]++);
  for (size_t at = 0; at < instructions_.size(); at++)
    for_each_register(instructions_[at], [&](Reg reg) {
      VirtualRegister& r = virtual_registers_[size_t(reg)];
      // Wmma and Loop write results before they have read all operands, so results need slots of their own
      if (r.slot < 0)
        take(r, int32_t(at), instructions_[at].op == Opcode::Wmma || instructions_[at].op == Opcode::Loop);
    });
}

void RefBuilder::choose_chunk_size() {
  int64_t per_lane = 0, scratch = 0;
  for (int c = 1; c < 5; c++) per_lane += int64_t(slot_counts_[c]) << (c - 1);
  for (const MemoryInfo& m : ref_code_.memories)
    if (m.lane_group_size > 0)
      scratch += (m.size * dtypes::of(m.scalar).itemsize() + m.lane_group_size - 1) / m.lane_group_size;
  int64_t chunk = kMostLanes;
  if (per_lane) chunk = std::min(chunk, kRegisterBytes / per_lane);
  if (scratch) chunk = std::min(chunk, kScratchBytes / scratch);
  chunk = std::min(std::max<int64_t>(chunk, 64), max_lanes_);
  ref_code_.num_chunk_lanes = std::max((chunk + 15) / 16 * 16, largest_lane_group_);
  ref_code_.register_bytes =
      size_t((int64_t(slot_counts_[0]) * 8 + 63) / 64 * 64 + per_lane * ref_code_.num_chunk_lanes + 64);
}

int32_t RefBuilder::register_offset(Reg reg) const {
  if (reg == kNoRegister) return -1;
  const VirtualRegister& r = virtual_registers_[size_t(reg)];
  TGC_CHECK(r.slot >= 0, "a register without a place");
  if (!r.is_varying) return r.slot * 8;
  int64_t at = (int64_t(slot_counts_[0]) * 8 + 63) / 64 * 64;
  int size = size_of_type(r.type), c = 1 + __builtin_ctz(unsigned(size));
  // the widest registers come first, so that all are aligned
  for (int wider = 4; wider > c; wider--)
    at += (int64_t(slot_counts_[wider]) << (wider - 1)) * ref_code_.num_chunk_lanes;
  at += int64_t(r.slot) * size * ref_code_.num_chunk_lanes;
  if (at >= INT32_MAX) throw UnsupportedOperation("too many registers");
  return int32_t(at);
}

bool RefBuilder::is_varying(const VirtualOp& v) const {
  if (v.op == Opcode::Store || v.op == Opcode::Check) return is_varying(v.a);
  return v.destination != kNoRegister && is_varying(v.destination);
}

FunctionSelector RefBuilder::selector_of(const VirtualOp& v) const {
  auto is = [&](Reg r) { return r != kNoRegister && is_varying(r); };
  return {.op = v.op, .type = v.type, .type2 = v.type2, .is_varying = is_varying(v), .has_varying_a = is(v.a),
          .has_varying_b = is(v.b), .has_gate = v.b != kNoRegister, .rounding = v.rounding};
}

void RefBuilder::write_instructions() {
  std::vector<size_t> open;
  for (const VirtualOp& v : instructions_) {
    RefInstruction ins{find_function(selector_of(v)),
                       register_offset(v.destination),
                       register_offset(v.a),
                       register_offset(v.b),
                       register_offset(v.c),
                       v.immediate};
    if (ins.function == nullptr) throw UnsupportedOperation("REF has no instruction for an op of these dtypes");
    if (v.op == Opcode::Lanes || v.op == Opcode::LanesEnd) ins.b = v.operand_number;
    if (v.op == Opcode::GroupBase || v.op == Opcode::Count) ins.a = v.operand_number;
    if (begins_section(v.op)) open.push_back(ref_code_.instructions.size());
    if (ends_section(v.op)) {
      ref_code_.instructions[open.back()].immediate = int64_t(ref_code_.instructions.size()) + 1;
      ins.immediate = int64_t(open.back()) + 1;
      open.pop_back();
    }
    ref_code_.instructions.push_back(ins);
  }
}

RefCode RefBuilder::finish_kernel_code() {
  TGC_CHECK(code_scopes_.size() == 1, "a scope was not closed");
  CodeScope& root = code_scopes_.back();
  if (root.num_evaluations) root.code.push_back({.op = Opcode::Count, .immediate = root.num_evaluations});
  instructions_ = std::move(root.code);
  instructions_.push_back({.op = Opcode::Halt});
  remove_copies();
  find_lifetimes();
  assign_slots();
  choose_chunk_size();
  write_instructions();
  for (WmmaOperands& w : ref_code_.wmmas)
    for (auto* registers : {&w.a, &w.b, &w.c, &w.d})
      for (int32_t& r : *registers) r = register_offset(r);
  for (MemoryAccess& a : ref_code_.accesses) {
    for (auto& range : a.ranges) range.second = register_offset(range.second);
    for (MemoryAccess::LaneAxis& axis : a.axes)
      axis.stride = register_offset(axis.stride), axis.extent = register_offset(axis.extent);
  }
  for (const VirtualRegister& r : virtual_registers_)
    if (r.is_constant) ref_code_.constants.push_back({r.slot * 8, r.bits});
  for (auto& [name, reg] : variables_) ref_code_.variables.push_back({virtual_registers_[size_t(reg)].slot * 8, name});
  return std::move(ref_code_);
}

}  // namespace tgc::ref
