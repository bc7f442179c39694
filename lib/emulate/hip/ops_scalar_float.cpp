#include <cmath>

#include "lib/emulate/hip/scalar_rows.h"

namespace tgc::hip {
namespace {

template <class T, auto F>
void add_compare(OpcodeTable& t, const std::string& condition, const std::string& negated, const std::string& type) {
  add_row(t, "s_cmp_" + condition + "_" + type, scalar_row<[](Wave&, T a, T b) -> bool { return F(a, b); }>());
  add_row(t, "s_cmp_" + negated + "_" + type, scalar_row<[](Wave&, T a, T b) -> bool { return !F(a, b); }>());
}
constexpr auto kEq = [](float a, float b) { return a == b; };
constexpr auto kGt = [](float a, float b) { return (a > b); };
constexpr auto kGe = [](float a, float b) { return (a >= b); };
constexpr auto kLt = [](float a, float b) { return a < b; };
constexpr auto kLe = [](float a, float b) { return a <= b; };
constexpr auto kOrdered = [](float a, float b) { return a == a && b == b; };
constexpr auto kDiffers = [](float a, float b) { return a < b || b < a; };

template <class T>
void add_rows_of_float_type(OpcodeTable& t, const std::string& type) {
  add_row(t, "s_add_" + type, scalar_row<[](Wave&, T a, T b) -> T { return a + b; }>());
  add_row(t, "s_sub_" + type, scalar_row<[](Wave&, T a, T b) -> T { return a - b; }>());
  add_row(t, "s_mul_" + type, scalar_row<[](Wave&, T a, T b) -> T { return a * b; }>());
  add_row(t, "s_fmac_" + type, read_modify_write_row<[](Wave&, T old, T a, T b) -> T {
            return float(std::fma(double(a), double(b), double(old)));
          }>());
  add_row(t, "s_min_num_" + type + " s_min_" + type,
          scalar_row<[](Wave&, T a, T b) -> T { return std::fmin(float(a), float(b)); }>());
  add_row(t, "s_max_num_" + type + " s_max_" + type,
          scalar_row<[](Wave&, T a, T b) -> T { return std::fmax(float(a), float(b)); }>());
  add_row(t, "s_minimum_" + type, scalar_row<[](Wave&, T a, T b) -> T { return a != a || a < b ? a : b; }>());
  add_row(t, "s_maximum_" + type, scalar_row<[](Wave&, T a, T b) -> T { return a != a || b < a ? a : b; }>());
  add_row(t, "s_ceil_" + type, scalar_row<[](Wave&, T a) -> T { return std::ceil(float(a)); }>());
  add_row(t, "s_floor_" + type, scalar_row<[](Wave&, T a) -> T { return std::floor(float(a)); }>());
  add_row(t, "s_trunc_" + type, scalar_row<[](Wave&, T a) -> T { return std::trunc(float(a)); }>());
  add_row(t, "s_rndne_" + type, scalar_row<[](Wave&, T a) -> T { return std::nearbyint(float(a)); }>());
  // v_s_exp_f32 and the like have scalar operands, although their names begin with v_
  add_row(t, "v_s_exp_" + type, scalar_row<[](Wave&, T a) -> T { return std::exp2(float(a)); }>());
  add_row(t, "v_s_log_" + type, scalar_row<[](Wave&, T a) -> T { return std::log2(float(a)); }>());
  add_row(t, "v_s_rcp_" + type, scalar_row<[](Wave&, T a) -> T { return 1 / float(a); }>());
  add_row(t, "v_s_rsq_" + type, scalar_row<[](Wave&, T a) -> T { return 1 / std::sqrt(float(a)); }>());
  add_row(t, "v_s_sqrt_" + type, scalar_row<[](Wave&, T a) -> T { return std::sqrt(float(a)); }>());
  add_compare<T, kEq>(t, "eq", "neq", type), add_compare<T, kDiffers>(t, "lg", "nlg", type);
  add_compare<T, kGt>(t, "gt", "ngt", type), add_compare<T, kGe>(t, "ge", "nge", type);
  add_compare<T, kLt>(t, "lt", "nlt", type), add_compare<T, kLe>(t, "le", "nle", type);
  add_compare<T, kOrdered>(t, "o", "u", type);
}

template <class To>
constexpr auto saturate_float = [](Wave&, float a) -> To {
  if (a != a) return 0;
  double low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  return To(std::fmin(std::fmax(double(a), low), high));
};

}  // namespace

void add_scalar_float_rows(OpcodeTable& t) {
  add_rows_of_float_type<float>(t, "f32"), add_rows_of_float_type<HalfFloat>(t, "f16");
  add_row(t, "s_fmaak_f32 s_fmamk_f32",
          scalar_row<[](Wave&, float a, float b, float c) { return std::fma(a, b, c); }>());
  add_row(t, "s_fmac_f32",
          read_modify_write_row<[](Wave&, float old, float a, float b) { return std::fma(a, b, old); }>());
  add_row(t, "s_cvt_f32_i32", scalar_row<[](Wave&, i32 a) { return float(a); }>());
  add_row(t, "s_cvt_f32_u32", scalar_row<[](Wave&, u32 a) { return float(a); }>());
  add_row(t, "s_cvt_i32_f32", scalar_row<saturate_float<i32>>());
  add_row(t, "s_cvt_u32_f32", scalar_row<saturate_float<u32>>());
  add_row(t, "s_cvt_f32_f16", scalar_row<[](Wave&, HalfFloat a) { return float(a); }>());
  add_row(t, "s_cvt_hi_f32_f16", scalar_row<[](Wave&, u32 a) { return half_to_float(uint16_t(a >> 16)); }>());
  add_row(t, "s_cvt_f16_f32", scalar_row<[](Wave&, float a) -> HalfFloat { return a; }>());
}

}  // namespace tgc::hip
