#include "lib/runtime/random.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "lib/dtype/const.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

// The generator splitmix64 (Steele, Lea, Flood 2014).
class RandomGenerator {
 public:
  RandomGenerator(uint64_t seed, std::string_view name, FloatKind floats, bool is_wide)
      : state_(seed), floats_(floats), has_wide_range_(is_wide) {
    for (char c : name) state_ = next() ^ uint8_t(c);
  }
  RandomGenerator(std::string_view name, std::span<const double> pool, size_t first)
      : RandomGenerator(0, name, FloatKind::Normal, false) {
    value_pool_.assign(pool.begin(), pool.end());
    for (size_t i = value_pool_.size() - 1; i > 0; i--) std::swap(value_pool_[i], value_pool_[next() % (i + 1)]);
    pool_position_ = first;
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  double next_real() {
    if (!value_pool_.empty()) return value_pool_[pool_position_++ % value_pool_.size()];
    const double usual = floats_ == FloatKind::Normal ? next_normal() : std::fabs(next_normal()) / 4 + 1.0 / 64;
    if (!has_wide_range_) return usual;
    const double kSpecial[] = {0.0, -0.0, 1.0, -1.0, least_denormal_, -least_denormal_, 0.0, -0.0};
    const uint64_t bits = next();
    const int any = int(bits >> 8 & 1023);
    const int exponent = !(bits & 64) ? any % 9 : has_narrow_exponent_ ? any % 17 - 4 : any % 31 - 14;
    const double wide = bits % 8 == 0 ? kSpecial[bits >> 8 & 7] : std::ldexp(next_normal(), exponent);
    return bits % 3 == 0 ? usual : floats_ == FloatKind::Normal ? wide : std::fabs(wide);
  }
  int64_t next_integer(int bits, bool is_unsigned) {
    if (!value_pool_.empty()) {
      const double number = value_pool_[pool_position_++ % value_pool_.size()],
                   limit = std::ldexp(1.0, std::min(bits, 53) - 1);
      return number == std::trunc(number) && std::fabs(number) < limit ? int64_t(number) : 1;
    }
    if (has_wide_range_)
      if (auto wide = next_wide_integer(bits)) return int64_t(*wide);
    auto magnitude = int64_t(next() >> 1 & 0x7FFFFFFF) % 50 + 1;
    return !is_unsigned && (next() & 1) ? -magnitude : magnitude;
  }

  void set_dtype(DType dtype) {
    if (!dtypes::is_float(dtype)) return;
    const auto info = dtypes::finfo(dtype);
    has_narrow_exponent_ = info.exponent_bits <= 5;
    least_denormal_ = std::ldexp(1.0, 2 - (1 << (info.exponent_bits - 1)) - info.mantissa_bits);
  }

 private:
  // Returns the next integer of a row of fill_wide_range(); nullopt: a number as fill_random() draws it. The low `bits`
  // bits matter.
  std::optional<uint64_t> next_wide_integer(int bits) {
    if (shuffled_integer_kinds_.empty()) {
      shuffled_integer_kinds_.resize(8);
      for (size_t i = 0; i < 8; i++) shuffled_integer_kinds_[i] = i;
      for (size_t i = 7; i > 0; i--) std::swap(shuffled_integer_kinds_[i], shuffled_integer_kinds_[next() % (i + 1)]);
    }
    const size_t kind = shuffled_integer_kinds_.back();
    shuffled_integer_kinds_.pop_back();
    const uint64_t sign = uint64_t(1) << (bits - 1), any = next();
    const uint64_t numbers[] = {any & 1, ~uint64_t(0), sign, sign - 1, any, any};
    return kind < std::size(numbers) ? std::optional(numbers[kind]) : std::nullopt;
  }
  // Approximates a normal distribution by the sum of four uniform variables, scaled to variance 1. Uses no libm, whose
  // results vary between machines.
  double next_normal() {
    uint64_t bits = next();
    int64_t sum = 0;
    for (int k = 0; k < 4; k++) sum += int64_t(bits >> (16 * k) & 0xFFFF);
    return double(sum - 2 * 65535) * (1.7320508075688772 / 65536);
  }
  uint64_t state_;
  std::vector<double> value_pool_;
  size_t pool_position_ = 0;
  FloatKind floats_;
  bool has_wide_range_;
  bool has_narrow_exponent_ = false;  // true if the dtype has at most 5 bits of exponent
  double least_denormal_ = 0;
  std::vector<size_t> shuffled_integer_kinds_;
};

template <class T, class Draw>
void fill_elements(Array& array, Draw draw) {
  constexpr size_t kPiece = 1 << 16;
  std::span<T> all = array.as<T>();
  for (size_t i = 0; i < all.size(); i++) {
    if (i % kPiece == 0) throw_if_late();
    all[i] = T(draw());
  }
}

void fill_from_generator(RandomGenerator g, Array& array) {
  g.set_dtype(array.dtype());
  Scalar kind = array.dtype().scalar_kind();
  switch (kind) {
    case Scalar::Bool: return fill_elements<uint8_t>(array, [&] { return g.next() >> 63; });
    case Scalar::Float32: return fill_elements<float>(array, [&] { return g.next_real(); });
    case Scalar::Float64: return fill_elements<double>(array, [&] { return g.next_real(); });
    case Scalar::Float16: return fill_elements<uint16_t>(array, [&] { return float_to_half_bits(g.next_real()); });
    case Scalar::BFloat16:
      return fill_elements<uint16_t>(array, [&] { return float_to_bf16_bits(float(g.next_real())); });
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return fill_elements<uint8_t>(array, [&] { return float_to_fp8(g.next_real(), kind); });
    default: break;
  }
  const bool is_unsigned = dtypes::is_unsigned(array.dtype());
  const int bits = array.dtype().itemsize() * 8;
  switch (array.dtype().itemsize()) {
    case 1: return fill_elements<uint8_t>(array, [&] { return g.next_integer(bits, is_unsigned); });
    case 2: return fill_elements<uint16_t>(array, [&] { return g.next_integer(bits, is_unsigned); });
    case 4: return fill_elements<uint32_t>(array, [&] { return g.next_integer(bits, is_unsigned); });
    default: return fill_elements<uint64_t>(array, [&] { return g.next_integer(bits, is_unsigned); });
  }
}

}  // namespace

void fill_random(Array& array, uint64_t seed, std::string_view name, FloatKind floats) {
  fill_from_generator(RandomGenerator(seed, name, floats, false), array);
}

void fill_from_pool(Array& array, std::string_view name, std::span<const double> pool, uint64_t turn) {
  fill_from_generator(RandomGenerator(name, pool, size_t(turn) * size_t(array.size())), array);
}

void set_signs(Array& array, int sign) {
  const DType dtype = array.dtype();
  if (dtypes::is_bool(dtype) || dtypes::is_unsigned(dtype)) return;
  const auto size = size_t(dtype.itemsize());
  const uint64_t sign_bit = uint64_t(1) << (8 * size - 1);
  // the smallest normal float, or 1; smaller magnitudes are replaced
  const uint64_t least = dtypes::is_float(dtype) ? uint64_t(1) << dtypes::finfo(dtype).mantissa_bits : 1;
  Array one(dtype, {1});
  fill_random(one, 0, "one");
  for (int64_t i = 0; i < array.size(); i++) {
    uint8_t* at = array.data() + size_t(i) * size;
    uint64_t bits = 0;
    std::memcpy(&bits, at, size);
    if ((bits & ~sign_bit) < least) std::memcpy(&bits, one.data(), size);
    const bool is_negative = bits & sign_bit;
    if (is_negative != (sign < 0)) bits = dtypes::is_float(dtype) ? bits ^ sign_bit : 0 - bits;
    std::memcpy(at, &bits, size);
  }
}

void fill_wide_range(Array& array, uint64_t seed, std::string_view name, FloatKind floats) {
  fill_from_generator(RandomGenerator(seed, name, floats, true), array);
}

std::string InputDistribution::text() const {
  if (!has_unit_arrays()) return "";
  std::string out = "between 0 and 1";
  size_t count = 0;
  constexpr size_t kShown = 3;
  for (const std::string& name : floats == FloatKind::Unit ? decltype(unit_inputs)() : unit_inputs)
    if (++count <= kShown) out += (count == 1 ? " in " : ", ") + name;
  return count > kShown ? out + " and " + std::to_string(count - kShown) + " more" : out;
}

}  // namespace tgc
