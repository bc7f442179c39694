// Makes opcode table rows of scalar instructions from C++ functions of the wave and the operands. A bool result is
// written to SCC.
#pragma once
#include <cmath>

#include "lib/emulate/hip/builder.h"
#include "lib/emulate/numbers.h"

namespace tgc::hip {

template <class T>
inline T read_scalar(const Wave& w, const SourceOperand& from) {
  const uint32_t* at = w.scalar_registers + from.register_index;
  if constexpr (std::is_same_v<T, HalfFloat> || std::is_same_v<T, float>) {
    float value = std::is_same_v<T, HalfFloat> ? half_to_float(uint16_t(*at)) : std::bit_cast<float>(*at);
    if (from.is_absolute) value = std::fabs(value);
    return from.is_negative ? -value : value;
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(uint64_t(at[0]) | uint64_t(at[1]) << 32);
  } else {
    return std::bit_cast<T>(*at);
  }
}
template <class T>
inline void write_scalar(Wave& w, uint32_t register_index, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    w.scalar_registers[kScc] = value;
  } else if constexpr (std::is_same_v<T, HalfFloat>) {
    w.scalar_registers[register_index] = float_to_half(value);
  } else if constexpr (sizeof(T) == 8) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    w.scalar_registers[register_index] = uint32_t(bits), w.scalar_registers[register_index + 1] = uint32_t(bits >> 32);
  } else {
    w.scalar_registers[register_index] = std::bit_cast<uint32_t>(value);
  }
}

template <auto F, class L, class R, class... A>
constexpr OpcodeRow scalar_row_of_lambda(R (L::*)(Wave&, A...) const) {
  OpcodeRow r{.run_op = [](Wave& w, const Op& o) {
    const SourceOperand* from[] = {&o.a, &o.b, &o.c};
    auto call = [&]<size_t... I>(std::index_sequence<I...>) { return F(w, read_scalar<A>(w, *from[I])...); };
    if constexpr (std::is_void_v<R>) call(std::index_sequence_for<A...>());
    else write_scalar(w, o.to, call(std::index_sequence_for<A...>()));
  }};
  r.to = std::is_same_v<R, bool> ? Type::Scc : type_of<R>();
  r.count = sizeof...(A);
  Type types[] = {type_of<A>()..., Type::None};
  for (size_t n = 0; n < sizeof...(A); n++) r.from[n] = types[n];
  return r;
}
template <auto F>
constexpr OpcodeRow scalar_row() {
  return scalar_row_of_lambda<F>(&decltype(F)::operator());
}

// Like scalar_row, for instructions whose destination is also the first source operand and is printed once.
template <auto F>
constexpr OpcodeRow read_modify_write_row() {
  OpcodeRow row = scalar_row<F>();
  row.build_ops = [](CodeBuilder& b) {
    b.allow_modifiers({});
    Op op = b.make_op(b.row->run_op, false);
    op.to = b.scalar_register(b.operand(0), num_words_of_type(b.row->to));
    SourceOperand* from[] = {&op.a, &op.b, &op.c};
    for (size_t n = 0; n < b.row->count; n++) {
      *from[n] = b.source_operand(b.operand(n), b.row->from[n]);
      if (from[n]->is_vector) b.throw_error("a vector register in a scalar instruction");
    }
    b.emit_op(op);
  };
  return row;
}

}  // namespace tgc::hip
