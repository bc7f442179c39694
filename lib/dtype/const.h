// The value of a constant, as in Python: a bool, an int, a float, or tinygrad's Invalid. Bools are ints, and an int
// combined with a float becomes a float. Arithmetic does not round to a dtype; truncate() does.
#pragma once
#include <string>

#include "lib/dtype/dtype.h"
#include "lib/support/int.h"

namespace tgc {

class Const {
 public:
  enum class Kind : uint8_t { Bool, Int, BigInt, Float, Invalid };

  constexpr Const() : kind_(Kind::Bool), int_value_(0) {}
  constexpr Const(bool v) : kind_(Kind::Bool), int_value_(v) {}
  constexpr Const(int v) : kind_(Kind::Int), int_value_(v) {}
  constexpr Const(int64_t v) : kind_(Kind::Int), int_value_(v) {}
  constexpr Const(double v) : kind_(Kind::Float), float_value_(v) {}
  Const(tgc::Int v) : kind_(v.is_small() ? Kind::Int : Kind::BigInt), int_value_(v.small_value()) {
    if (!v.is_small()) big_int_ = v.big_value();
  }
  static constexpr Const invalid() {
    Const c;
    c.kind_ = Kind::Invalid;
    return c;
  }

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_int() const { return kind_ == Kind::Int || kind_ == Kind::BigInt; }
  bool is_integral() const { return kind_ <= Kind::BigInt; }  // Python's isinstance(x, int)
  bool is_float() const { return kind_ == Kind::Float; }
  bool is_invalid() const { return kind_ == Kind::Invalid; }

  // requires is_integral()
  tgc::Int as_int() const { return kind_ == Kind::BigInt ? tgc::Int(big_int_) : tgc::Int(int_value_); }
  double as_float() const { return float_value_; }  // requires is_float()
  // Python's float(x), for all but Invalid. Throws Failure for an int that is too large for a double.
  double to_double() const { return is_float() ? float_value_ : as_int().to_double(); }
  // Python's int(x), for all but Invalid. Throws Failure for infinities and NaN.
  tgc::Int to_int() const { return is_float() ? tgc::Int::trunc(float_value_) : as_int(); }
  bool truthy() const {
    return is_float() ? float_value_ != 0 : kind_ == Kind::BigInt || kind_ == Kind::Invalid || int_value_ != 0;
  }

  std::string str() const;  // Python's str(x): "True", "5", "0.1", "Invalid"
  void append_str(std::string& out) const;

  // the value's 8 bytes; for Kind::BigInt, the address of its BigInt
  uint64_t raw_bits() const { return uint64_t(int_value_); }

 private:
  friend class Arg;
  Kind kind_;
  union {
    int64_t int_value_;
    double float_value_;
    const tgc::BigInt* big_int_;
  };
};

inline bool are_small_ints(Const a, Const b) { return a.kind() == Const::Kind::Int && b.kind() == Const::Kind::Int; }
// Called by py_equal and py_less, which have a fast path; call those.
bool py_equal_slow(Const a, Const b);
bool py_less_slow(Const a, Const b);
// Python's a == b and a < b. As in tinygrad (dtype.py:InvalidType), Invalid equals only itself, and py_less(a, b) is
// true if exactly one of `a` and `b` is Invalid.
inline bool py_equal(Const a, Const b) {
  return are_small_ints(a, b) ? a.raw_bits() == b.raw_bits() : py_equal_slow(a, b);
}
inline bool py_less(Const a, Const b) {
  return are_small_ints(a, b) ? int64_t(a.raw_bits()) < int64_t(b.raw_bits()) : py_less_slow(a, b);
}
inline bool py_less_equal(Const a, Const b) { return py_less(a, b) || py_equal(a, b); }
// Python's min and max: return `a` if the two compare equal.
inline Const py_min(Const a, Const b) { return py_less(b, a) ? b : a; }
inline Const py_max(Const a, Const b) { return py_less(a, b) ? b : a; }
// py_add, py_sub and py_mul throw Failure for Invalid, for an int that is combined with a float and too large for a
// double, and for a product beyond the limit of Int. The argument of py_neg must not be Invalid.
Const py_add(Const a, Const b);
Const py_sub(Const a, Const b);
Const py_mul(Const a, Const b);
Const py_neg(Const a);

namespace dtypes {
Const min(DType d);  // the least value; -inf for floats
Const max(DType d);  // the greatest value; inf for floats
// Returns Python's int(v), float(v) or bool(v), as `d` requires, or Invalid unchanged. Throws Failure if Python raises
// an exception.
Const as_const(Const v, DType d);
}  // namespace dtypes

// Returns the value of `v` after it was stored as the scalar dtype `d` and loaded again (dtype.py:truncate); unchanged
// if it is Invalid, or for other dtypes, such as index. Throws Failure if `v` is a float and `d` an integer dtype, or
// if `v` is an integer too large for a double and `d` a float dtype.
Const truncate(Const v, DType d);

// Convert between floating-point formats, rounding to nearest even. float_to_fp8 converts infinities and large numbers
// as dtype.py:float_to_fp8 does.
uint16_t float_to_half_bits(double v);
double half_bits_to_float(uint16_t bits);
uint16_t float_to_bf16_bits(float v);
float bf16_bits_to_float(uint16_t bits);
uint8_t float_to_fp8(double v, Scalar kind);
double fp8_to_float(uint8_t bits, Scalar kind);

}  // namespace tgc
