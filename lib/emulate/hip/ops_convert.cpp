// Conversions. Float to integer saturates; NaN becomes 0.
#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

template <class To, class From>
To saturate_to(From x) {
  constexpr From kLow = From(std::numeric_limits<To>::min()), kHigh = From(std::numeric_limits<To>::max());
  if (x != x) return 0;
  return x <= kLow ? std::numeric_limits<To>::min() : x >= kHigh ? std::numeric_limits<To>::max() : To(x);
}

template <int kByte>
constexpr auto byte_to_float = [](u32 a) { return float(a >> (8 * kByte) & 0xff); };

u32 half_toward_zero(float x) { return x != x ? 0x7fff : encode_float(x, kHalfLayout, Rounding::Zero); }

template <const FloatLayout& kLayout>
float fp8_to_float(u32 a) {
  return float(decode_float(a & 0xff, kLayout));
}
template <const FloatLayout& kLayout>
u16 pack_two_fp8(float a, float b) {
  return u16(encode_float(a, kLayout) | encode_float(b, kLayout) << 8);
}
// Builds a conversion to two fp8 values in one half of a register, whose other half keeps its value.
void build_two_fp8(CodeBuilder& b) {
  b.build_by_types();
  Op& op = b.code.ops.back();
  if (op.result_part == RegisterPart::Whole) op.result_part = RegisterPart::Word0;
}

template <const FloatLayout& kLayout>
void add_fp8_rows(OpcodeTable& t, const std::string& prefix, const std::string& type) {
  add_row(t, prefix + "v_cvt_f32_" + type, vector_row<[](u32 a) { return fp8_to_float<kLayout>(a); }>());
  add_row(t, prefix + "v_cvt_pk_f32_" + type, vector_row<[](u32 a) {
            u32 low = std::bit_cast<u32>(fp8_to_float<kLayout>(a)),
                high = std::bit_cast<u32>(fp8_to_float<kLayout>(a >> 8));
            return uint64_t(low) | uint64_t(high) << 32;
          }>());
  OpcodeRow row = vector_row<[](float a, float b) { return pack_two_fp8<kLayout>(a, b); }>();
  row.build_ops = build_two_fp8;
  add_row(t, prefix + "v_cvt_pk_" + type + "_f32", row);
}

}  // namespace

void add_convert_rows(OpcodeTable& t) {
  add_row(t, "v_cvt_f32_i32", vector_row<[](i32 a) { return float(a); }>());
  add_row(t, "v_cvt_f32_u32", vector_row<[](u32 a) { return float(a); }>());
  add_row(t, "v_cvt_f32_f16", vector_row<[](HalfFloat a) { return float(a); }>());
  add_row(t, "v_cvt_f32_f64", vector_row<[](double a) { return float(a); }>());
  add_row(t, "v_cvt_f32_ubyte0", vector_row<byte_to_float<0>>());
  add_row(t, "v_cvt_f32_ubyte1", vector_row<byte_to_float<1>>());
  add_row(t, "v_cvt_f32_ubyte2", vector_row<byte_to_float<2>>());
  add_row(t, "v_cvt_f32_ubyte3", vector_row<byte_to_float<3>>());
  add_row(t, "v_cvt_f64_i32", vector_row<[](i32 a) { return double(a); }>());
  add_row(t, "v_cvt_f64_u32", vector_row<[](u32 a) { return double(a); }>());
  add_row(t, "v_cvt_f64_f32", vector_row<[](float a) { return double(a); }>());
  add_row(t, "v_cvt_f16_f32", vector_row<[](float a) -> HalfFloat { return a; }>());
  add_row(t, "v_cvt_f16_u16", vector_row<[](u16 a) -> HalfFloat { return float(a); }>());
  add_row(t, "v_cvt_f16_i16", vector_row<[](i16 a) -> HalfFloat { return float(a); }>());
  add_row(t, "v_cvt_i32_f32", vector_row<[](float a) { return saturate_to<i32>(double(a)); }>());
  add_row(t, "v_cvt_u32_f32", vector_row<[](float a) { return saturate_to<u32>(double(a)); }>());
  add_row(t, "v_cvt_i32_f64", vector_row<[](double a) { return saturate_to<i32>(a); }>());
  add_row(t, "v_cvt_u32_f64", vector_row<[](double a) { return saturate_to<u32>(a); }>());
  add_row(t, "v_cvt_i16_f16", vector_row<[](HalfFloat a) { return saturate_to<i16>(float(a)); }>());
  add_row(t, "v_cvt_u16_f16", vector_row<[](HalfFloat a) { return saturate_to<u16>(float(a)); }>());
  add_row(t, "v_cvt_i32_i16", vector_row<[](i16 a) { return i32(a); }>());
  add_row(t, "v_cvt_u32_u16", vector_row<[](u16 a) { return u32(a); }>());
  add_row(t, "v_cvt_floor_i32_f32 v_cvt_flr_i32_f32",
          vector_row<[](float a) { return saturate_to<i32>(std::floor(double(a))); }>());
  add_row(t, "v_cvt_nearest_i32_f32 v_cvt_rpi_i32_f32",
          vector_row<[](float a) { return saturate_to<i32>(std::floor(double(a) + 0.5)); }>());
  add_row(t, "v_cvt_pk_rtz_f16_f32 v_cvt_pkrtz_f16_f32",
          vector_row<[](float a, float b) { return half_toward_zero(a) | half_toward_zero(b) << 16; }>());
  add_row(t, "v_cvt_pk_u16_u32",
          vector_row<[](u32 a, u32 b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; }>());
  add_row(t, "v_cvt_pk_i16_i32", vector_row<[](i32 a, i32 b) {
            auto clamped = [](i32 v) { return u32(std::min(std::max(v, -32768), 32767)) & 0xffff; };
            return clamped(a) | clamped(b) << 16;
          }>());
  add_fp8_rows<kE4m3Fnuz>(t, "", "fp8"), add_fp8_rows<kE5m2Fnuz>(t, "", "bf8");
  add_fp8_rows<kE4m3>(t, "gfx12:", "fp8"), add_fp8_rows<kE5m2>(t, "gfx12:", "bf8");
}

}  // namespace tgc::hip
