#include <algorithm>
#include <cstring>

#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {

namespace {

using OpMov = decltype([](auto a, UndefinedOpCounts&) { return a; });
using OpNegInt = decltype([]<class T>(T a, UndefinedOpCounts&) { return wrapping_sub(T(0), a); });
using OpNeg = decltype([](auto a, UndefinedOpCounts&) { return -a; });
using OpRecip = decltype([]<class T>(T a, UndefinedOpCounts&) { return T(1) / a; });
using OpTrunc = decltype([](auto a, UndefinedOpCounts&) { return std::trunc(a); });
// exp2, sin and log2 are computed in double
using OpExp2 = decltype([]<class T>(T a, UndefinedOpCounts&) { return T(std::exp2(double(a))); });
using OpSin = decltype([]<class T>(T a, UndefinedOpCounts&) { return T(std::sin(double(a))); });
using OpRoundF16 = decltype([](auto a, UndefinedOpCounts&) { return round_f16(a); });
using OpRoundBF16 = decltype([](auto a, UndefinedOpCounts&) { return round_bf16(a); });
using OpRoundE4M3 = decltype([](auto a, UndefinedOpCounts&) { return round_fp8<Scalar::FP8E4M3>(a); });
using OpRoundE5M2 = decltype([](auto a, UndefinedOpCounts&) { return round_fp8<Scalar::FP8E5M2>(a); });
using OpF64ToF16 = decltype([](auto a, UndefinedOpCounts&) { return half_of_bits(float_to_half_bits(a)); });
using OpBitsOfF16 = decltype([](auto a, UndefinedOpCounts&) { return bits_of_half(a); });
using OpBitsOfBF16 = decltype([](auto a, UndefinedOpCounts&) { return bits_of_bf16(a); });
using OpBitsOfE4M3 = decltype([](auto a, UndefinedOpCounts&) { return bits_of_fp8<Scalar::FP8E4M3>(a); });
using OpBitsOfE5M2 = decltype([](auto a, UndefinedOpCounts&) { return bits_of_fp8<Scalar::FP8E5M2>(a); });
using OpF16OfBits = decltype([](auto a, UndefinedOpCounts&) { return half_of_bits(a); });
using OpBF16OfBits = decltype([](auto a, UndefinedOpCounts&) { return bf16_of_bits(a); });
using OpE4M3OfBits = decltype([](auto a, UndefinedOpCounts&) { return fp8_of_bits<Scalar::FP8E4M3>(a); });
using OpE5M2OfBits = decltype([](auto a, UndefinedOpCounts&) { return fp8_of_bits<Scalar::FP8E5M2>(a); });

using OpSqrt = decltype([](auto a, UndefinedOpCounts& notes) {
  notes.num_domain_errors += a < 0;
  return std::sqrt(a);
});
using OpLog2 = decltype([]<class T>(T a, UndefinedOpCounts& notes) {
  notes.num_domain_errors += a < 0;
  return T(std::log2(double(a)));
});
using OpSize = decltype([](int64_t a, UndefinedOpCounts& notes) {
  notes.num_negative_sizes += a < 0;
  return std::max(a, int64_t(0));
});

template <class T>
InstructionFunction pick_float_unary(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::Neg: return pick_unary<T, T, OpNeg>(s);
    case Opcode::Recip: return pick_unary<T, T, OpRecip>(s);
    case Opcode::Sqrt: return pick_unary<T, T, OpSqrt>(s);
    case Opcode::Exp2: return pick_unary<T, T, OpExp2>(s);
    case Opcode::Log2: return pick_unary<T, T, OpLog2>(s);
    case Opcode::Sin: return pick_unary<T, T, OpSin>(s);
    case Opcode::Trunc: return pick_unary<T, T, OpTrunc>(s);
    default: return nullptr;
  }
}

InstructionFunction pick_narrow_float(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::RoundF16: return pick_unary<float, float, OpRoundF16>(s);
    case Opcode::RoundBF16: return pick_unary<float, float, OpRoundBF16>(s);
    case Opcode::RoundE4M3: return pick_unary<float, float, OpRoundE4M3>(s);
    case Opcode::RoundE5M2: return pick_unary<float, float, OpRoundE5M2>(s);
    case Opcode::F64ToF16: return pick_unary<float, double, OpF64ToF16>(s);
    case Opcode::BitsOfF16: return pick_unary<uint16_t, float, OpBitsOfF16>(s);
    case Opcode::BitsOfBF16: return pick_unary<uint16_t, float, OpBitsOfBF16>(s);
    case Opcode::BitsOfE4M3: return pick_unary<uint8_t, float, OpBitsOfE4M3>(s);
    case Opcode::BitsOfE5M2: return pick_unary<uint8_t, float, OpBitsOfE5M2>(s);
    case Opcode::F16OfBits: return pick_unary<float, uint16_t, OpF16OfBits>(s);
    case Opcode::BF16OfBits: return pick_unary<float, uint16_t, OpBF16OfBits>(s);
    case Opcode::E4M3OfBits: return pick_unary<float, uint8_t, OpE4M3OfBits>(s);
    case Opcode::E5M2OfBits: return pick_unary<float, uint8_t, OpE5M2OfBits>(s);
    default: return nullptr;
  }
}

template <class T>
InstructionFunction pick_int_unary(const FunctionSelector& s) {
  if (s.op == Opcode::Neg) return pick_unary<T, T, OpNegInt>(s);
  if constexpr (std::is_same_v<T, int64_t>)
    if (s.op == Opcode::Size) return pick_unary<T, T, OpSize>(s);
  return s.op == Opcode::Trunc ? pick_unary<T, T, OpMov>(s) : nullptr;
}

template <class T>
const RefInstruction* splat(RefFrame& f, const RefInstruction* i) {
  T v = *f.register_at<T>(i->a);
  T* d = f.register_at<T>(i->destination);
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) d[k] = v;
  return i + 1;
}

template <class T>
const RefInstruction* mov_lanes(RefFrame& f, const RefInstruction* i) {
  std::memmove(f.register_at<T>(i->destination), f.register_at<T>(i->a), size_t(f.num_lanes) * sizeof(T));
  return i + 1;
}

template <class T, bool Varying>
const RefInstruction* where_lanes(RefFrame& f, const RefInstruction* i) {
  const uint8_t* a = f.register_at<uint8_t>(i->a);
  const T *b = f.register_at<T>(i->b), *c = f.register_at<T>(i->c);
  T* d = f.register_at<T>(i->destination);
  int64_t n = Varying ? f.num_lanes : 1;
  TGC_INDEPENDENT
  for (int64_t k = 0; k < n; k++) {
    T yes = b[k], no = c[k];  // read both values, so that the loop has no branch
    d[k] = a[k] ? yes : no;
  }
  return i + 1;
}

template <class T>
InstructionFunction pick_move(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::Mov: return s.is_varying ? mov_lanes<T> : unary_once<T, T, OpMov>;
    case Opcode::Splat: return splat<T>;
    default: return s.is_varying ? where_lanes<T, true> : where_lanes<T, false>;
  }
}

// F32 is computed in double, as in tinygrad's exec_alu, so that the product is not rounded.
template <class T, bool Varying>
const RefInstruction* mulacc(RefFrame& f, const RefInstruction* i) {
  const T *a = f.register_at<T>(i->a), *b = f.register_at<T>(i->b), *c = f.register_at<T>(i->c);
  T* d = f.register_at<T>(i->destination);
  int64_t n = Varying ? f.num_lanes : 1;
  TGC_INDEPENDENT
  for (int64_t k = 0; k < n; k++) {
    if constexpr (std::is_same_v<T, float>) d[k] = float(double(a[k]) * double(b[k]) + double(c[k]));
    else if constexpr (std::is_same_v<T, double>) d[k] = a[k] * b[k] + c[k];
    else d[k] = wrapping_add(wrapping_mul(a[k], b[k]), c[k]);
  }
  return i + 1;
}

template <class T>
InstructionFunction pick_arithmetic(const FunctionSelector& s) {
  if (s.op == Opcode::MulAcc) return s.is_varying ? mulacc<T, true> : mulacc<T, false>;
  if constexpr (std::is_floating_point_v<T>) return pick_float_unary<T>(s);
  else return pick_int_unary<T>(s);
}

}  // namespace

InstructionFunction select_unary(const FunctionSelector& s) {
  if (s.op >= Opcode::RoundF16 && s.op <= Opcode::E5M2OfBits) return pick_narrow_float(s);
  if (s.op == Opcode::Mov || s.op == Opcode::Splat || s.op == Opcode::Where) {
    switch (size_of_type(RefType(s.type))) {
      case 1: return pick_move<uint8_t>(s);
      case 2: return pick_move<uint16_t>(s);
      case 4: return pick_move<uint32_t>(s);
      default: return pick_move<uint64_t>(s);
    }
  }
  if (RefType(s.type) == RefType::Bool)
    return s.op == Opcode::Neg || s.op == Opcode::Trunc ? pick_unary<uint8_t, uint8_t, OpMov>(s) : nullptr;
  return call_with_type(RefType(s.type), [&]<class T>(T) { return pick_arithmetic<T>(s); });
}

namespace {

template <class To>
struct OpCast {
  template <class From>
  To operator()(From v, UndefinedOpCounts& notes) const {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      if (fits_integer<To>(v)) return To(v);
      notes.num_out_of_range_casts++;
      return low_bits_of<To>(v);
    } else {
      return To(v);
    }
  }
};
using OpToBool = decltype([](auto v, UndefinedOpCounts&) { return uint8_t(v != 0); });

template <class From>
InstructionFunction pick_cast_from(const FunctionSelector& s) {
  if (RefType(s.type) == RefType::Bool) return pick_unary<uint8_t, From, OpToBool>(s);
  return call_with_type(RefType(s.type), [&]<class To>(To) { return pick_unary<To, From, OpCast<To>>(s); });
}

}  // namespace

InstructionFunction select_cast(const FunctionSelector& s) {
  return call_with_type(RefType(s.type2), [&]<class From>(From) { return pick_cast_from<From>(s); });
}

}  // namespace tgc::ref
