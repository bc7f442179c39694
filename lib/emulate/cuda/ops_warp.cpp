#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/driver.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {
namespace {

// Throws a KernelFault unless the membermask of each active lane contains that lane and no live lane that is inactive.
void check_member_mask(const Warp& w, const Op& o, const uint32_t* mask) {
  for_each_active_lane(w, [&](int i) {
    uint32_t missing = mask[i] & w.alive_lanes & ~w.active_lanes;
    if (missing || !(mask[i] >> i & 1))
      throw_fault(w, o, missing ? std::countr_zero(missing) : i, kLaunchFailed,
                  "does not take part with the lanes that its mask names");
  });
}

template <int kMode>
void shuffle(Warp& w, const Op& o) {
  const uint32_t* more = w.operands + o.more_operands;  // the registers of d, p, a, b, c and the mask
  check_member_mask(w, o, register_lanes<uint32_t>(w, more[5]));
  uint32_t a[kNumLanes], d[kNumLanes], valid = 0;
  std::memcpy(a, register_lanes<uint32_t>(w, more[2]), sizeof a);
  std::memcpy(d, register_lanes<uint32_t>(w, more[0]), sizeof d);
  const uint32_t *bs = register_lanes<uint32_t>(w, more[3]), *cs = register_lanes<uint32_t>(w, more[4]);
  for_each_active_lane(w, [&](int lane) {
    int b = int(bs[lane] & 31), c = int(cs[lane] & 31), segment = int(cs[lane] >> 8 & 31);
    int most = (lane & segment) | (c & ~segment), least = lane & segment;
    int from = kMode == 0 ? lane - b : kMode == 1 ? lane + b : kMode == 2 ? lane ^ b : least | (b & ~segment);
    bool ok = kMode == 0 ? from >= most : from <= most;
    if (!ok) from = lane;
    valid |= uint32_t(ok) << lane;
    d[lane] = a[from];
  });
  std::memcpy(register_lanes<uint32_t>(w, more[0]), d, sizeof d);
  uint32_t& p = *register_lanes<uint32_t>(w, more[1]);
  p = (p & ~w.active_lanes) | (valid & w.active_lanes);
}
void shfl(CodeBuilder& b) {
  if (!b.accept_modifier("sync")) b.throw_error("only shfl.sync is supported");
  int mode = b.accept_any_modifier({"up", "down", "bfly", "idx"});
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(5);
  if (mode < 0 || t != Type::B32)
    b.throw_error("its mode or type is not supported", ".up, .down, .bfly or .idx, then .b32");
  constexpr OpFunction kRuns[] = {shuffle<0>, shuffle<1>, shuffle<2>, shuffle<3>};
  uint32_t ins[] = {b.source_register(1, t), b.source_register(2, t), b.source_register(3, t), b.source_register(4, t)};
  Operand d = b.operand(0), p{.kind = Operand::Reg, .reg = d.second_register};
  uint32_t outs[] = {b.output_register(d, t),
                     d.second_register < 0 ? b.temporary_register(1) : b.output_register(p, Type::Pred)};
  b.code().is_lane_independent = false;
  b.emit_op({.run = kRuns[mode]}, outs, ins);
}

template <int kMode>
void vote(Warp& w, const Op& o) {
  const uint32_t* mask = register_lanes<uint32_t>(w, o.b);
  check_member_mask(w, o, mask);
  uint32_t p = *register_lanes<uint32_t>(w, o.a) ^ uint32_t(o.immediate), set = p & w.active_lanes;
  if (kMode == 3) return write_lanes<uint32_t>(w, o.d, [&](int) { return set; });
  bool result = kMode == 0 ? set == w.active_lanes : kMode == 1 ? set != 0 : set == 0 || set == w.active_lanes;
  uint32_t& d = *register_lanes<uint32_t>(w, o.d);
  d = result ? d | w.active_lanes : d & ~w.active_lanes;
}
void translate_vote(CodeBuilder& b) {
  if (!b.accept_modifier("sync")) b.throw_error("only vote.sync is supported");
  int mode = b.accept_any_modifier({"all", "any", "uni", "ballot"});
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(3);
  if (mode < 0 || t != (mode == 3 ? Type::B32 : Type::Pred)) b.throw_error("its mode or type is not supported");
  constexpr OpFunction kRuns[] = {vote<0>, vote<1>, vote<2>, vote<3>};
  Op op{.run = kRuns[mode],
        .a = b.source_register(1, Type::Pred),
        .b = b.source_register(2, Type::B32),
        .immediate = b.operand(1).is_negated ? int64_t(UINT32_MAX) : 0};
  op.d = b.output_register(0, t);
  b.code().is_lane_independent = false;
  b.emit_op(op);
}

void active_mask(Warp& w, const Op& o) {
  write_lanes<uint32_t>(w, o.d, [&](int) { return w.active_lanes; });
}
void translate_active_mask(CodeBuilder& b) {
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(1);
  b.code().is_lane_independent = false;
  b.emit_op({.run = active_mask, .d = b.output_register(0, t == Type::B32 ? t : Type::U32)});
}

template <class T, int kWhat>
void reduce(Warp& w, const Op& o) {
  check_member_mask(w, o, register_lanes<uint32_t>(w, o.b));
  const T* a = register_lanes<T>(w, o.a);
  T r = a[std::countr_zero(w.active_lanes)];
  bool first = true;
  for_each_active_lane(w, [&](int i) {
    if (std::exchange(first, false)) return;
    if (kWhat == 0) r = T(uint32_t(r) + uint32_t(a[i]));
    if (kWhat == 1) r = std::min(r, a[i]);
    if (kWhat == 2) r = std::max(r, a[i]);
    if (kWhat == 3) r &= a[i];
    if (kWhat == 4) r |= a[i];
    if (kWhat == 5) r ^= a[i];
  });
  write_lanes<T>(w, o.d, [&](int) { return r; });
}
void redux(CodeBuilder& b) {
  if (!b.accept_modifier("sync")) b.throw_error("only redux.sync is supported");
  int what = b.accept_any_modifier({"add", "min", "max", "and", "or", "xor"});
  Type t = b.expect_type();
  if (what < 0 || bits(t) != 32 || !is_integer(t)) b.throw_error("its operation or type is not supported");
  constexpr OpFunction kSigned[] = {reduce<int32_t, 0>, reduce<int32_t, 1>, reduce<int32_t, 2>,
                             reduce<int32_t, 3>, reduce<int32_t, 4>, reduce<int32_t, 5>};
  constexpr OpFunction kUnsigned[] = {reduce<uint32_t, 0>, reduce<uint32_t, 1>, reduce<uint32_t, 2>,
                               reduce<uint32_t, 3>, reduce<uint32_t, 4>, reduce<uint32_t, 5>};
  b.code().is_lane_independent = false;
  b.emit_value({.run = (is_signed(t) ? kSigned : kUnsigned)[what]}, t, {t, Type::B32});
}

constexpr OpcodeRow kRows[] = {
    {"shfl", shfl}, {"vote", translate_vote}, {"activemask", translate_active_mask}, {"redux", redux}};

}  // namespace

std::span<const OpcodeRow> warp_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
