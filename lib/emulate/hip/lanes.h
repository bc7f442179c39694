// Reads and writes operands as arrays of 32 lanes, and makes opcode table rows from C++ functions of one lane. The
// loops are written for auto-vectorization.
#pragma once
#include <cmath>
#include <cstring>
#include <tuple>

#include "lib/emulate/hip/builder.h"
#include "lib/emulate/numbers.h"

namespace tgc::hip {

template <class T>
struct LaneArray {
  alignas(64) T lanes[kNumLanes];
  LaneArray() {}
};

// Reads an operand for which SourceOperand::is_unmodified() is false: extends its part to 32 bits, converts half to
// float if SourceOperand::is_half, and applies absolute value and negation. `sign` is the sign bit of the value's type.
void read_modified_operand(const Wave& w, const SourceOperand& from, int half, uint32_t sign, LaneArray<uint32_t>& to);

// Returns 32 lanes of register number `which` of the operand. A scalar register is copied to all lanes of `room`.
inline const uint32_t* operand_lanes(const Wave& w, const SourceOperand& from, int half, uint32_t which,
                                     LaneArray<uint32_t>& room) {
  if (from.is_vector) return w.vector(from.register_index + which, uint32_t(half));
  uint32_t value = w.scalar_registers[from.register_index + which];
  TGC_LANES room.lanes[i] = value;
  return room.lanes;
}

// read_words(), read_converted_lanes() and write_converted_lanes() are not inlined, because each of some thousand
// operations would contain a copy.

[[gnu::noinline]] inline void read_words(const Wave& w, const SourceOperand& from, int half, LaneArray<uint32_t>& to) {
  if (!from.is_unmodified()) return read_modified_operand(w, from, half, 0x80000000u, to);
  uint32_t value = w.scalar_registers[from.register_index];
  TGC_LANES to.lanes[i] = value;
}
template <class T>
[[gnu::noinline]] void read_converted_lanes(const Wave& w, const SourceOperand& from, int half, LaneArray<T>& to) {
  if constexpr (sizeof(T) == 8) {
    LaneArray<uint32_t> low_room, high_room;
    const uint32_t *low = operand_lanes(w, from, half, 0, low_room), *high = operand_lanes(w, from, half, 1, high_room);
    TGC_LANES to.lanes[i] = std::bit_cast<T>(uint64_t(low[i]) | uint64_t(high[i]) << 32);
    if constexpr (std::is_same_v<T, double>) {
      if (from.is_absolute) TGC_LANES to.lanes[i] = std::fabs(to.lanes[i]);
      if (from.is_negative) TGC_LANES to.lanes[i] = -to.lanes[i];
    }
  } else {
    LaneArray<uint32_t> word_room;
    const uint32_t* word;
    if (from.is_unmodified()) word = operand_lanes(w, from, half, 0, word_room);
    else read_modified_operand(w, from, half, 0x8000, word_room), word = word_room.lanes;
    if constexpr (std::is_same_v<T, HalfFloat>) TGC_LANES to.lanes[i] = HalfFloat(half_to_float(uint16_t(word[i])));
    else TGC_LANES to.lanes[i] = T(word[i]);
  }
}
template <class T>
[[gnu::always_inline]] inline const T* read_lanes(const Wave& w, const SourceOperand& from, int half,
                                                  LaneArray<T>& room) {
  if constexpr (sizeof(T) == 4 && !std::is_same_v<T, HalfFloat>) {
    if (from.is_unmodified() && from.is_vector)
      return reinterpret_cast<const T*>(w.vector(from.register_index, uint32_t(half)));
    read_words(w, from, half, reinterpret_cast<LaneArray<uint32_t>&>(room));
  } else {
    read_converted_lanes(w, from, half, room);
  }
  return room.lanes;
}

// A wave of 64 writes both halves together after the second one is computed, because the destination may overlap the
// operands.
inline void write_mask(Wave& w, uint32_t register_index, int half, uint32_t mask) {
  w.mask[half] = mask;
  if (half + 1 == int(w.num_halves))
    std::memcpy(w.scalar_registers + register_index, w.mask, sizeof(uint32_t) * w.num_halves);
}

// Sets lane i of the register `register_index` to value(i), in the active lanes only.
template <class T, class F>
[[gnu::always_inline]] inline void write_words(Wave& w, uint32_t register_index, int half, F value) {
  T* d = reinterpret_cast<T*>(w.vector(register_index, uint32_t(half)));
  uint32_t active = w.exec(uint32_t(half));
  if (active == UINT32_MAX) {
    TGC_LANES d[i] = value(i);
    return;
  }
  LaneArray<T> t;
  TGC_LANES t.lanes[i] = value(i);
  TGC_LANES d[i] = active >> i & 1 ? t.lanes[i] : d[i];
}

// Applies clamp, mul:2, mul:4 or div:2 to a result.
template <class T>
inline T apply_output_modifiers(const Op& o, T x) {
  float v = std::ldexp(float(x), o.scale_exponent);
  if constexpr (std::is_same_v<T, double>) {
    double d = std::ldexp(x, o.scale_exponent);
    return o.clamps_result ? (d > 0 ? (d < 1 ? d : 1.0) : 0.0) : d;
  }
  return T(o.clamps_result ? (v > 0 ? (v < 1 ? v : 1.0f) : 0.0f) : v);
}

inline void write_16_bits(Wave& w, const Op& o, int half, const LaneArray<uint32_t>& bits) {
  const uint32_t* before = w.vector(o.to, uint32_t(half));
  if (o.result_part == RegisterPart::Word1)
    write_words<uint32_t>(w, o.to, half, [&](int i) { return (before[i] & 0xffff) | bits.lanes[i] << 16; });
  else if (o.result_part == RegisterPart::Word0)
    write_words<uint32_t>(w, o.to, half, [&](int i) { return (before[i] & 0xffff0000) | bits.lanes[i]; });
  else write_words<uint32_t>(w, o.to, half, [&](int i) { return bits.lanes[i]; });
}

template <class T>
[[gnu::noinline]] void write_converted_lanes(Wave& w, const Op& o, int half, const LaneArray<T>& t) {
  bool has_modifiers = std::is_floating_point_v<T> && (o.clamps_result || o.scale_exponent);
  if constexpr (sizeof(T) == 8) {
    LaneArray<uint64_t> bits;
    TGC_LANES bits.lanes[i] = std::bit_cast<uint64_t>(t.lanes[i]);
    if constexpr (std::is_same_v<T, double>)
      if (has_modifiers)
        for (int i = 0; i < kNumLanes; i++)
          bits.lanes[i] = std::bit_cast<uint64_t>(apply_output_modifiers(o, t.lanes[i]));
    write_words<uint32_t>(w, o.to, half, [&](int i) { return uint32_t(bits.lanes[i]); });
    write_words<uint32_t>(w, o.to + 1, half, [&](int i) { return uint32_t(bits.lanes[i] >> 32); });
  } else {
    LaneArray<uint32_t> bits;
    if constexpr (std::is_same_v<T, float>) {
      if (has_modifiers)
        for (int i = 0; i < kNumLanes; i++) bits.lanes[i] = float_to_half(apply_output_modifiers(o, t.lanes[i]));
      else TGC_LANES bits.lanes[i] = float_to_half(t.lanes[i]);
    } else {
      TGC_LANES bits.lanes[i] = uint16_t(t.lanes[i]);
    }
    write_16_bits(w, o, half, bits);
  }
}

template <class T, class F>
[[gnu::always_inline]] inline void write_result(Wave& w, const Op& o, int half, F value) {
  if constexpr (std::is_same_v<T, bool>) {  // in a lane mask, inactive lanes get 0
    uint32_t mask = 0;
    TGC_LANES mask |= uint32_t(value(i)) << i;
    write_mask(w, o.to, half, mask & w.exec(uint32_t(half)));
  } else if constexpr (sizeof(T) != 4 || std::is_same_v<T, HalfFloat>) {
    LaneArray<std::conditional_t<std::is_same_v<T, HalfFloat>, float, T>> t;
    TGC_LANES t.lanes[i] = value(i);
    write_converted_lanes(w, o, half, t);
  } else {
    if constexpr (std::is_same_v<T, float>)
      if (o.clamps_result || o.scale_exponent) {
        LaneArray<float> t;
        TGC_LANES t.lanes[i] = value(i);
        for (float& x : t.lanes) x = apply_output_modifiers(o, x);
        return write_words<float>(w, o.to, half, [&](int i) { return t.lanes[i]; });
      }
    write_words<T>(w, o.to, half, value);
  }
}

template <class T>
struct LambdaSignature;
template <class L, class R, class... A>
struct LambdaSignature<R (L::*)(A...) const> {
  static constexpr OpcodeRow row(OpFunction run, bool is_vector) {
    OpcodeRow r{.run_op = run, .to = type_of<R>(), .count = sizeof...(A), .is_vector = is_vector};
    Type types[] = {type_of<A>()..., Type::None};
    for (size_t n = 0; n < sizeof...(A); n++) r.from[n] = types[n];
    return r;
  }
};
template <auto F>
using SignatureOf = LambdaSignature<decltype(&decltype(F)::operator())>;

// Computes F, a function of one lane with result R and parameters A, on the operands a, b and c.
template <auto F, class R, class... A>
void run_vector_op(Wave& w, const Op& o) {
  const SourceOperand* from[] = {&o.a, &o.b, &o.c};
  for (int half = 0; half < int(w.num_halves); half++) {
    std::tuple<LaneArray<A>...> rooms;
    auto compute = [&](const A*... lanes) { write_result<R>(w, o, half, [&](int i) { return F(lanes[i]...); }); };
    [&]<size_t... I>(std::index_sequence<I...>) {
      compute(read_lanes(w, *from[I], half, std::get<I>(rooms))...);
    }(std::index_sequence_for<A...>());
  }
}
template <auto F, class L, class R, class... A>
constexpr OpcodeRow vector_row_of_lambda(R (L::*)(A...) const) {
  return SignatureOf<F>::row(run_vector_op<F, R, A...>, true);
}
// Makes the row of a vector instruction from F, a function of one lane, whose parameter types are the operand types.
template <auto F>
constexpr OpcodeRow vector_row() {
  return vector_row_of_lambda<F>(&decltype(F)::operator());
}

}  // namespace tgc::hip
