#include "lib/text/promoted.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tgc {
namespace {

// A scalar dtype of tinygrad 0.14. `to` has a bit for each dtype that this dtype promotes to in one step.
struct Promotion {
  std::string_view attribute;
  uint32_t to;
};
enum : uint32_t {
  kBool, kWeakInt, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64,
  kWeakFloat, kE4M3, kE4M3Z, kE5M2, kE5M2Z, kHalf, kBF16, kFloat, kDouble, kNumPromoted
};
constexpr uint32_t bit(uint32_t i) { return 1u << i; }
constexpr Promotion kPromotions[kNumPromoted] = {
    {"bool", bit(kWeakInt)},
    {"weakint", bit(kI8) | bit(kU8)},
    {"char", bit(kI16)},
    {"uchar", bit(kI16) | bit(kU16)},
    {"short", bit(kI32)},
    {"ushort", bit(kI32) | bit(kU32)},
    {"int", bit(kI64)},
    {"uint", bit(kI64) | bit(kU64)},
    {"long", bit(kWeakFloat)},
    {"ulong", bit(kWeakFloat)},
    {"weakfloat", bit(kE4M3) | bit(kE5M2) | bit(kE4M3Z) | bit(kE5M2Z)},
    {"fp8e4m3", bit(kHalf) | bit(kBF16)},
    {"fp8e4m3fnuz", bit(kHalf) | bit(kBF16)},
    {"fp8e5m2", bit(kHalf) | bit(kBF16)},
    {"fp8e5m2fnuz", bit(kHalf) | bit(kBF16)},
    {"half", bit(kFloat)},
    {"bfloat16", bit(kFloat)},
    {"float", bit(kDouble)},
    {"double", 0},
};

// Returns the bit set of all dtypes that dtype `i` promotes to in any number of steps, including `i`.
constexpr uint32_t reachable(uint32_t i) {
  uint32_t out = bit(i);
  for (uint32_t k = i; k < kNumPromoted; k++)  // one pass is enough: a dtype promotes only to dtypes after it
    if (out >> k & 1) out |= kPromotions[k].to;
  return out;
}
constexpr auto kReachable = [] {
  std::array<uint32_t, kNumPromoted> out{};
  for (uint32_t i = 0; i < kNumPromoted; i++) out[i] = reachable(i);
  return out;
}();

const std::array<DType, kNumPromoted>& all() {
  static const auto kAll = [] {
    std::array<DType, kNumPromoted> out;
    for (size_t i = 0; i < kNumPromoted; i++) out[i] = dtypes::open(kPromotions[i].attribute);
    return out;
  }();
  return kAll;
}

// Returns the index of `d` in the table; kNumPromoted if `d` is not in the table.
uint32_t place_of(DType d) { return uint32_t(std::ranges::find(all(), d) - all().begin()); }

}  // namespace

std::optional<DType> promoted_0_14(DType a, DType b) {
  if (a == b && a != dtypes::void_) return a;
  const uint32_t i = place_of(a), k = place_of(b);
  if (i == kNumPromoted || k == kNumPromoted) return std::nullopt;
  return all()[size_t(__builtin_ctz(kReachable[i] & kReachable[k]))];
}

}  // namespace tgc
