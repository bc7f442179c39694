// Instructions that move values between lanes and scalar registers; bit counts of masks.
#include "lib/emulate/hip/lanes.h"
#include "lib/emulate/hip/scalar_rows.h"

namespace tgc::hip {
namespace {

void read_first_run(Wave& w, const Op& o) {
  u32 lane = w.exec() ? u32(std::countr_zero(w.exec())) : 0;
  w.s[o.to] = w.lane(o.a.place, lane);
}
void read_lane_run(Wave& w, const Op& o) { w.s[o.to] = w.lane(o.a.place, w.s[o.b.place] & (w.halves * kLanes - 1)); }
void write_lane_run(Wave& w, const Op& o) { w.lane(o.to, w.s[o.b.place] & (w.halves * kLanes - 1)) = w.s[o.a.place]; }

// Starts an operation that runs once, independent of EXEC.
Op begin_scalar(Builder& b) {
  b.allow({});
  return b.begin(b.row->run, false);
}
void build_read_first(Builder& b) {
  Op op = begin_scalar(b);
  op.to = b.scalar_place(b.operand(0), 1);
  op.a = Source{.place = b.vector_place(b.operand(1), 1), .is_vector = true};
  b.emit(op);
}
void build_read_lane(Builder& b) {
  Op op = begin_scalar(b);
  op.to = b.scalar_place(b.operand(0), 1);
  op.a = Source{.place = b.vector_place(b.operand(1), 1), .is_vector = true};
  op.b = b.source(b.operand(2), Type::U32);
  if (op.b.is_vector) b.refuse("the lane is in a vector register");
  b.emit(op);
}
void build_write_lane(Builder& b) {
  Op op = begin_scalar(b);
  op.to = b.vector_place(b.operand(0), 1);
  op.a = b.source(b.operand(1), Type::U32), op.b = b.source(b.operand(2), Type::U32);
  if (op.a.is_vector || op.b.is_vector) b.refuse("an operand in a vector register");
  b.emit(op);
}

// v_mbcnt: d = b + number of set bits below this lane in the lower or, if kUpper, upper 32 bits of the mask.
template <bool kUpper>
void count_below_run(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.halves); half++) {
    Lanes<u32> ra, rb;
    const u32 *a = read(w, o.a, half, ra), *b = read(w, o.b, half, rb);
    write_words<u32>(w, o.to, half, [&](int i) {
      u32 below = half == int(kUpper) ? (1u << i) - 1 : half > int(kUpper) ? ~0u : 0;
      return u32(std::popcount(a[i] & below)) + b[i];
    });
  }
}

}  // namespace

void add_lane_rows(Table& t) {
  add_row(t, "v_readfirstlane_b32", {.run = read_first_run, .build = build_read_first});
  add_row(t, "v_readlane_b32", {.run = read_lane_run, .build = build_read_lane});
  add_row(t, "v_writelane_b32", {.run = write_lane_run, .build = build_write_lane});
  Row count = vector_row<[](u32 a, u32 b) { return a + b; }>();
  count.run = count_below_run<false>;
  add_row(t, "v_mbcnt_lo_u32_b32", count);
  count.run = count_below_run<true>;
  add_row(t, "v_mbcnt_hi_u32_b32", count);
}

}  // namespace tgc::hip
