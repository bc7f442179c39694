// Formats of floats below 32 bits (half, bfloat16, tf32, fp8), rounding to odd, and TGC_LANES, the loop over lanes.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// A vectorizable loop over the lanes i = 0 .. kNumLanes - 1. No iteration may read an element that another one writes.
#if defined(__clang__)
#define TGC_LANES _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < kNumLanes; i++)
#else
#define TGC_LANES _Pragma("GCC ivdep") for (int i = 0; i < kNumLanes; i++)
#endif

namespace tgc::emulate {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up };

// The bit layout of a small float. AMD's FNUZ formats (gfx942) have no infinity and no -0, and a bias larger by one.
struct FloatLayout {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  uint32_t nan_bits;
  bool is_fnuz = false;

  uint32_t max_exponent() const { return (1u << exponent_bits) - 1; }
  int bias() const { return int(max_exponent() >> 1) + is_fnuz; }
};
inline constexpr FloatLayout kHalfLayout{5, 10, true, 0x7fff}, kBfloatLayout{8, 7, true, 0x7fff},
    kTf32{8, 10, true, 0x3ffff}, kE4m3{4, 3, false, 0x7f}, kE5m2{5, 2, true, 0x7f}, kE4m3Fnuz{4, 3, false, 0x80, true},
    kE5m2Fnuz{5, 2, false, 0x80, true};

inline double decode_float(uint32_t bits, const FloatLayout& f) {
  uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1), most = f.max_exponent();
  uint32_t exponent = bits >> f.mantissa_bits & most;
  double sign = bits >> (f.mantissa_bits + f.exponent_bits) & 1 ? -1 : 1;
  if (f.is_fnuz) {
    if (bits == f.nan_bits) return std::numeric_limits<double>::quiet_NaN();
  } else if (f.has_infinity ? exponent == most : (bits & 0x7f) == 0x7f) {
    return f.has_infinity && mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                                           : std::numeric_limits<double>::quiet_NaN();
  }
  int bias = f.bias();
  return exponent == 0
             ? sign * std::ldexp(double(mantissa), 1 - bias - f.mantissa_bits)
             : sign * std::ldexp(double(mantissa | 1u << f.mantissa_bits), int(exponent) - bias - f.mantissa_bits);
}

// Rounds x to the format and returns its bits. `is_saturating` (PTX's .satfinite): a value that is too large, or
// infinite, becomes the largest finite number of its sign.
inline uint32_t encode_float(double x, const FloatLayout& f, Rounding rounding = Rounding::Nearest,
                             bool is_saturating = false) {
  uint32_t most = f.max_exponent(), sign = std::signbit(x) ? 1u << (f.mantissa_bits + f.exponent_bits) : 0;
  int bias = f.bias();
  if (std::isnan(x)) return f.nan_bits;
  uint32_t largest_bits = f.has_infinity ? (most << f.mantissa_bits) - 1 : f.is_fnuz ? 0x7f : 0x7e;
  uint32_t overflow_bits = f.has_infinity ? most << f.mantissa_bits : f.nan_bits;
  double a = std::fabs(x);
  if (std::isinf(a)) return sign | (is_saturating ? largest_bits : overflow_bits);
  if (a == 0) return f.is_fnuz ? 0 : sign;
  // a = n * 2^unit, where 2^unit is the value of the last mantissa bit; n is rounded to an integer
  int unit = std::max(std::ilogb(a), 1 - bias) - f.mantissa_bits;
  double n = std::ldexp(a, -unit);
  double whole_units = std::floor(n), rest = n - whole_units;
  bool rounds_up = rounding == Rounding::Nearest ? rest > 0.5 || (rest == 0.5 && std::fmod(whole_units, 2) == 1)
            : rounding == Rounding::Zero  ? false
                                          : rest > 0 && (rounding == Rounding::Up) == (sign == 0);
  uint64_t mantissa = uint64_t(whole_units) + rounds_up;
  uint64_t bits = mantissa;  // at the next power of two, the mantissa carries into the exponent
  if (unit > 1 - bias - f.mantissa_bits || mantissa >> f.mantissa_bits) {
    int exponent = unit + f.mantissa_bits + bias;
    bits = (uint64_t(exponent) << f.mantissa_bits) + (mantissa - (uint64_t(1) << f.mantissa_bits));
  }
  if (bits > largest_bits) {
    bool stays =
        rounding == Rounding::Zero || (rounding == Rounding::Up && sign) || (rounding == Rounding::Down && !sign);
    return sign | (is_saturating || stays ? largest_bits : overflow_bits);
  }
  return bits == 0 && f.is_fnuz ? 0 : sign | uint32_t(bits);
}

// Returns a + b rounded to odd: the last bit of an inexact sum is set, so that rounding the sum again to half the bits
// is correct.
inline double add_round_to_odd(double a, double b) {
  double s = a + b;
  if (!std::isfinite(s)) return s;
  double t = s - a, error = (a - (s - t)) + (b - t);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (error == 0 || bits & 1) return s;
  bool is_farther = (error > 0) == (s > 0);  // true if the exact sum is farther from zero than s
  return std::bit_cast<double>(is_farther ? bits + 1 : bits - 1);
}
inline double round_to_odd(int64_t v) { return add_round_to_odd(double(v >> 32) * 4294967296.0, double(uint32_t(v))); }
inline double round_to_odd(uint64_t v) { return add_round_to_odd(double(v >> 32) * 4294967296.0, double(uint32_t(v))); }

inline float half_to_float(uint16_t h) { return float(std::bit_cast<_Float16>(h)); }
inline uint16_t float_to_half(float x) { return x != x ? uint16_t(0x7fff) : std::bit_cast<uint16_t>(_Float16(x)); }
inline float bf16_to_float(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }
inline uint16_t float_to_bf16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  return x != x ? uint16_t(0x7fff) : uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

}  // namespace tgc::emulate
