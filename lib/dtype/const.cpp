#include "lib/dtype/const.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "lib/support/pytext.h"

namespace tgc {

void Const::append_str(std::string& out) const {
  switch (kind_) {
    case Kind::Bool: out += int_value_ ? "True" : "False"; break;
    case Kind::Int: {
      char buffer[24];
      out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, int_value_).ptr);
      break;
    }
    case Kind::BigInt: out += as_int().str(); break;
    case Kind::Float: append_py_repr(out, float_value_); break;
    case Kind::Invalid: out += "Invalid"; break;
  }
}

std::string Const::str() const {
  std::string out;
  append_str(out);
  return out;
}

namespace {

// Compares without rounding the int. `d` must not be NaN.
std::strong_ordering compare_int_with_double(Int i, double d) {
  if (std::isinf(d)) return d > 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  Int whole = Int::trunc(d);
  if (auto c = i <=> whole; c != 0) return c;
  double rest = d - std::trunc(d);
  return rest > 0 ? std::strong_ordering::less : rest < 0 ? std::strong_ordering::greater : std::strong_ordering::equal;
}

}  // namespace

bool py_equal_slow(Const a, Const b) {
  if (a.is_invalid() || b.is_invalid()) return a.is_invalid() && b.is_invalid();
  if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
  if (a.is_float() && b.is_float()) return a.as_float() == b.as_float();
  double d = a.is_float() ? a.as_float() : b.as_float();
  return !std::isnan(d) && compare_int_with_double(a.is_float() ? b.as_int() : a.as_int(), d) == 0;
}

bool py_less_slow(Const a, Const b) {
  if (a.is_invalid() || b.is_invalid()) return !(a.is_invalid() && b.is_invalid());
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
  if (a.is_float() && b.is_float()) return a.as_float() < b.as_float();
  if (a.is_float()) return !std::isnan(a.as_float()) && compare_int_with_double(b.as_int(), a.as_float()) > 0;
  return !std::isnan(b.as_float()) && compare_int_with_double(a.as_int(), b.as_float()) < 0;
}

namespace {
template <class OnInt, class OnFloat>
Const apply_arithmetic(Const a, Const b, OnInt on_int, OnFloat on_float) {
  if (a.is_invalid() || b.is_invalid()) throw Failure("arithmetic on Invalid");
  if (a.is_integral() && b.is_integral()) return on_int(a.as_int(), b.as_int());
  return on_float(a.to_double(), b.to_double());
}
}  // namespace

Const py_add(Const a, Const b) {
  return apply_arithmetic(
      a, b, [](Int x, Int y) -> Const { return x + y; }, [](double x, double y) -> Const { return x + y; });
}
Const py_sub(Const a, Const b) {
  return apply_arithmetic(
      a, b, [](Int x, Int y) -> Const { return x - y; }, [](double x, double y) -> Const { return x - y; });
}
Const py_mul(Const a, Const b) {
  return apply_arithmetic(
      a, b, [](Int x, Int y) -> Const { return x * y; }, [](double x, double y) -> Const { return x * y; });
}
Const py_neg(Const a) { return a.is_float() ? Const(-a.as_float()) : Const(-a.as_int()); }

namespace dtypes {

namespace {
struct ScalarLimits {
  Const min, max;
};

ScalarLimits make_limits(Scalar s) {
  DType d = of(s);
  if (is_float(d)) return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if (!is_int(d)) return {false, true};
  uint32_t bits = uint32_t(d.bitsize());
  if (is_unsigned(d)) return {0, Int::pow2(bits) - 1};
  return {-Int::pow2(bits - 1), Int::pow2(bits - 1) - 1};
}

const ScalarLimits& limits_of_dtype(DType d) {
  static const auto kTable = [] {
    std::array<ScalarLimits, kNumScalars> table;
    for (int i = 0; i < kNumScalars; i++) table[size_t(i)] = make_limits(Scalar(i));
    return table;
  }();
  // as in tinygrad: pointers have the limits of void (those of bool), images those of float
  const bool has_no_row = d.is_ptr() || d.scalar_kind() == Scalar::Other;
  return kTable[size_t(d.is_image() ? Scalar::Float32 : has_no_row ? Scalar::Void : d.scalar_kind())];
}
}  // namespace

Const min(DType d) { return limits_of_dtype(d).min; }
Const max(DType d) { return limits_of_dtype(d).max; }

Const as_const(Const v, DType d) {
  if (v.is_invalid()) return v;
  if (is_int(d)) return v.to_int();
  if (is_float(d))
    return v.is_float() && std::isnan(v.as_float()) ? Const(std::numeric_limits<double>::quiet_NaN())
                                                    : Const(v.to_double());
  return v.truthy();
}

}  // namespace dtypes

uint16_t float_to_half_bits(double v) {
  uint64_t bits = std::bit_cast<uint64_t>(v);
  uint16_t sign = uint16_t(bits >> 48 & 0x8000);
  if (std::isnan(v)) return sign | 0x7E00;
  double a = std::fabs(v);
  if (a >= 65520.0) return sign | 0x7C00;  // infinity: 65520 is halfway between the largest finite half and 2**16
  if (a < 0x1p-14) return sign | uint16_t(std::nearbyint(a * 0x1p24));  // below the smallest normal half
  int exponent = std::ilogb(a);
  // the 11 bits of the significand with the implicit leading bit; 2048 if rounding carries into the exponent
  auto mantissa = uint32_t(std::nearbyint(std::ldexp(a, 10 - exponent)));
  return uint16_t(sign | ((uint32_t(exponent + 15 - 1) << 10) + mantissa));
}

double half_bits_to_float(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double a = exponent == 31
                 ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
             : exponent == 0 ? std::ldexp(mantissa, -24)
                             : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -a : a;
}

uint16_t float_to_bf16_bits(float v) {
  uint32_t u = std::bit_cast<uint32_t>(v);
  if (std::isnan(v)) return uint16_t(u >> 16 | 0x40);
  if (std::isinf(v)) return uint16_t(u >> 16);
  return uint16_t((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}

float bf16_bits_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint8_t float_to_fp8(double v, Scalar kind) {
  bool e4m3 = kind == Scalar::FP8E4M3;
  if (e4m3 && !std::isfinite(v)) return std::signbit(v) ? 0xFF : 0x7F;
  if (!e4m3 && std::isinf(v)) return std::signbit(v) ? 0xFC : 0x7C;
  // The parameters of an fp8 format: the bias of the exponent; the number of significand bits, with the hidden bit; the
  // mask of the mantissa bits; the bits of the largest double that rounds to zero and of the largest that does not
  // saturate; the largest finite fp8 value; the bits of the smallest double that is a normal fp8 value.
  struct Fp8Layout {
    int bias, significand_bits;
    uint64_t mantissa_mask, largest_zero_bits, overflow_threshold_bits, max_normal, min_normal_bits;
  };
  static constexpr Fp8Layout kE4M3{7, 4, 0x7, 0x3F50000000000000, 0x407D000000000000, 0x7E, 0x3F90000000000000};
  static constexpr Fp8Layout kE5M2{15, 3, 0x3, 0x3EE0000000000000, 0x40EE000000000000 - 1, 0x7B, 0x3F10000000000000};
  const Fp8Layout& f = e4m3 ? kE4M3 : kE5M2;
  uint64_t bits = std::bit_cast<uint64_t>(v), magnitude = bits & ~(uint64_t(1) << 63);
  uint64_t half_ulp = uint64_t(1) << (53 - f.significand_bits - 1);
  int64_t exponent = int64_t(bits >> 52 & 0x7FF) - 1023 + f.bias;
  uint64_t mantissa = bits >> (53 - f.significand_bits) & f.mantissa_mask, out;
  if (magnitude <= f.largest_zero_bits) {
    out = 0;
  } else if (magnitude > 0x7FF0000000000000) {
    out = e4m3 ? 0x7F : 0x7E | mantissa;
  } else if (magnitude > f.overflow_threshold_bits) {
    out = f.max_normal;
  } else if (magnitude >= f.min_normal_bits) {
    out = uint64_t(exponent) << (f.significand_bits - 1) | mantissa;
    uint64_t rest = bits & ((half_ulp << 1) - 1);
    if (rest > half_ulp || (rest == half_ulp && (mantissa & 1))) out++;
  } else {
    int shift = int(1 - exponent);
    out = (mantissa | uint64_t(1) << (f.significand_bits - 1)) >> shift;
    uint64_t rest = (bits | uint64_t(1) << 52) & ((half_ulp << (shift + 1)) - 1);
    if (rest > half_ulp << shift || (rest == half_ulp << shift && (out & 1))) out++;
  }
  return uint8_t(out | (bits >> 63 << 7));
}

double fp8_to_float(uint8_t x, Scalar kind) {
  int sign = x & 0x80, magnitude = x & 0x7F;
  if (kind == Scalar::FP8E5M2) return half_bits_to_float(magnitude > 0x7C ? 0x7FFF : uint16_t(x) << 8);
  if (magnitude == 0x7F) return half_bits_to_float(0x7FFF);
  double a = magnitude < 8 ? std::ldexp(magnitude, -9) : std::ldexp(8 + (magnitude & 7), (magnitude >> 3) - 10);
  return sign ? -a : a;
}

Const truncate(Const v, DType d) {
  if (v.is_invalid() || !d.is_value() || d.count() != 1) return v;
  auto wrapped = [&](auto zero) -> Const {
    using T = decltype(zero);
    if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>)
      return Int(static_cast<unsigned long>(v.as_int().low_64_bits()));
    else return int64_t(T(v.as_int().low_64_bits()));
  };
  if (dtypes::ints.contains(d) && v.is_float())
    throw Failure("a float cannot be truncated to " + std::string(d.repr()));
  switch (d.scalar_kind()) {
    case Scalar::Bool: return v.truthy();
    case Scalar::Int8: return wrapped(int8_t());
    case Scalar::UInt8: return wrapped(uint8_t());
    case Scalar::Int16: return wrapped(int16_t());
    case Scalar::UInt16: return wrapped(uint16_t());
    case Scalar::Int32: return wrapped(int32_t());
    case Scalar::UInt32: return wrapped(uint32_t());
    case Scalar::Int64: return wrapped(int64_t());
    case Scalar::UInt64: return wrapped(uint64_t());
    case Scalar::Float16: return half_bits_to_float(float_to_half_bits(v.to_double()));
    case Scalar::BFloat16: return double(bf16_bits_to_float(float_to_bf16_bits(float(v.to_double()))));
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return fp8_to_float(float_to_fp8(v.to_double(), d.scalar_kind()), d.scalar_kind());
    case Scalar::Float32: return double(float(v.to_double()));
    case Scalar::Float64: return v.to_double();
    default: return v;
  }
}

}  // namespace tgc
