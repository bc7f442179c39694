// exp2, log2 and sin of doubles for the prelude of cuda_clang.cpp, because PTX has such instructions for floats only
// and NVIDIA's library of these functions may be missing.
#pragma once
#include <string_view>

#include "lib/compile/two_over_pi.h"

namespace tgc {

#define TGC_TEXT_OF(...) #__VA_ARGS__
#define TGC_TEXT(...) TGC_TEXT_OF(__VA_ARGS__)
inline constexpr std::string_view kCudaMathSource =
    "static __device__ const unsigned long long tgc_two_over_pi[] = {" TGC_TEXT(TGC_TWO_OVER_PI) "};" R"(
template <int N> static __device__ __forceinline__ double tgc_polynomial(const double (&c)[N], double x) {
  double out = c[N - 1];
  #pragma unroll
  for (int i = N - 2; i >= 0; i--) out = __builtin_fma(out, x, c[i]);
  return out;
}
static __device__ __forceinline__ double tgc_power_of_2(long long n) {
  return __builtin_bit_cast(double, (n + 1023) << 52);
}
static __device__ __forceinline__ double exp2(double x) {
  constexpr double c[] = {
    1.0, 1.0, 0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333, 0.001388888888888889,
    0.0001984126984126984, 2.48015873015873e-05, 2.7557319223985893e-06, 2.755731922398589e-07,
    2.505210838544172e-08, 2.08767569878681e-09, 1.6059043836821613e-10};
  if (!(x < 1024)) return x == x ? __builtin_inf() : x;
  if (x < -1080) return 0;
  long long n = (long long)__builtin_rint(x);
  return tgc_polynomial(c, (x - n) * 0.6931471805599453) * tgc_power_of_2(n / 2) * tgc_power_of_2(n - n / 2);
}
static __device__ __forceinline__ double log2(double x) {
  constexpr double c[] = {
    1.0, 0.3333333333333333, 0.2, 0.14285714285714285, 0.1111111111111111, 0.09090909090909091,
    0.07692307692307693, 0.06666666666666667, 0.058823529411764705, 0.05263157894736842, 0.047619047619047616,
    0.043478260869565216};
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
  if (x == __builtin_inf()) return x;
  long long n = x < 0x1p-1022 ? -1077 : -1023, bits = __builtin_bit_cast(long long, x < 0x1p-1022 ? x * 0x1p54 : x);
  n += bits >> 52;
  double m = __builtin_bit_cast(double, (bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) m *= 0.5, n++;
  double f = (m - 1) / (m + 1);
  return __builtin_fma(2 * f * tgc_polynomial(c, f * f), 1.4426950408889634, (double)n);
}
static __device__ __forceinline__ unsigned long long tgc_bits_of_two_over_pi(int at) {
  int word = at >> 6, shift = at & 63;
  unsigned long long high = word < 0 ? 0 : tgc_two_over_pi[word];
  return shift ? high << shift | tgc_two_over_pi[word + 1] >> (64 - shift) : high;
}
static __device__ __forceinline__ double sin(double x) {
  constexpr double sines[] = {
    1.0, -0.16666666666666666, 0.008333333333333333, -0.0001984126984126984, 2.7557319223985893e-06,
    -2.505210838544172e-08, 1.6059043836821613e-10, -7.647163731819816e-13, 2.8114572543455206e-15};
  constexpr double cosines[] = {
    1.0, -0.5, 0.041666666666666664, -0.001388888888888889, 2.48015873015873e-05, -2.755731922398589e-07,
    2.08767569878681e-09, -1.1470745597729725e-11, 4.779477332387385e-14, -1.5619206968586225e-16};
  double size = __builtin_fabs(x), r;
  unsigned long long quarter;  // the number of quarter turns
  if (!(size < __builtin_inf())) return __builtin_nan("");
  if (size < 0x1p28) {
    double n = __builtin_rint(size * 0.6366197723675814);
    quarter = (unsigned long long)n;
    r = __builtin_fma(-n, 1.5707963267948966, size);
    r = __builtin_fma(-n, -1.4973849048591698e-33, __builtin_fma(-n, 6.123233995736766e-17, r));
  } else {  // multiplies the integer significand by the 192 bits of 2/pi that decide the result
    unsigned long long bits = __builtin_bit_cast(unsigned long long, size);
    unsigned long long significand = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000;
    int at = (int)(bits >> 52) - 1077;
    unsigned long long word = tgc_bits_of_two_over_pi(at + 64);
    unsigned long long carried = __nvvm_mulhi_ull(tgc_bits_of_two_over_pi(at + 128), significand);
    unsigned long long middle = word * significand + carried;
    unsigned long long high = tgc_bits_of_two_over_pi(at) * significand + __nvvm_mulhi_ull(word, significand) +
                              (middle < carried);
    quarter = (high + (1ull << 61)) >> 62;
    double turns = (double)(long long)(high - (quarter << 62)) * 0x1p-62;
    r = (turns + (double)middle * 0x1p-126) * 1.5707963267948966;
  }
  double out = quarter & 1 ? tgc_polynomial(cosines, r * r) : r * tgc_polynomial(sines, r * r);
  return ((quarter & 2) != 0) != (x < 0) ? -out : size == 0 ? x : out;
}
)";
#undef TGC_TEXT
#undef TGC_TEXT_OF

}  // namespace tgc
