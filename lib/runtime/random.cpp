#include "lib/runtime/random.h"

#include <cmath>

#include "lib/dtype/const.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

// the pseudo-random generator splitmix64 (Steele, Lea, Flood 2014)
class Generator {
 public:
  Generator(uint64_t seed, std::string_view name, Floats floats) : state_(seed), floats_(floats) {
    for (char c : name) state_ = next() ^ uint8_t(c);
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  double real() { return floats_ == Floats::Normal ? normal() : std::fabs(normal()) / 4 + 1.0 / 64; }
  int64_t integer(bool is_unsigned) {
    auto magnitude = int64_t(next() >> 1 & 0x7FFFFFFF) % 50 + 1;
    return !is_unsigned && (next() & 1) ? -magnitude : magnitude;
  }

 private:
  // Sums four uniform variables; scales to mean 0, variance 1. Uses no libm, whose results vary between machines.
  double normal() {
    uint64_t bits = next();
    int64_t sum = 0;
    for (int k = 0; k < 4; k++) sum += int64_t(bits >> (16 * k) & 0xFFFF);
    return double(sum - 2 * 65535) * (1.7320508075688772 / 65536);
  }
  uint64_t state_;
  Floats floats_;
};

template <class T, class Draw>
void fill(Array& array, Draw draw) {
  constexpr size_t kPiece = 1 << 16;
  std::span<T> all = array.as<T>();
  for (size_t i = 0; i < all.size(); i++) {
    if (i % kPiece == 0) throw_if_late();
    all[i] = T(draw());
  }
}

}  // namespace

void fill_random(Array& array, uint64_t seed, std::string_view name, Floats floats) {
  Generator g(seed, name, floats);
  Scalar kind = array.dtype().scalar_kind();
  switch (kind) {
    case Scalar::Bool: return fill<uint8_t>(array, [&] { return g.next() >> 63; });
    case Scalar::Float32: return fill<float>(array, [&] { return g.real(); });
    case Scalar::Float64: return fill<double>(array, [&] { return g.real(); });
    case Scalar::Float16: return fill<uint16_t>(array, [&] { return float_to_half_bits(g.real()); });
    case Scalar::BFloat16: return fill<uint16_t>(array, [&] { return float_to_bf16_bits(float(g.real())); });
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return fill<uint8_t>(array, [&] { return float_to_fp8(g.real(), kind); });
    default: break;
  }
  bool is_unsigned = dtypes::is_unsigned(array.dtype());
  switch (array.dtype().itemsize()) {
    case 1: return fill<uint8_t>(array, [&] { return g.integer(is_unsigned); });
    case 2: return fill<uint16_t>(array, [&] { return g.integer(is_unsigned); });
    case 4: return fill<uint32_t>(array, [&] { return g.integer(is_unsigned); });
    default: return fill<uint64_t>(array, [&] { return g.integer(is_unsigned); });
  }
}

}  // namespace tgc
