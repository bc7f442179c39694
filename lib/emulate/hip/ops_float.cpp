// Vector instructions on floats. Instructions that are approximate on a GPU (exp, log, rcp, ...) are computed by the
// host, whose results are within the GPU's error bounds but not bit-identical.
#include "lib/compile/two_over_pi.h"
#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

template <class T>
T fused_multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, HalfFloat>) {
    double sum = add_round_to_odd(double(a) * double(b), double(c));
    return HalfFloat(half_to_float(uint16_t(encode_float(sum, kHalfLayout))));
  } else {
    return std::fma(a, b, c);
  }
}
// If one operand is NaN, returns the other one.
template <class T>
constexpr auto minimum = [](T a, T b) -> T { return a < b || b != b ? a : b; };
template <class T>
constexpr auto maximum = [](T a, T b) -> T { return a > b || b != b ? a : b; };
template <class T>
constexpr auto median = [](T a, T b, T c) -> T {
  return a != a || b != b || c != c ? minimum<T>(minimum<T>(a, b), c)
                                    : maximum<T>(minimum<T>(a, b), minimum<T>(maximum<T>(a, b), c));
};

// The text of fmac names the destination and two sources; the third source is the old value of the destination.
template <auto F>
OpcodeRow accumulating_row() {
  OpcodeRow row = vector_row<F>();
  row.build_ops = [](CodeBuilder& b) {
    b.allow_modifiers({"clamp", "mul", "div"});
    Op op = b.make_op(b.row->run_op);
    op.to = b.vector_register(b.operand(0), num_words_of_type(b.row->to));
    op.a = b.source_operand(b.operand(1), b.row->to), op.b = b.source_operand(b.operand(2), b.row->to);
    op.c = b.source_operand(b.operand(0), b.row->to);
    if (is_16_bit(b.row->to) && b.code.family != GpuFamily::Gfx9) op.result_part = RegisterPart::Word0;
    b.emit_op(op);
  };
  return row;
}

// Returns a 64-bit word of 2/pi, of which v_trig_preop_f64 has a table of the first 1201 bits.
uint64_t two_over_pi(int word) {
  static constexpr uint64_t kBits[] = {TGC_TWO_OVER_PI};
  constexpr int kLast = 1201 / 64, kUnused = 64 - 1201 % 64;
  return word < kLast ? kBits[word] : word == kLast ? kBits[word] >> kUnused << kUnused : 0;
}

// Implements v_trig_preop_f64: returns the 53 bits of 2/pi that a range reduction of `value` needs for its step
// `segment`.
constexpr auto bits_of_two_over_pi = [](double value, u32 segment) -> double {
  const int exponent = int(std::bit_cast<uint64_t>(value) >> 52 & 0x7FF);
  const int shift = int(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0), word = shift / 64;
  uint64_t bits = two_over_pi(word) << shift % 64;
  if (shift % 64) bits |= two_over_pi(word + 1) >> (64 - shift % 64);
  return std::ldexp(double(bits >> 11), -53 - shift + (exponent >= 1968 ? 128 : 0));
};

template <class T>
void add_arithmetic_rows(OpcodeTable& t, const std::string& type) {
  auto names = [&](std::initializer_list<const char*> list) {
    std::string out;
    for (const char* n : list) out += (out.empty() ? "v_" : " v_") + (n + type);
    return out;
  };
  add_row(t, names({"add_"}), vector_row<[](T a, T b) -> T { return a + b; }>());
  add_row(t, names({"sub_"}), vector_row<[](T a, T b) -> T { return a - b; }>());
  add_row(t, names({"subrev_"}), vector_row<[](T a, T b) -> T { return b - a; }>());
  add_row(t, names({"mul_"}), vector_row<[](T a, T b) -> T { return a * b; }>());
  add_row(t, names({"fma_", "fmaak_", "fmamk_"}),
          vector_row<[](T a, T b, T c) -> T { return (fused_multiply_add<T>(a, b, c)); }>());
  add_row(t, names({"fmac_"}), accumulating_row<[](T a, T b, T c) -> T { return (fused_multiply_add<T>(a, b, c)); }>());
  add_row(t, names({"min_", "min_num_"}), vector_row<minimum<T>>());
  add_row(t, names({"max_", "max_num_"}), vector_row<maximum<T>>());
  add_row(t, names({"minimum_"}), vector_row<[](T a, T b) -> T { return a != a || a < b ? a : b; }>());
  add_row(t, names({"maximum_"}), vector_row<[](T a, T b) -> T { return (a != a || a > b ? a : b); }>());
  add_row(t, names({"min3_", "min3_num_"}),
          vector_row<[](T a, T b, T c) -> T { return (minimum<T>(minimum<T>(a, b), c)); }>());
  add_row(t, names({"max3_", "max3_num_"}),
          vector_row<[](T a, T b, T c) -> T { return (maximum<T>(maximum<T>(a, b), c)); }>());
  add_row(t, names({"med3_", "med3_num_"}), vector_row<median<T>>());
  add_row(t, names({"floor_"}), vector_row<[](T a) -> T { return std::floor(a); }>());
  add_row(t, names({"ceil_"}), vector_row<[](T a) -> T { return std::ceil(a); }>());
  add_row(t, names({"trunc_"}), vector_row<[](T a) -> T { return std::trunc(a); }>());
  add_row(t, names({"rndne_"}), vector_row<[](T a) -> T { return std::nearbyint(a); }>());
  add_row(t, names({"fract_"}), vector_row<[](T a) -> T { return a - std::floor(a); }>());
  add_row(t, names({"rcp_", "rcp_iflag_"}), vector_row<[](T a) -> T { return T(1) / a; }>());
  add_row(t, names({"sqrt_"}), vector_row<[](T a) -> T { return std::sqrt(a); }>());
  add_row(t, names({"rsq_"}), vector_row<[](T a) -> T { return T(1) / std::sqrt(a); }>());
  add_row(t, names({"frexp_mant_"}), vector_row<[](T a) -> T {
            int exponent;
            return std::isfinite(double(a)) ? T(std::frexp(a, &exponent)) : a;
          }>());
}

template <class T>
constexpr auto exponent_of = [](T a) {
  int exponent = 0;
  if (std::isfinite(double(a))) std::frexp(double(a), &exponent);
  return exponent;
};

constexpr double kTurn = 6.283185307179586;
template <class T>
void add_transcendental_rows(OpcodeTable& t, const std::string& type) {
  add_row(t, "v_exp_" + type, vector_row<[](T a) -> T { return std::exp2(float(a)); }>());
  add_row(t, "v_log_" + type, vector_row<[](T a) -> T { return std::log2(float(a)); }>());
  add_row(t, "v_sin_" + type,
          vector_row<[](T a) -> T { return float(std::sin(kTurn * std::fmod(double(a), 1.0))); }>());
  add_row(t, "v_cos_" + type,
          vector_row<[](T a) -> T { return float(std::cos(kTurn * std::fmod(double(a), 1.0))); }>());
}

// ---- IEEE division: v_div_scale scales operands, v_div_fmas refines the quotient, v_div_fixup handles special values
template <class T>
struct FloatFormat {
  static constexpr int kBias = std::is_same_v<T, float> ? 127 : 1023,
                       kMantissaBits = std::is_same_v<T, float> ? 23 : 52;
  static constexpr int kScaleExponent = std::is_same_v<T, float> ? 64 : 128,
                       kFarExponentDifference = std::is_same_v<T, float> ? 96 : 768;
  static int exponent(T x) {  // returns the biased exponent
    int e = 0;
    if (!std::isfinite(x)) return 2 * kBias + 1;
    if (std::fpclassify(x) != FP_NORMAL) return 0;
    std::frexp(x, &e);
    return e - 1 + kBias;
  }
  static bool is_subnormal(T x) { return std::fpclassify(x) == FP_SUBNORMAL; }
};

// v_div_scale: scales `value`, the numerator or the denominator. Sets `scales` if v_div_fmas must scale the quotient.
template <class T>
T scale_division_operand(T value, T denominator, T numerator, bool& scales) {
  using S = FloatFormat<T>;
  scales = false;
  bool is_denominator = std::memcmp(&value, &denominator, sizeof(T)) == 0;
  bool is_numerator = std::memcmp(&value, &numerator, sizeof(T)) == 0;
  if (numerator == 0 || denominator == 0) return std::numeric_limits<T>::quiet_NaN();
  T up = std::ldexp(value, S::kScaleExponent), down = std::ldexp(value, -S::kScaleExponent);
  if (S::exponent(numerator) - S::exponent(denominator) >= S::kFarExponentDifference) {
    scales = true;
    return is_denominator ? up : value;
  }
  if (S::is_subnormal(denominator)) return up;
  bool tiny_inverse = S::is_subnormal(T(1) / denominator), tiny_quotient = S::is_subnormal(numerator / denominator);
  if (tiny_inverse && tiny_quotient) {
    scales = true;
    return is_denominator ? down : value;
  }
  if (tiny_inverse) return down;
  if (tiny_quotient) {
    scales = true;
    return is_numerator ? up : value;
  }
  return S::exponent(numerator) <= S::kMantissaBits ? up : value;
}

template <class T>
void run_div_scale(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<T> ra, rb, rc, out;
    const T *a = read_lanes(w, o.a, half, ra), *b = read_lanes(w, o.b, half, rb), *c = read_lanes(w, o.c, half, rc);
    u32 mask = 0;
    for (int i = 0; i < kNumLanes; i++) {
      bool scales;
      out.lanes[i] = scale_division_operand(a[i], b[i], c[i], scales);
      mask |= u32(scales) << i;
    }
    write_mask(w, o.second_destination, half, mask & w.exec(u32(half)));
    write_result<T>(w, o, half, [&](int i) { return out.lanes[i]; });
  }
}
template <class T>
void run_div_fmas(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<T> ra, rb, rc;
    const T *a = read_lanes(w, o.a, half, ra), *b = read_lanes(w, o.b, half, rb), *c = read_lanes(w, o.c, half, rc);
    u32 mask = w.scalar_registers[kVcc + half];
    write_result<T>(w, o, half, [&](int i) {
      T q = std::fma(a[i], b[i], c[i]);
      // where v_div_scale set the mask bit, scale the quotient back
      return mask >> i & 1 ? std::ldexp(q, std::fabs(c[i]) >= 2 ? FloatFormat<T>::kScaleExponent
                                                                : -FloatFormat<T>::kScaleExponent)
                           : q;
    });
  }
}
template <class T>
constexpr auto div_fixup = [](T quotient, T denominator, T numerator) -> T {
  using S = FloatFormat<T>;
  constexpr T kInfinity = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  bool negative = std::signbit(denominator) != std::signbit(numerator);
  auto with_sign = [&](T x) { return negative ? -std::fabs(x) : std::fabs(x); };
  if (numerator != numerator) return numerator;
  if (denominator != denominator) return denominator;
  bool zero = denominator == 0, infinite = std::isinf(denominator);
  if ((zero && numerator == 0) || (infinite && std::isinf(numerator))) return kNan;
  if (zero || std::isinf(numerator)) return with_sign(kInfinity);
  if (infinite || numerator == 0) return with_sign(T(0));
  if (S::exponent(numerator) - S::exponent(denominator) < -(S::kBias + S::kMantissaBits)) return with_sign(T(0));
  // if operands are finite, a NaN quotient comes from an infinite intermediate result
  return with_sign(quotient != quotient ? kInfinity : quotient);
};

template <class T>
void add_division_rows(OpcodeTable& t, const std::string& type) {
  OpcodeRow scale{.run_op = run_div_scale<T>, .is_vector = true, .build_ops = [](CodeBuilder& b) {
              b.allow_modifiers({});
              Op op = b.make_op(b.row->run_op);
              op.to = b.vector_register(b.operand(0), num_words_of_type(type_of<T>())),
              op.second_destination = b.mask_register(b.operand(1));
              op.a = b.source_operand(b.operand(2), type_of<T>()), op.b = b.source_operand(b.operand(3), type_of<T>());
              op.c = b.source_operand(b.operand(4), type_of<T>());
              b.emit_op(op);
            }};
  add_row(t, "v_div_scale_" + type, scale);
  OpcodeRow fmas = vector_row<[](T a, T b, T c) -> T { return (fused_multiply_add<T>(a, b, c)); }>();
  fmas.run_op = run_div_fmas<T>;
  add_row(t, "v_div_fmas_" + type, fmas);
  add_row(t, "v_div_fixup_" + type, vector_row<div_fixup<T>>());
}

// Builds a mixed-precision fma: op_sel_hi says which operands are halves, op_sel which part of the register they use.
void build_mixed_fma(CodeBuilder& b) {
  b.allow_modifiers({"op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"});
  Op op = b.make_op(b.row->run_op);
  op.to = b.vector_register(b.operand(0), 1);
  SourceOperand* from[] = {&op.a, &op.b, &op.c};
  auto bit = [&](const char* name, size_t n) {
    const OpcodeModifier* m = b.instruction->modifier(name);
    return m && n < m->values.size() && m->values[n];
  };
  for (size_t n = 0; n < 3; n++) {
    bool is_half = bit("op_sel_hi", n);
    *from[n] = b.source_operand(b.operand(n + 1), Type::F32);
    if (is_half && b.operand(n + 1).kind == Operand::Float)
      *from[n] = b.constant_operand(encode_float(b.operand(n + 1).float_value, kHalfLayout), 1),
      from[n]->is_negative = b.operand(n + 1).is_negative;
    from[n]->is_half = is_half;
    if (is_half) from[n]->part = bit("op_sel", n) ? RegisterPart::Word1 : RegisterPart::Word0;
  }
  if (b.name != "v_fma_mix_f32")
    op.result_part = b.name == "v_fma_mixhi_f16" ? RegisterPart::Word1 : RegisterPart::Word0;
  b.emit_op(op);
}

}  // namespace

void add_float_rows(OpcodeTable& t) {
  add_arithmetic_rows<HalfFloat>(t, "f16"), add_arithmetic_rows<float>(t, "f32"), add_arithmetic_rows<double>(t, "f64");
  add_transcendental_rows<HalfFloat>(t, "f16"), add_transcendental_rows<float>(t, "f32");
  add_division_rows<float>(t, "f32"), add_division_rows<double>(t, "f64");
  add_row(t, "v_div_fixup_f16",
          vector_row<[](HalfFloat, HalfFloat b, HalfFloat c) -> HalfFloat { return float(c) / float(b); }>());
  add_row(t, "v_mul_dx9_zero_f32 v_mul_legacy_f32",
          vector_row<[](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }>());
  add_row(t, "v_ldexp_f32", vector_row<[](float a, i32 b) { return std::ldexp(a, b); }>());
  add_row(t, "v_trig_preop_f64", vector_row<bits_of_two_over_pi>());
  add_row(t, "v_ldexp_f64", vector_row<[](double a, i32 b) { return std::ldexp(a, b); }>());
  add_row(t, "v_ldexp_f16", vector_row<[](HalfFloat a, i16 b) -> HalfFloat { return std::ldexp(float(a), b); }>());
  add_row(t, "v_frexp_exp_i32_f32", vector_row<exponent_of<float>>());
  add_row(t, "v_frexp_exp_i32_f64", vector_row<exponent_of<double>>());
  add_row(t, "v_frexp_exp_i16_f16", vector_row<[](HalfFloat a) { return (i16(exponent_of<HalfFloat>(a))); }>());
  OpcodeRow mix = vector_row<[](float a, float b, float c) { return std::fma(a, b, c); }>();
  mix.build_ops = build_mixed_fma;
  add_row(t, "v_fma_mix_f32", mix);
  OpcodeRow mix_half = vector_row<[](float a, float b, float c) -> HalfFloat { return std::fma(a, b, c); }>();
  mix_half.build_ops = build_mixed_fma;
  add_row(t, "v_fma_mixlo_f16 v_fma_mixhi_f16", mix_half);
}

}  // namespace tgc::hip
