// Loops over a warp's lanes, for auto-vectorization. On x86, files that include this are compiled for AVX2 and FMA.
#pragma once
#include <bit>
#include <cfenv>
#include <cmath>

#include "lib/emulate/cuda/code.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {

// Sets lane i of the register at byte offset `place` to value(i), in the active lanes. Lanes without a thread may
// change.
template <class D, class F>
[[gnu::always_inline]] inline void write_lanes(Warp& w, uint32_t place, F value) {
  D* d = register_lanes<D>(w, place);
  if (w.active_lanes == w.occupied_lanes) {
    TGC_LANES d[i] = value(i);
    return;
  }
  alignas(64) D t[kNumLanes];
  TGC_LANES t[i] = value(i);
  uint32_t active = w.active_lanes;
  TGC_LANES d[i] = (active >> i & 1) ? t[i] : d[i];
}

template <class F>
[[gnu::always_inline]] inline void write_predicate(Warp& w, uint32_t place, F test) {
  uint32_t mask = 0;
  TGC_LANES mask |= uint32_t(test(i)) << i;
  uint32_t& d = *register_lanes<uint32_t>(w, place);
  d = (d & ~w.active_lanes) | (mask & w.active_lanes);
}

template <class D, class F>
void apply_unary(Warp& w, const Op& o) {
  const D* a = register_lanes<D>(w, o.a);
  write_lanes<D>(w, o.d, [&](int i) { return D(F()(a[i])); });
}
template <class D, class F>
void apply_binary(Warp& w, const Op& o) {
  const D *a = register_lanes<D>(w, o.a), *b = register_lanes<D>(w, o.b);
  write_lanes<D>(w, o.d, [&](int i) { return D(F()(a[i], b[i])); });
}
template <class D, class F>
void apply_ternary(Warp& w, const Op& o) {
  const D *a = register_lanes<D>(w, o.a), *b = register_lanes<D>(w, o.b), *c = register_lanes<D>(w, o.c);
  write_lanes<D>(w, o.d, [&](int i) { return D(F()(a[i], b[i], c[i])); });
}

// run_with_unsigned returns f(0), where 0 has the unsigned C++ type of `bits` bits. run_with_register returns f(0),
// where 0 has the C++ type of a register of integer type `t`. Both return null for other sizes than 16, 32 and 64 bits.
template <class F>
OpFunction run_with_unsigned(unsigned bits, F f) {
  switch (bits) {
    case 16: return f(uint16_t());
    case 32: return f(uint32_t());
    case 64: return f(uint64_t());
    default: return nullptr;
  }
}
template <class F>
OpFunction run_with_register(Type t, F f) {
  if (!is_signed(t)) return run_with_unsigned(register_bits(t), f);
  switch (register_bits(t)) {
    case 16: return f(int16_t());
    case 32: return f(int32_t());
    default: return f(int64_t());
  }
}

// NativeDecoder, HalfDecoder and BfloatDecoder read a value from a register of the C++ type Bits.
template <class T>
struct NativeDecoder {
  using Bits = T;
  static T decode_float(T x) { return x; }
};
struct HalfDecoder {
  using Bits = uint16_t;
  static float decode_float(uint16_t x) { return half_to_float(x); }
};
struct BfloatDecoder {
  using Bits = uint16_t;
  static float decode_float(uint16_t x) { return bf16_to_float(x); }
};

// Implements .ftz: replaces a subnormal number by a zero of the same sign.
inline float flush_subnormal(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// Runs kInner with the host's rounding mode kMode, such as FE_UPWARD.
template <int kMode, OpFunction kInner>
void run_with_rounding(Warp& w, const Op& o) {
  std::fesetround(kMode);
  kInner(w, o);
  std::fesetround(FE_TONEAREST);
}

template <class F>
inline void for_each_active_lane(const Warp& w, F f) {
  for (uint32_t rest = w.active_lanes; rest; rest &= rest - 1) f(std::countr_zero(rest));
}

}  // namespace tgc::ptx
