// Int: Python's integer. A product or left shift throws a Failure if its result may have more than kMaxBits bits
// (int.cpp). A value that fits int64 is stored inline. A larger value points to immutable digits that are interned in a
// process-wide table and never freed, so an Int is trivially copyable and equality compares two words.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

struct BigInt;  // sign and absolute value of an Int that does not fit int64; interned

class Int {
 public:
  constexpr Int() = default;
  constexpr Int(int v) : small_value_(v) {}
  constexpr Int(long v) : small_value_(v) {}
  constexpr Int(long long v) : small_value_(v) {}
  constexpr Int(unsigned v) : small_value_(v) {}
  Int(unsigned long v);
  Int(unsigned long long v) : Int(static_cast<unsigned long>(v)) {}
  explicit Int(const BigInt* big) : big_value_(big) {}

  static Int pow2(uint32_t exponent);
  // Returns Python's int(v). Throws Failure for infinities and NaN.
  static Int trunc(double v);
  // Parses an optional sign and a decimal number, or 0x, 0o or 0b and digits, with single underscores between digits or
  // behind 0x, 0o or 0b. Returns nullopt for other text.
  static std::optional<Int> parse(std::string_view s);

  bool is_small() const { return big_value_ == nullptr; }
  int64_t small_value() const { return small_value_; }   // valid when is_small()
  const BigInt* big_value() const { return big_value_; }  // null when is_small()
  std::optional<int64_t> to_int64() const { return big_value_ ? std::nullopt : std::optional(small_value_); }
  int64_t int64_or_throw(const char* what) const;  // throws Failure "WHAT is out of range: VALUE"
  uint64_t low_64_bits() const;                    // the value modulo 2**64
  double to_double() const;                        // rounds half to even; throws Failure if too large for a double
  std::string str() const;
  int sign() const { return big_value_ ? sign_of_large() : (small_value_ > 0) - (small_value_ < 0); }
  uint32_t bit_length() const;  // of the absolute value, as Python's int.bit_length

  Int operator-() const;
  Int abs() const { return sign() < 0 ? -*this : *this; }

  friend Int operator+(Int a, Int b) {
    int64_t out;
    return are_small(a, b) && !__builtin_add_overflow(a.small_value_, b.small_value_, &out) ? Int(out)
                                                                                            : add_large(a, b);
  }
  friend Int operator-(Int a, Int b) {
    int64_t out;
    return are_small(a, b) && !__builtin_sub_overflow(a.small_value_, b.small_value_, &out) ? Int(out)
                                                                                            : subtract_large(a, b);
  }
  friend Int operator*(Int a, Int b) {
    int64_t out;
    return are_small(a, b) && !__builtin_mul_overflow(a.small_value_, b.small_value_, &out) ? Int(out)
                                                                                            : multiply_large(a, b);
  }
  friend Int operator&(Int a, Int b);  // two's complement with infinite sign extension, as in Python
  friend Int operator|(Int a, Int b);
  friend Int operator^(Int a, Int b);
  friend Int operator<<(Int a, uint32_t bits);
  friend Int operator>>(Int a, uint32_t bits);  // rounds toward minus infinity, as in Python
  Int& operator+=(Int b) { return *this = *this + b; }
  Int& operator-=(Int b) { return *this = *this - b; }
  Int& operator*=(Int b) { return *this = *this * b; }

  friend bool operator==(Int a, Int b) { return a.small_value_ == b.small_value_ && a.big_value_ == b.big_value_; }
  friend std::strong_ordering operator<=>(Int a, Int b) {
    return are_small(a, b) ? a.small_value_ <=> b.small_value_ : compare_large(a, b);
  }

 private:
  static bool are_small(Int a, Int b) { return !a.big_value_ && !b.big_value_; }
  static Int add_large(Int a, Int b);
  static Int subtract_large(Int a, Int b);
  static Int multiply_large(Int a, Int b);
  static std::strong_ordering compare_large(Int a, Int b);
  int sign_of_large() const;

  int64_t small_value_ = 0;
  const BigInt* big_value_ = nullptr;
};

// floor_div, floor_mod and true_div throw Failure if b is 0.
Int floor_div(Int a, Int b);    // Python's a // b
Int floor_mod(Int a, Int b);    // Python's a % b
Int cdiv(Int a, Int b);         // C's a / b, and 0 when b is 0 (tinygrad helpers.py cdiv)
Int cmod(Int a, Int b);         // a - cdiv(a, b) * b (tinygrad helpers.py cmod)
Int gcd(Int a, Int b);          // as math.gcd: never negative
double true_div(Int a, Int b);  // Python's a / b: the nearest double; throws Failure if too large for a double
Int pow(Int base, uint32_t exponent);

}  // namespace tgc
