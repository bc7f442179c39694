#include "lib/support/int.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_set>
#include <vector>

namespace tgc {

// An absolute value in base 2**32, least significant digit first, without leading zero digits.
using Digits = std::vector<uint32_t>;

struct BigInt {
  bool is_negative;
  Digits digits;
  bool operator==(const BigInt&) const = default;
};

namespace {

struct BigIntHash {
  size_t operator()(const std::unique_ptr<BigInt>& b) const { return (*this)(*b); }
  size_t operator()(const BigInt& b) const {
    size_t h = b.is_negative;
    for (uint32_t d : b.digits) h = h * 0x9E3779B97F4A7C15ull + d;
    return h;
  }
  using is_transparent = void;
};
struct BigIntEqual {
  static const BigInt& ref(const std::unique_ptr<BigInt>& b) { return *b; }
  static const BigInt& ref(const BigInt& b) { return b; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const { return ref(a) == ref(b); }
  using is_transparent = void;
};

Int intern_big_int(BigInt value) {
  static std::mutex mutex;
  static auto& table =
      *new std::unordered_set<std::unique_ptr<BigInt>, BigIntHash, BigIntEqual>;  // never destroyed
  std::lock_guard lock(mutex);
  auto it = table.find(value);
  if (it == table.end()) it = table.insert(std::make_unique<BigInt>(std::move(value))).first;
  return Int(it->get());
}

void drop_leading_zeros(Digits& d) {
  while (!d.empty() && d.back() == 0) d.pop_back();
}

Int make_normalized_int(bool negative, Digits digits) {
  drop_leading_zeros(digits);
  if (digits.size() <= 2) {
    uint64_t m = 0;
    for (size_t i = digits.size(); i-- > 0;) m = m << 32 | digits[i];
    if (m <= uint64_t(INT64_MAX)) return negative ? -int64_t(m) : int64_t(m);
    if (negative && m == uint64_t(1) << 63) return INT64_MIN;
  }
  return intern_big_int({negative, std::move(digits)});
}

uint64_t unsigned_abs(int64_t v) { return v < 0 ? 0 - uint64_t(v) : uint64_t(v); }

Digits magnitude_digits(uint64_t m) {
  Digits d{uint32_t(m), uint32_t(m >> 32)};
  drop_leading_zeros(d);
  return d;
}
Digits magnitude_digits(Int v) {
  if (!v.is_small()) return v.big_value()->digits;
  return magnitude_digits(unsigned_abs(v.small_value()));
}

// Throws Failure for too many digits, so that repeated squaring cannot exhaust memory.
void check_num_digits(size_t digits) {
  constexpr size_t kMaxBits = 1 << 15;
  if (digits > kMaxBits / 32) throw Failure("an integer of more than " + std::to_string(kMaxBits) + " bits");
}

int compare_digits(const Digits& a, const Digits& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

Digits add_digits(const Digits& a, const Digits& b) {
  Digits out;
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry; i++) {
    carry += uint64_t(i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0);
    out.push_back(uint32_t(carry));
    carry >>= 32;
  }
  return out;
}

// Requires a >= b.
Digits subtract_digits(const Digits& a, const Digits& b) {
  Digits out;
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); i++) {
    int64_t d = int64_t(a[i]) - (i < b.size() ? b[i] : 0) + borrow;
    out.push_back(uint32_t(d));
    borrow = d < 0 ? -1 : 0;
  }
  drop_leading_zeros(out);
  return out;
}

Digits multiply_digits(const Digits& a, const Digits& b) {
  check_num_digits(a.size() + b.size());
  Digits out(a.size() + b.size(), 0);
  for (size_t i = 0; i < a.size(); i++) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.size() || carry; j++) {
      carry += out[i + j] + uint64_t(a[i]) * (j < b.size() ? b[j] : 0);
      out[i + j] = uint32_t(carry);
      carry >>= 32;
    }
  }
  drop_leading_zeros(out);
  return out;
}

uint32_t bit_count(const Digits& d) { return d.empty() ? 0 : 32 * uint32_t(d.size() - 1) + std::bit_width(d.back()); }

Digits shift_digits_left(const Digits& d, uint32_t bits) {
  check_num_digits(d.size() + bits / 32);
  Digits out(bits / 32, 0);
  uint64_t carry = 0;
  for (uint32_t digit : d) {
    carry |= uint64_t(digit) << (bits % 32);
    out.push_back(uint32_t(carry));
    carry >>= 32;
  }
  out.push_back(uint32_t(carry));
  drop_leading_zeros(out);
  return out;
}

// Sets `lost` to whether a 1 bit was shifted out.
Digits shift_digits_right(const Digits& d, uint32_t bits, bool& lost) {
  size_t whole = bits / 32;
  uint32_t part = bits % 32;
  lost = false;
  for (size_t i = 0; i < std::min(whole, d.size()); i++) lost |= d[i] != 0;
  Digits out;
  if (whole < d.size()) lost |= (d[whole] & ((uint64_t(1) << part) - 1)) != 0;
  for (size_t i = whole; i < d.size(); i++) {
    uint64_t wide = uint64_t(i + 1 < d.size() ? d[i + 1] : 0) << 32 | d[i];
    out.push_back(uint32_t(wide >> part));
  }
  drop_leading_zeros(out);
  return out;
}

uint32_t divide_small(Digits& d, uint32_t by) {
  uint64_t rest = 0;
  for (size_t i = d.size(); i-- > 0;) {
    rest = rest << 32 | d[i];
    d[i] = uint32_t(rest / by);
    rest %= by;
  }
  drop_leading_zeros(d);
  return uint32_t(rest);
}

// Divides the absolute values `a` by `b` and truncates; bit by bit if `b` has several digits.
void divide_digits(const Digits& a, const Digits& b, Digits& quotient, Digits& rest) {
  rest.clear();
  quotient = a;
  if (b.size() == 1) {
    rest = magnitude_digits(divide_small(quotient, b[0]));
    return;
  }
  quotient.assign(a.size(), 0);
  for (uint32_t bit = bit_count(a); bit-- > 0;) {
    rest = shift_digits_left(rest, 1);
    if (a[bit / 32] >> (bit % 32) & 1) {
      if (rest.empty()) rest.push_back(0);
      rest[0] |= 1;
    }
    if (compare_digits(rest, b) >= 0) {
      rest = subtract_digits(rest, b);
      quotient[bit / 32] |= 1u << (bit % 32);
    }
  }
  drop_leading_zeros(quotient);
}

void negate_twos_complement(Digits& d) {
  uint64_t carry = 1;
  for (uint32_t& digit : d) {
    carry += uint32_t(~digit);
    digit = uint32_t(carry);
    carry >>= 32;
  }
}

// Returns `v` in two's complement. `n` digits must be enough for the bits and the sign of `v`.
Digits twos_complement(Int v, size_t n) {
  Digits d = magnitude_digits(v);
  d.resize(n, 0);
  if (v.sign() < 0) negate_twos_complement(d);
  return d;
}

template <class Op>
Int apply_bitwise(Int a, Int b, Op op) {
  if (a.is_small() && b.is_small()) return op(a.small_value(), b.small_value());
  size_t n = std::max(magnitude_digits(a).size(), magnitude_digits(b).size()) + 1;
  Digits x = twos_complement(a, n), y = twos_complement(b, n);
  for (size_t i = 0; i < n; i++) x[i] = uint32_t(op(int64_t(x[i]), int64_t(y[i])));
  bool negative = x.back() >> 31;
  if (negative) negate_twos_complement(x);
  return make_normalized_int(negative, std::move(x));
}

Int add_signed(Int a, bool a_negative, Int b, bool b_negative) {
  Digits x = magnitude_digits(a), y = magnitude_digits(b);
  if (a_negative == b_negative) return make_normalized_int(a_negative, add_digits(x, y));
  int c = compare_digits(x, y);
  if (c == 0) return 0;
  return c > 0 ? make_normalized_int(a_negative, subtract_digits(x, y))
               : make_normalized_int(b_negative, subtract_digits(y, x));
}

using Uint128 = unsigned __int128;

Uint128 as_uint128(const Digits& d) {
  Uint128 out = 0;
  for (size_t i = d.size(); i-- > 0;) out = out << 32 | d[i];
  return out;
}
Digits magnitude_digits(Uint128 m) {
  Digits d;
  for (; m; m >>= 32) d.push_back(uint32_t(m));
  return d;
}

// Returns the truncated quotient and the remainder; requires b != 0.
std::pair<Int, Int> divmod_trunc(Int a, Int b) {
  if (a.is_small() && b.is_small() && !(a.small_value() == INT64_MIN && b.small_value() == -1))
    return {a.small_value() / b.small_value(), a.small_value() % b.small_value()};
  Digits x = magnitude_digits(a), y = magnitude_digits(b), quotient, rest;
  if (x.size() <= 4 && y.size() <= 4) {
    Uint128 n = as_uint128(x), d = as_uint128(y);
    quotient = magnitude_digits(n / d), rest = magnitude_digits(n % d);
  } else {
    divide_digits(x, y, quotient, rest);
  }
  return {make_normalized_int((a.sign() < 0) != (b.sign() < 0), std::move(quotient)),
          make_normalized_int(a.sign() < 0, std::move(rest))};
}

[[noreturn]] void division_by_zero() { throw Failure("integer division or modulo by zero"); }

bool can_divide_int64(Int a, Int b) { return a.is_small() && b.is_small() && b.small_value() > 0; }

}  // namespace

Int::Int(unsigned long v) {
  if (v <= uint64_t(INT64_MAX)) small_value_ = int64_t(v);
  else *this = make_normalized_int(false, magnitude_digits(uint64_t(v)));
}

Int Int::pow2(uint32_t exponent) { return Int(1) << exponent; }

Int Int::trunc(double v) {
  if (!std::isfinite(v))
    throw Failure(std::isnan(v) ? "cannot convert float NaN to integer" : "cannot convert float infinity to integer");
  v = std::trunc(v);
  if (v >= -9223372036854775808.0 && v < 9223372036854775808.0) return int64_t(v);
  int exponent;
  double m = std::frexp(std::fabs(v), &exponent);  // |v| = m * 2**exponent, the mantissa has 53 bits
  return make_normalized_int(v < 0,
                             shift_digits_left(magnitude_digits(uint64_t(std::ldexp(m, 53))), uint32_t(exponent - 53)));
}

std::optional<Int> Int::parse(std::string_view s) {
  bool negative = false;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) {
    negative = s[0] == '-';
    s.remove_prefix(1);
  }
  uint32_t base = 10;
  if (s.size() > 2 && s[0] == '0' && std::strchr("xXoObB", s[1])) {
    base = (s[1] | 32) == 'x' ? 16 : (s[1] | 32) == 'o' ? 8 : 2;
    s.remove_prefix(2);
  }
  if (s.empty() || s.back() == '_') return std::nullopt;
  uint64_t small = 0;
  Digits big;
  bool after_digit = base != 10;
  for (char c : s) {
    if (c == '_') {
      if (!after_digit) return std::nullopt;
      after_digit = false;
      continue;
    }
    after_digit = true;
    uint32_t digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
    if (digit >= base) return std::nullopt;
    if (big.empty() && small < (uint64_t(1) << 59)) {
      small = small * base + digit;
      continue;
    }
    if (big.empty()) big = magnitude_digits(small);
    uint64_t carry = digit;
    for (uint32_t& d : big) {
      carry += uint64_t(d) * base;
      d = uint32_t(carry);
      carry >>= 32;
    }
    if (carry) big.push_back(uint32_t(carry));
  }
  return make_normalized_int(negative, big.empty() ? magnitude_digits(small) : std::move(big));
}

int64_t Int::int64_or_throw(const char* what) const {
  if (big_value_) throw Failure(std::string(what) + " is out of range: " + str());
  return small_value_;
}

uint64_t Int::low_64_bits() const {
  if (!big_value_) return uint64_t(small_value_);
  uint64_t m = big_value_->digits[0] | uint64_t(big_value_->digits.size() > 1 ? big_value_->digits[1] : 0) << 32;
  return big_value_->is_negative ? 0 - m : m;
}

double Int::to_double() const {
  if (!big_value_) return double(small_value_);
  uint32_t bits = bit_count(big_value_->digits);
  double out;
  if (bits <= 64) {
    out = double(uint64_t(big_value_->digits[0]) | uint64_t(big_value_->digits[1]) << 32);
  } else {
    // Keep the top 64 bits. If a 1 bit was lost, set the lowest kept bit, so that the kept bits round as the whole
    // value would.
    bool lost;
    Digits top = shift_digits_right(big_value_->digits, bits - 64, lost);
    uint64_t m = (uint64_t(top[0]) | uint64_t(top[1]) << 32) | lost;
    out = std::ldexp(double(m), int(bits - 64));
  }
  if (std::isinf(out)) throw Failure("int too large to convert to float");
  return big_value_->is_negative ? -out : out;
}

std::string Int::str() const {
  if (!big_value_) return std::to_string(small_value_);
  Digits rest = big_value_->digits;
  std::string out;
  while (!rest.empty()) {
    uint32_t chunk = divide_small(rest, 1000000000);
    for (int i = 0; i < 9 && (!rest.empty() || chunk); i++, chunk /= 10) out += char('0' + chunk % 10);
  }
  if (big_value_->is_negative) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

int Int::sign_of_large() const { return big_value_->is_negative ? -1 : 1; }

uint32_t Int::bit_length() const {
  return big_value_ ? bit_count(big_value_->digits) : uint32_t(std::bit_width(unsigned_abs(small_value_)));
}

Int Int::operator-() const {
  if (!big_value_ && small_value_ != INT64_MIN) return -small_value_;
  return make_normalized_int(sign() > 0, magnitude_digits(*this));
}

Int Int::add_large(Int a, Int b) { return add_signed(a, a.sign() < 0, b, b.sign() < 0); }
Int Int::subtract_large(Int a, Int b) { return add_signed(a, a.sign() < 0, b, b.sign() >= 0); }
Int Int::multiply_large(Int a, Int b) {
  if (are_small(a, b))
    return make_normalized_int((a.small_value_ < 0) != (b.small_value_ < 0),
                               magnitude_digits(Uint128(unsigned_abs(a.small_value_)) * unsigned_abs(b.small_value_)));
  return make_normalized_int((a.sign() < 0) != (b.sign() < 0),
                             multiply_digits(magnitude_digits(a), magnitude_digits(b)));
}

Int operator&(Int a, Int b) {
  return apply_bitwise(a, b, [](int64_t x, int64_t y) { return x & y; });
}
Int operator|(Int a, Int b) {
  return apply_bitwise(a, b, [](int64_t x, int64_t y) { return x | y; });
}
Int operator^(Int a, Int b) {
  return apply_bitwise(a, b, [](int64_t x, int64_t y) { return x ^ y; });
}

Int operator<<(Int a, uint32_t bits) {
  if (!a.big_value_ && a.small_value_ == 0) return 0;
  if (!a.big_value_ && bits < 63 &&
      std::bit_width(uint64_t(a.small_value_ < 0 ? ~a.small_value_ : a.small_value_)) + bits < 63)
    return a.small_value_ * (int64_t(1) << bits);
  if (bits > (1u << 24)) throw Failure("shift count is too large: " + std::to_string(bits));
  return make_normalized_int(a.sign() < 0, shift_digits_left(magnitude_digits(a), bits));
}

Int operator>>(Int a, uint32_t bits) {
  if (!a.big_value_) return a.small_value_ >> std::min(bits, 63u);
  bool lost;
  Int out = make_normalized_int(a.sign() < 0, shift_digits_right(a.big_value_->digits, bits, lost));
  return a.sign() < 0 && lost ? out - 1 : out;
}

std::strong_ordering Int::compare_large(Int a, Int b) {
  if (!a.big_value_ || !b.big_value_) return a.big_value_ ? a.sign() <=> 0 : 0 <=> b.sign();
  if (a.sign() != b.sign()) return a.sign() <=> b.sign();
  int c = compare_digits(a.big_value_->digits, b.big_value_->digits);
  return (a.sign() < 0 ? -c : c) <=> 0;
}

Int floor_div(Int a, Int b) {
  if (can_divide_int64(a, b)) return a.small_value() / b.small_value() - (a.small_value() % b.small_value() < 0);
  if (b == 0) division_by_zero();
  auto [q, r] = divmod_trunc(a, b);
  return r != 0 && (r.sign() < 0) != (b.sign() < 0) ? q - 1 : q;
}

Int floor_mod(Int a, Int b) {
  if (can_divide_int64(a, b)) {
    int64_t rest = a.small_value() % b.small_value();
    return rest < 0 ? rest + b.small_value() : rest;
  }
  if (b == 0) division_by_zero();
  Int r = divmod_trunc(a, b).second;
  return r != 0 && (r.sign() < 0) != (b.sign() < 0) ? r + b : r;
}

Int cdiv(Int a, Int b) {
  return can_divide_int64(a, b) ? Int(a.small_value() / b.small_value()) : b == 0 ? Int(0) : divmod_trunc(a, b).first;
}
Int cmod(Int a, Int b) { return a - cdiv(a, b) * b; }

Int gcd(Int a, Int b) {
  if (can_divide_int64(a, b) && a.small_value() > 0) return std::gcd(a.small_value(), b.small_value());
  while (b != 0) {
    Int r = divmod_trunc(a, b).second;
    a = b;
    b = r;
  }
  return a.abs();
}

double true_div(Int a, Int b) {
  if (b == 0) division_by_zero();
  constexpr int64_t kExact = int64_t(1) << 53;
  if (a.is_small() && b.is_small() && -kExact <= a.small_value() && a.small_value() <= kExact &&
      -kExact <= b.small_value() && b.small_value() <= kExact)
    return double(a.small_value()) / double(b.small_value());
  // Scale so that the quotient has at least 66 bits, or counts quarters of the smallest denormal, 2 ** -1074. Set its
  // lowest bit if there is a remainder, for correct rounding.
  const int shift = std::min(66 + int(b.bit_length()) - int(a.bit_length()), 1076);
  Int n = shift > 0 ? a.abs() << uint32_t(shift) : a.abs(), d = shift < 0 ? b.abs() << uint32_t(-shift) : b.abs();
  auto [q, rest] = divmod_trunc(n, d);
  if (shift == 1076 && q.bit_length() <= 54) {  // a denormal: rounded here, because ldexp() would round again
    const Int quarters = q & Int(3);
    q = q >> 2u;
    if (quarters == 3 || (quarters == 2 && (rest != 0 || (q & Int(1)) == 1))) q = q + Int(1);
    q = q << 2u, rest = 0;
  }
  double out = std::ldexp((rest == 0 ? q : q | Int(1)).to_double(), -shift);
  if (std::isinf(out)) throw Failure("integer division result too large for a float");
  return (a.sign() < 0) != (b.sign() < 0) ? -out : out;
}

Int pow(Int base, uint32_t exponent) {
  Int out = 1;
  for (; exponent; exponent >>= 1, base = exponent ? base * base : base)
    if (exponent & 1) out = out * base;
  return out;
}

}  // namespace tgc
