// atom and red: each lane in turn, atomically towards the host's other threads.
#include <atomic>

#include "lib/emulate/cuda/access.h"
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {
namespace {

enum What : uint8_t { Add, MinOf, MaxOf, And, Or, Xor, Exch, Cas, Inc, Dec };

// T: as it is computed with. U: its bits.
template <class T, What kWhat>
T result(T old, T b, T c) {
  if constexpr (kWhat == MinOf) return b < old ? b : old;
  if constexpr (kWhat == MaxOf) return old < b ? b : old;
  if constexpr (kWhat == Exch) return b;
  if constexpr (kWhat == Cas) return old == b ? c : old;
  if constexpr (std::is_integral_v<T>) {
    if constexpr (kWhat == Add) return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
    if constexpr (kWhat == And) return old & b;
    if constexpr (kWhat == Or) return old | b;
    if constexpr (kWhat == Xor) return old ^ b;
    if constexpr (kWhat == Inc) return old >= b ? T(0) : T(old + 1);
    if constexpr (kWhat == Dec) return old == 0 || old > b ? b : T(old - 1);
  } else if constexpr (kWhat == Add) {
    return old + b;
  }
  return old;
}
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

struct Half {
  uint16_t bits;
  friend Half operator+(Half a, Half b) { return {float_to_half(half_to_float(a.bits) + half_to_float(b.bits))}; }
  friend bool operator<(Half a, Half b) { return half_to_float(a.bits) < half_to_float(b.bits); }
  friend bool operator==(Half a, Half b) { return a.bits == b.bits; }
};
struct HalfPair {
  uint32_t bits;
  friend HalfPair operator+(HalfPair a, HalfPair b) {
    Half low = Half{uint16_t(a.bits)} + Half{uint16_t(b.bits)},
         high = Half{uint16_t(a.bits >> 16)} + Half{uint16_t(b.bits >> 16)};
    return {uint32_t(low.bits) | uint32_t(high.bits) << 16};
  }
  friend bool operator<(HalfPair, HalfPair) { return false; }
  friend bool operator==(HalfPair a, HalfPair b) { return a.bits == b.bits; }
};

template <class T, What kWhat, Space kSpace>
void atomic(Warp& w, const Op& o) {
  using U = BitsOf<T>;
  Addresses at;
  if (!find_addresses<kSpace>(w, o, sizeof(T), Access::Atomic, at, atomic<T, kWhat, kSpace>)) return;
  alignas(64) U b[kLanes], c[kLanes];
  std::memcpy(b, reg<U>(w, o.b), sizeof b);
  std::memcpy(c, reg<U>(w, o.c), sizeof c);
  U* d = o.count ? reg<U>(w, o.d) : nullptr;
  each_active(w, [&](int i) {
    std::atomic_ref<U> cell(*reinterpret_cast<U*>(at.host[i]));
    U old = cell.load(), now;
    do now = std::bit_cast<U>(result<T, kWhat>(std::bit_cast<T>(old), std::bit_cast<T>(b[i]), std::bit_cast<T>(c[i])));
    while (!cell.compare_exchange_weak(old, now));
    if (d) d[i] = old;
  });
}

template <class T, What kWhat>
Run in_space(Space s) {
  return s == Space::Global    ? atomic<T, kWhat, Space::Global>
         : s == Space::Shared  ? atomic<T, kWhat, Space::Shared>
         : s == Space::Generic ? atomic<T, kWhat, Space::Generic>
                               : nullptr;
}
template <What kWhat>
Run of_type(Type t, Space s) {
  constexpr bool kBits = kWhat >= And && kWhat <= Cas, kSum = kWhat == Add, kOrder = kWhat == MinOf || kWhat == MaxOf;
  constexpr bool kCount = kWhat == Inc || kWhat == Dec;
  if constexpr (kBits) {
    if (kWhat == Cas && t == Type::B16) return in_space<uint16_t, kWhat>(s);
    return t == Type::B32 ? in_space<uint32_t, kWhat>(s) : t == Type::B64 ? in_space<uint64_t, kWhat>(s) : nullptr;
  }
  if constexpr (kCount) return t == Type::U32 ? in_space<uint32_t, kWhat>(s) : nullptr;
  if constexpr (kSum || kOrder) {
    if (t == Type::U32) return in_space<uint32_t, kWhat>(s);
    if (t == Type::S32) return in_space<int32_t, kWhat>(s);
    if (t == Type::U64) return in_space<uint64_t, kWhat>(s);
    if (t == Type::S64) return in_space<int64_t, kWhat>(s);
  }
  if constexpr (kSum) {
    if (t == Type::F32) return in_space<float, kWhat>(s);
    if (t == Type::F64) return in_space<double, kWhat>(s);
    if (t == Type::F16) return in_space<Half, kWhat>(s);
    if (t == Type::F16x2) return in_space<HalfPair, kWhat>(s);
  }
  return nullptr;
}
Run find_run(int what, Type t, Space s) {
  switch (what) {
    case Add: return of_type<Add>(t, s);
    case MinOf: return of_type<MinOf>(t, s);
    case MaxOf: return of_type<MaxOf>(t, s);
    case And: return of_type<And>(t, s);
    case Or: return of_type<Or>(t, s);
    case Xor: return of_type<Xor>(t, s);
    case Exch: return of_type<Exch>(t, s);
    case Cas: return of_type<Cas>(t, s);
    case Inc: return of_type<Inc>(t, s);
    case Dec: return of_type<Dec>(t, s);
    default: return nullptr;
  }
}

void take_order(Builder& b) {
  while (b.take_one_of({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"}) >= 0) {}
}

void translate(Builder& b, bool gives) {
  take_order(b);
  Space space = take_space(b);
  take_order(b);
  int what = b.take_one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  b.take("noftz");
  Type t = b.type();
  b.no_more();
  Run run = find_run(what, t, space);
  if (!run || (!gives && (what == Exch || what == Cas))) b.fail("its operation, space or type is not supported");
  size_t first = gives ? 1 : 0;
  b.need_operands(first + (what == Cas ? 3 : 2));
  Op op{.run = run, .count = uint32_t(gives)};
  take_address(b, b.operand(first), space, op);
  op.b = b.source(first + 1, t);
  op.c = what == Cas ? b.source(first + 2, t) : op.b;
  if (gives) op.d = b.destination(0, t);
  b.emit(op);
}

constexpr Row kRows[] = {{"atom", [](Builder& b) { translate(b, true); }},
                         {"red", [](Builder& b) { translate(b, false); }}};

}  // namespace

std::span<const Row> atomic_rows() { return kRows; }

}  // namespace tgc::ptx
