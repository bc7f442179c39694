// Loops over a warp's lanes, written for auto-vectorization. On x86, files that include this are compiled for AVX2 and
// FMA.
#pragma once
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "lib/emulate/cuda/code.h"
#include "lib/emulate/loops.h"

namespace tgc::ptx {

// Sets d[i] = value(i) in the active lanes. Lanes without a thread may be overwritten.
template <class D, class F>
[[gnu::always_inline]] inline void write(Warp& w, uint32_t place, F value) {
  D* d = reg<D>(w, place);
  if (w.active == w.exists) {
    TGC_LANES d[i] = value(i);
    return;
  }
  alignas(64) D t[kLanes];
  TGC_LANES t[i] = value(i);
  uint32_t active = w.active;
  TGC_LANES d[i] = (active >> i & 1) ? t[i] : d[i];
}

// Sets bit i of predicate `place` to test(i) in the active lanes.
template <class F>
[[gnu::always_inline]] inline void write_pred(Warp& w, uint32_t place, F test) {
  uint32_t mask = 0;
  TGC_LANES mask |= uint32_t(test(i)) << i;
  uint32_t& d = *reg<uint32_t>(w, place);
  d = (d & ~w.active) | (mask & w.active);
}

template <class D, class F>
void unary(Warp& w, const Op& o) {
  const D* a = reg<D>(w, o.a);
  write<D>(w, o.d, [&](int i) { return D(F()(a[i])); });
}
template <class D, class F>
void binary(Warp& w, const Op& o) {
  const D *a = reg<D>(w, o.a), *b = reg<D>(w, o.b);
  write<D>(w, o.d, [&](int i) { return D(F()(a[i], b[i])); });
}
template <class D, class F>
void ternary(Warp& w, const Op& o) {
  const D *a = reg<D>(w, o.a), *b = reg<D>(w, o.b), *c = reg<D>(w, o.c);
  write<D>(w, o.d, [&](int i) { return D(F()(a[i], b[i], c[i])); });
}

// Runs kInner in the host's rounding mode kMode.
template <int kMode, Run kInner>
void rounded(Warp& w, const Op& o) {
  std::fesetround(kMode);
  kInner(w, o);
  std::fesetround(FE_TONEAREST);
}

template <class F>
inline void each_active(const Warp& w, F f) {
  for (uint32_t rest = w.active; rest; rest &= rest - 1) f(std::countr_zero(rest));
}

// Returns Make<T>::run(), where T is the C++ type with t's register width and signedness; null if t has none.
template <template <class> class Make>
Run for_integer(Type t) {
  switch (register_bits(t)) {
    case 16: return is_signed(t) ? Make<int16_t>::run() : Make<uint16_t>::run();
    case 32: return is_signed(t) ? Make<int32_t>::run() : Make<uint32_t>::run();
    case 64: return is_signed(t) ? Make<int64_t>::run() : Make<uint64_t>::run();
    default: return nullptr;
  }
}

}  // namespace tgc::ptx
