#include <cmath>

#include "lib/model/tensor.h"

namespace tgc {
namespace {

constexpr double kPi = 3.141592653589793, kLog2 = 0.6931471805599453;

// Broadcasts x and y as tensor.py:_broadcasted does, with the same casts around the broadcast.
std::pair<Tensor, Tensor> broadcasted(Tensor x, Tensor y, bool match_dtype = true) {
  if (match_dtype && x.dtype() != y.dtype()) {
    DType to = least_upper_dtype({x.dtype(), y.dtype()});
    x = x.cast(to), y = y.cast(to);
  }
  Ints shape = broadcast_shape({x.shape(), y.shape()});
  auto one = [&](const Tensor& t) { return t.cast(sum_acc_dtype(t.dtype())).broadcast_to(shape).cast(t.dtype()); };
  return {one(x), one(y)};
}

Tensor binary(Op op, const Tensor& a, const Tensor& b) {
  auto [x, y] = broadcasted(a, b);
  return Tensor(x.uop().alu(op, y.uop()));
}

Tensor unary(Op op, const Tensor& a) { return Tensor(a.uop().alu(op)); }
Tensor float_unary(Op op, const Tensor& a) { return unary(op, a.cast(least_upper_float(a.dtype()))); }

void check_integral(const Tensor& t) {
  if (!dtypes::is_int(t.dtype()) && !dtypes::is_bool(t.dtype()))
    throw Failure(std::string(t.dtype().repr()) + " has no bitwise operations");
}

Tensor select_where(Tensor cond, Tensor x, Tensor y) {
  std::tie(cond, x) = broadcasted(cond, x, false);
  std::tie(cond, y) = broadcasted(cond, y, false);
  std::tie(x, y) = broadcasted(x, y);
  return Tensor(cond.cast(dtypes::bool_).uop().where(x.uop(), y.uop()));
}

}  // namespace

Tensor Tensor::add(Tensor b) const { return binary(Op::ADD, *this, b); }
Tensor Tensor::mul(Tensor b) const { return binary(Op::MUL, *this, b); }
Tensor Tensor::idiv(Tensor b) const { return binary(Op::IDIV, *this, b); }
Tensor Tensor::maximum(Tensor b) const { return binary(Op::MAX, *this, b); }
Tensor Tensor::maximum(Const b) const { return maximum(number(b)); }
Tensor Tensor::lt(Tensor b) const { return binary(Op::CMPLT, *this, b); }
Tensor Tensor::ne(Tensor b) const { return binary(Op::CMPNE, *this, b); }
Tensor Tensor::lt(Const b) const { return lt(number(b)); }
Tensor Tensor::gt(Const b) const { return number(b).lt(*this); }
Tensor Tensor::ne(Const b) const { return ne(number(b)); }

Tensor Tensor::bitwise_and(Tensor b) const { return check_integral(*this), binary(Op::AND, *this, b); }
Tensor Tensor::bitwise_or(Tensor b) const { return check_integral(*this), binary(Op::OR, *this, b); }
Tensor Tensor::bitwise_xor(Tensor b) const { return check_integral(*this), binary(Op::XOR, *this, b); }

Tensor Tensor::sub(Tensor b) const {
  auto [x, y] = broadcasted(*this, b);
  return x + y.neg();
}

Tensor Tensor::minimum(Tensor b) const {
  auto [x, y] = broadcasted(*this, b);
  return x.inverse().maximum(y.inverse()).inverse();
}
Tensor Tensor::minimum(Const b) const { return minimum(number(b)); }

Tensor Tensor::div(Tensor b, Rounding rounding) const {
  auto [n, d] = broadcasted(*this, b);
  if (dtypes::is_int(n.dtype()) && rounding == Rounding::Trunc) return n.idiv(d);
  if (dtypes::is_int(n.dtype()) && rounding == Rounding::Floor) {
    Tensor quotient = n.idiv(d), rest = binary(Op::MOD, n, d);
    Tensor opposite = (n.gt(Const(0)) & d.lt(Const(0))) | (n.lt(Const(0)) & d.gt(Const(0)));
    return (opposite & rest.ne(Const(0))).where(quotient - 1, quotient);
  }
  DType out = n.dtype();
  Tensor q = n.cast(least_upper_float(n.dtype())) * d.cast(least_upper_float(d.dtype())).reciprocal();
  if (rounding == Rounding::None) return q;
  if (!dtypes::is_int(out)) out = q.dtype();
  return (rounding == Rounding::Trunc ? q.trunc() : q.floor()).cast(out);
}
Tensor Tensor::div(Const b, Rounding rounding) const { return div(number(b), rounding); }

Tensor Tensor::mod(Tensor b) const {
  auto [x, y] = broadcasted(*this, b);
  return x - x.div(y, Rounding::Floor) * y;
}

Tensor Tensor::pow(Tensor b) const {
  auto [base, exponent] = broadcasted(*this, b);
  if (!base.is_floating_point()) throw Failure("the base of a power needs to be a float");
  Tensor out = Tensor(base.uop().alu(Op::POW, exponent.uop()));
  return !is_floating_point() && exponent.is_floating_point() ? out.round().cast(dtype()) : out;
}
Tensor Tensor::pow(Const b) const {
  if (is_floating_point() || !b.is_integral() || py_less(b, 0)) return pow(number(b));
  auto [base, exponent] = broadcasted(*this, number(b));
  return Tensor(base.uop().alu(Op::POW, exponent.uop()));
}

Tensor Tensor::where(Tensor yes, Tensor no) const {
  std::tie(yes, no) = broadcasted(yes, no);
  return select_where(*this, yes, no);
}
Tensor Tensor::where(Tensor yes, Const no) const { return where(yes, yes.number(no)); }
Tensor Tensor::where(Const yes, Tensor no) const {
  auto [n, y] = broadcasted(no, no.number(yes));
  return select_where(*this, y, n);
}
Tensor Tensor::where(Const yes, Const no) const { return select_where(*this, number(yes), number(no)); }

Tensor Tensor::logaddexp(Tensor other) const {
  Tensor m = maximum(other);
  return ((*this - m).exp() + (broadcasted(*this, other).second - m).exp()).log() + m;
}
Tensor Tensor::logaddexp(Const other) const { return logaddexp(number(other)); }

Tensor operator+(const Tensor& a, const Tensor& b) { return a.add(b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return a.sub(b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return a.mul(b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return a.div(b); }
Tensor operator%(const Tensor& a, const Tensor& b) { return a.mod(b); }
Tensor operator&(const Tensor& a, const Tensor& b) { return a.bitwise_and(b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return a.bitwise_or(b); }
Tensor operator^(const Tensor& a, const Tensor& b) { return a.bitwise_xor(b); }

Tensor poly_n(Tensor x, std::initializer_list<double> coefficients) {
  Tensor out;
  for (double c : coefficients) out = out ? out * x + c : 0.0 * x + c;
  return out;
}

Tensor Tensor::logical_not() const { return cast(dtypes::bool_).ne(Const(true)); }
Tensor Tensor::neg() const { return dtypes::is_bool(dtype()) ? logical_not() : *this * -1; }
Tensor Tensor::bitwise_not() const {
  return check_integral(*this), dtypes::is_bool(dtype()) ? logical_not() : *this ^ -1;
}
Tensor Tensor::inverse() const { return is_floating_point() ? neg() : bitwise_not(); }

Tensor Tensor::log2() const { return float_unary(Op::LOG2, *this); }
Tensor Tensor::exp2() const { return float_unary(Op::EXP2, *this); }
Tensor Tensor::sqrt() const { return float_unary(Op::SQRT, *this); }
Tensor Tensor::sin() const { return float_unary(Op::SIN, *this); }
Tensor Tensor::reciprocal() const { return float_unary(Op::RECIPROCAL, *this); }
Tensor Tensor::trunc() const { return unary(Op::TRUNC, *this); }
Tensor Tensor::log() const { return log2() * kLog2; }

Tensor Tensor::exp() const {
  if (!is_floating_point()) return (*this * (1 / kLog2)).exp2();
  return (cast(least_upper_dtype({dtype(), dtypes::float32})) * (1 / kLog2)).exp2().cast(dtype());
}

Tensor Tensor::cos() const {
  if (!is_floating_point()) return (kPi / 2 - *this).sin();
  return (kPi / 2 - cast(least_upper_dtype({dtype(), dtypes::float32}))).sin().cast(dtype());
}

Tensor Tensor::tan() const { return sin() / cos(); }

// Approximation 4.4.46 of Abramowitz and Stegun, as in tinygrad.
Tensor Tensor::asin() const {
  Tensor series = poly_n(abs(), {-0.0012624911, 0.0066700901, -0.0170881256, 0.0308918810, -0.0501743046, 0.0889789874,
                                 -0.2145988016, 1.5707963050});
  return sign() * (kPi / 2 - (1.0 - abs()).sqrt() * series);
}
Tensor Tensor::acos() const { return kPi / 2 - asin(); }
// atan(), asinh() and acosh() do not use squares of larger numbers, which may be infinite.
constexpr double kLarge = 1e9;
Tensor Tensor::atan() const {
  return abs().gt(Const(kLarge)).where(sign() * (kPi / 2), (*this / (1 + *this * *this).sqrt()).asin());
}
Tensor Tensor::sinh() const { return (exp() - neg().exp()) / 2; }
Tensor Tensor::cosh() const { return (exp() + neg().exp()) / 2; }
Tensor Tensor::tanh() const { return 2.0 * (2.0 * *this).sigmoid() - 1.0; }
Tensor Tensor::asinh() const {  // computes with |x|, because a negative x and the root would cancel
  Tensor x = abs();
  return sign() * x.gt(Const(kLarge)).where(x.log() + kLog2, (x + (x.square() + 1).sqrt()).log());
}
Tensor Tensor::acosh() const { return gt(Const(kLarge)).where(log() + kLog2, (*this + (square() - 1).sqrt()).log()); }
Tensor Tensor::atanh() const { return ((1 + *this) / (1 - *this)).log() / 2; }

// Approximation 7.1.26 of Abramowitz and Stegun, as in tinygrad.
Tensor Tensor::erf() const {
  Tensor t = 1.0 / (1.0 + 0.3275911 * abs());
  return sign() * (1.0 - t * poly_n(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}) *
                   square().neg().exp());
}

Tensor Tensor::ceil() const {
  Tensor b = trunc();
  return gt(b).where(b + 1, b);
}
Tensor Tensor::floor() const {
  Tensor b = trunc();
  return lt(b).where(b - 1, b);
}
Tensor Tensor::round() const {
  Tensor b = trunc() / 2.0;
  return gt(Const(0)).eq(b.trunc().eq(b)).where((*this - 0.5).ceil(), (*this + 0.5).floor());
}
Tensor Tensor::sign() const {
  return ne(Const(0)).where(lt(Const(0)).where(full_like(-1), full_like(1)), full_like(0)) + *this * 0;
}
Tensor Tensor::abs() const { return *this * sign(); }
Tensor Tensor::square() const { return *this * *this; }
Tensor Tensor::isnan() const { return ne(*this); }
Tensor Tensor::isinf(bool positive, bool negative) const {
  return eq(Const(HUGE_VAL)) * positive + eq(Const(-HUGE_VAL)) * negative;
}

Tensor Tensor::clamp(std::optional<Const> min, std::optional<Const> max) const {
  Tensor x = min ? lt(*min).where(*min, *this) : *this;
  return max ? x.gt(*max).where(*max, x) : x;
}
Tensor Tensor::clamp(Tensor min, Tensor max) const {
  Tensor x = min ? lt(min).where(min, *this) : *this;
  return max ? x.gt(max).where(max, x) : x;
}

Tensor Tensor::relu() const { return gt(Const(0)).where(*this, Const(0)); }
Tensor Tensor::sigmoid() const { return (1 + (*this * (-1 / kLog2)).exp2()).reciprocal(); }
Tensor Tensor::hardswish() const { return *this * (*this * (1.0 / 6) + 0.5).clamp(Const(0.0), Const(1.0)); }
Tensor Tensor::leaky_relu(double slope) const { return lt(Const(0)).where(slope * *this, *this); }
Tensor Tensor::gelu() const {
  return 0.5 * *this * (1 + (std::sqrt(2 / kPi) * (*this + 0.044715 * pow(Const(3)))).tanh());
}
Tensor Tensor::elu(double alpha) const { return relu() - alpha * (1 - exp()).relu(); }
Tensor Tensor::celu(double alpha) const {
  return maximum(Const(0)) + (alpha * ((*this / alpha).exp() - 1)).minimum(Const(0));
}
Tensor Tensor::selu(double alpha, double gamma) const {
  Tensor positive = ge(Const(0));
  return gamma * Tensor(graph().node(Op::DETACH, dtypes::bool_, positive.uop())).where(*this, alpha * (exp() - 1));
}
Tensor Tensor::softplus(double beta) const {
  Tensor x = *this * beta;
  return (1 / beta) * (x.relu() + (1 + x.abs().neg().exp()).log());
}
Tensor Tensor::softsign() const { return *this / (1 + abs()); }
Tensor Tensor::mish() const { return *this * softplus().tanh(); }

}  // namespace tgc
