// Rounding to narrow floats and other element arithmetic. Loops that call most of these functions can be vectorized.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lib/dtype/const.h"

namespace tgc::ref {

inline float round_f16(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v), sign = bits & 0x80000000u, magnitude = bits & 0x7FFFFFFFu;
  uint32_t normal = (magnitude + 0xFFF + (magnitude >> 13 & 1)) & ~0x1FFFu;
  float subnormal = (std::bit_cast<float>(magnitude) + 0.5f) - 0.5f;  // rounds, because 0.5's ulp is the smallest half
  uint32_t out = magnitude < 0x38800000u ? std::bit_cast<uint32_t>(subnormal) : normal;
  out = normal >= 0x47800000u ? 0x7F800000u : out;
  out = magnitude > 0x7F800000u ? 0x7FC00000u : out;
  return std::bit_cast<float>(out | sign);
}

inline float round_bf16(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  return std::bit_cast<float>((bits & 0x7FFFFFFFu) > 0x7F800000u ? bits | 0x400000u : rounded);
}

inline float half_of_bits(uint16_t bits) {
  uint32_t magnitude = uint32_t(bits & 0x7FFF) << 13, sign = uint32_t(bits & 0x8000) << 16;
  float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  uint32_t out = magnitude >= 0x0F800000u ? magnitude | 0x7F800000u : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(out | sign);
}

// `v` must be exact in half precision.
inline uint16_t bits_of_half(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v), magnitude = bits & 0x7FFFFFFFu;
  uint32_t normal = (magnitude - 0x38000000u) >> 13;
  auto subnormal = uint32_t(int32_t(std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u) * 0x1p24f));
  uint32_t out = magnitude < 0x38800000u ? subnormal : normal;
  out = magnitude == 0x7F800000u ? 0x7C00u : magnitude > 0x7F800000u ? 0x7E00u : out;
  return uint16_t(out | (bits >> 16 & 0x8000));
}

inline float bf16_of_bits(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
inline uint16_t bits_of_bf16(float v) { return uint16_t(std::bit_cast<uint32_t>(v) >> 16); }

template <Scalar K>
float fp8_of_bits(uint8_t bits) { return float(fp8_to_float(bits, K)); }
template <Scalar K>
uint8_t bits_of_fp8(float v) { return float_to_fp8(v, K); }
template <Scalar K>
float round_fp8(float v) { return fp8_of_bits<K>(bits_of_fp8<K>(v)); }

template <class T>
using Unsigned = std::conditional_t<sizeof(T) < 4, uint32_t,
                                    std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>>;

template <class T>
T wrapping_add(T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); }
template <class T>
T wrapping_sub(T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); }
template <class T>
T wrapping_mul(T a, T b) { return T(Unsigned<T>(a) * Unsigned<T>(b)); }

// Returns whether T can represent `v` truncated; false for NaN, and for a `v` just below a signed T's minimum.
template <class T, class F>
bool fits_integer(F v) {
  constexpr F kLow = F(std::numeric_limits<T>::min()),
              kHigh = F(uint64_t(1) << (std::numeric_limits<T>::digits - 1)) * 2;
  return std::is_signed_v<T> ? v >= kLow && v < kHigh : v > F(-1) && v < kHigh;
}

// Returns the low bits of `v` truncated to an integer; 0 for NaN and infinities.
template <class T, class F>
T low_bits_of(F v) {
  double t = std::trunc(double(v));
  if (!std::isfinite(t)) return T(0);
  if (std::fabs(t) < 0x1p63) return T(uint64_t(int64_t(t)));
  double rest = std::fmod(std::fabs(t), 0x1p64);
  auto low = uint64_t(rest);
  return T(t < 0 ? uint64_t(0) - low : low);
}

}  // namespace tgc::ref
