#include <charconv>
#include <cmath>
#include <cstdlib>

#include "lib/model/op.h"

namespace tgc {
namespace {

// Computes in float32 if x has a smaller float dtype, because several roundings would lose precision.
template <class F>
Tensor apply_in_float32(const Tensor& x, F f) {
  bool narrow = x.is_floating_point() && x.dtype().itemsize() < 4;
  return narrow ? f(x.cast(dtypes::float32)) : f(x);
}

template <class F>
Tensor apply_and_restore_dtype(OpCall& c, F f) {
  return apply_in_float32(c.tensor(0), f).cast(c.tensor(0).dtype());
}

template <Tensor (Tensor::*F)() const>
Values unary_op(OpCall& c) {
  Tensor x = c.tensor(0), y = apply_in_float32(x, [](const Tensor& t) { return (t.*F)(); });
  return {dtypes::is_float(y.dtype()) && x.is_floating_point() ? y.cast(x.dtype()) : y};
}

template <Tensor (Tensor::*F)(Tensor) const>
Values binary_op(OpCall& c) {
  return {(c.tensor(0).*F)(c.tensor(1))};
}

template <Tensor (Tensor::*F)(Tensor) const>
Values fold_inputs(OpCall& c) {
  Tensor out;
  for (auto& t : c.tensors()) out = out ? (out.*F)(t) : t;
  return {out};
}

// Before opset 7, the attribute `axis` aligns the first axis of the second operand with an axis of the first.
Tensor second_operand(OpCall& c) {
  Tensor x = c.tensor(0), y = c.tensor(1);
  if (c.attribute_int("broadcast", 0) == 0 || !c.op_attribute("axis")) return y;
  Ints shape = y.shape();
  shape.resize(size_t(std::max<int64_t>(y.ndim(), x.ndim() - x.resolve_dim(c.attribute_int("axis")))), 1);
  return y.reshape(shape);
}

Tensor onnx_pow(Tensor x, Tensor y) {
  if (x.is_floating_point()) return x.pow(y.cast(x.dtype()));
  // A result very near to an integer is taken as this integer, because pow() rounds.
  Tensor p = x.cast(dtypes::float64).pow(y.cast(dtypes::float64)), near = p.round();
  return ((p - near).abs().le(near.abs() * 0x1p-40).where(near, p.trunc())).cast(x.dtype());
}

// A quotient of floats may be rounded up to an integer, so one more step corrects the remainder.
Tensor onnx_mod(OpCall& c) {
  Tensor x = c.tensor(0), y = c.tensor(1);
  bool fmod = c.attribute_flag("fmod", false);
  if (!fmod) return x % y;
  if (!x.is_floating_point()) return x - x.div(y, Tensor::Rounding::Trunc) * y;
  return apply_in_float32(x,
                          [&](const Tensor& a) {
                      Tensor b = y.cast(a.dtype()).abs(), size = a.abs(),
                             rest = size - size.div(b, Tensor::Rounding::Trunc) * b;
                      rest = rest.ge(b).where(rest - b, rest.lt(Const(0)).where(rest + b, rest));
                      return a.lt(Const(0)).where(-rest, rest);
                          })
      .cast(x.dtype());
}

Tensor bit_shift(OpCall& c) {
  Tensor x = c.tensor(0), y = c.tensor(1);
  if (!dtypes::is_unsigned(x.dtype())) throw Failure("a shift of " + std::string(x.dtype().repr()));
  // `power` is 2 ** y, computed exactly as a product over the bits of y; 0 if the dtype cannot hold it
  Tensor power = x.ones_like();
  const int64_t bits = 8 * x.dtype().itemsize();
  for (int64_t by = 1; by < bits; by *= 2) {
    Tensor odd = y.idiv(y.number(by)).bitwise_and(y.number(1)).ne(Const(0));
    power = odd.where(power * Const(int64_t(1) << by), power);
  }
  power = y.lt(Const(bits)).where(power, Const(0));
  if (c.attribute_choice("direction", "", {"LEFT", "RIGHT"}) == "LEFT") return x * power;
  return power.eq(Const(0)).where(Const(0), x.idiv(power.maximum(Const(1))));
}

double parse_float_text(const std::string& text) {
  char* end = nullptr;
  double v = std::strtod(text.c_str(), &end);
  if (text.empty() || *end) throw Failure("'" + text + "' is not a number");
  return v;
}

// The text of a float can be read back as the same float64, or as the same float32 if the float is narrower.
std::string onnx_number_text(const Array& a, int64_t i) {
  double v = element_as_double(a, i);
  if (!dtypes::is_float(a.dtype())) return element_text(a, i);
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[64];
  auto format = v == 0 || (std::fabs(v) >= 1e-4 && std::fabs(v) < 1e16) ? std::chars_format::fixed
                                                                        : std::chars_format::scientific;
  auto end = a.dtype() == dtypes::float64 ? std::to_chars(text, text + sizeof text, v, format).ptr
                                          : std::to_chars(text, text + sizeof text, float(v), format).ptr;
  std::string out(text, end);
  return format == std::chars_format::fixed && out.find('.') == out.npos ? out + ".0" : out;
}

Values cast_to_string(OpCall& c) {
  if (c.value(0).is_strings()) return {c.value(0)};
  Array a = c.array(0);
  StringTensor out{Ints(a.shape().begin(), a.shape().end()), {}};
  for (int64_t i = 0; i < a.size(); i++) out.items.push_back(onnx_number_text(a, i));
  return {out};
}

Values cast_to(OpCall& c, onnx::ElementType type) {
  if (type == onnx::ElementType::String) return cast_to_string(c);
  DType to = c.dtype_of(int64_t(type));
  if (onnx::is_narrow_type(type) && !c.value(0).is_strings())
    return {{to_narrow_type(c.tensor(0), type, c.attribute_flag("saturate", true)), type}};
  if (!c.value(0).is_strings()) return {c.tensor(0).cast(to)};
  if (onnx::is_narrow_type(type)) throw Failure("a cast of strings to " + onnx::name_of(type) + " is not supported");
  auto& strings = c.value(0).strings();
  std::vector<double> values;
  for (auto& s : strings.items) values.push_back(parse_float_text(s));
  return {Tensor::from_values(c.graph(), values, dtypes::float64).cast(to).reshape(strings.shape)};
}

Tensor prelu_slope(const Tensor& x, Tensor slope) {
  if (slope.ndim() != 1 || x.ndim() < 2 || slope.size(0) != x.size(1) || slope.size(0) == 1) return slope;
  Ints shape(size_t(x.ndim() - 1), 1);
  shape[0] = slope.size(0);
  return slope.size(0) == x.size(-1) ? slope : slope.reshape(shape);  // before opset 7, a slope may be per channel
}

}  // namespace

std::span<const OpDef> math_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Add", 1, "broadcast axis consumed_inputs", [](OpCall& c) -> Values { return {c.tensor(0) + second_operand(c)}; }},
    {"Sub", 1, "broadcast axis consumed_inputs", [](OpCall& c) -> Values { return {c.tensor(0) - second_operand(c)}; }},
    {"Mul", 1, "broadcast axis consumed_inputs", [](OpCall& c) -> Values { return {c.tensor(0) * second_operand(c)}; }},
    {"Div", 1, "broadcast axis consumed_inputs",
     [](OpCall& c) -> Values { return {c.tensor(0).div(second_operand(c), dtypes::is_int(c.tensor(0).dtype()) ? Tensor::Rounding::Trunc : Tensor::Rounding::None)}; }},
    {"Mod", 10, "fmod", [](OpCall& c) -> Values { return {onnx_mod(c)}; }},
    {"Pow", 1, "broadcast axis", [](OpCall& c) -> Values { return {onnx_pow(c.tensor(0), second_operand(c))}; }},
    {"Neg", 1, "consumed_inputs", unary_op<&Tensor::neg>},
    {"Reciprocal", 1, "consumed_inputs", unary_op<&Tensor::reciprocal>},
    {"Sqrt", 1, "consumed_inputs", unary_op<&Tensor::sqrt>},
    {"Sign", 9, "", unary_op<&Tensor::sign>},
    {"Abs", 1, "consumed_inputs", unary_op<&Tensor::abs>},
    {"Exp", 1, "consumed_inputs", unary_op<&Tensor::exp>},
    {"Log", 1, "consumed_inputs", unary_op<&Tensor::log>},
    {"Floor", 1, "consumed_inputs", unary_op<&Tensor::floor>},
    {"Ceil", 1, "consumed_inputs", unary_op<&Tensor::ceil>},
    {"Round", 11, "", unary_op<&Tensor::round>},
    {"Max", 1, "consumed_inputs", fold_inputs<&Tensor::maximum>},
    {"Min", 1, "consumed_inputs", fold_inputs<&Tensor::minimum>},
    {"Sum", 1, "consumed_inputs", fold_inputs<&Tensor::add>},
    {"Mean", 1, "consumed_inputs", [](OpCall& c) -> Values { return {fold_inputs<&Tensor::add>(c)[0].tensor() / Const(int64_t(c.num_inputs()))}; }},
    {"Sin", 7, "", unary_op<&Tensor::sin>},
    {"Cos", 7, "", unary_op<&Tensor::cos>},
    {"Tan", 7, "", unary_op<&Tensor::tan>},
    {"Asin", 7, "", unary_op<&Tensor::asin>},
    {"Acos", 7, "", unary_op<&Tensor::acos>},
    {"Atan", 7, "", unary_op<&Tensor::atan>},
    {"Sinh", 9, "", unary_op<&Tensor::sinh>},
    {"Cosh", 9, "", unary_op<&Tensor::cosh>},
    {"Tanh", 1, "consumed_inputs", unary_op<&Tensor::tanh>},
    {"Asinh", 9, "", unary_op<&Tensor::asinh>},
    {"Acosh", 9, "", unary_op<&Tensor::acosh>},
    {"Atanh", 9, "", unary_op<&Tensor::atanh>},
    {"Erf", 9, "", unary_op<&Tensor::erf>},
    {"Relu", 1, "consumed_inputs", unary_op<&Tensor::relu>},
    {"Sigmoid", 1, "consumed_inputs", unary_op<&Tensor::sigmoid>},
    {"HardSwish", 14, "", unary_op<&Tensor::hardswish>},
    {"Softsign", 1, "", unary_op<&Tensor::softsign>},
    {"Softplus", 1, "", [](OpCall& c) -> Values { return {apply_and_restore_dtype(c, [](const Tensor& x) { return x.softplus(); })}; }},
    {"Mish", 18, "", unary_op<&Tensor::mish>},
    {"Elu", 1, "alpha consumed_inputs", [](OpCall& c) -> Values { return {apply_and_restore_dtype(c, [&](const Tensor& x) { return x.elu(c.attribute_float("alpha", 1.0)); })}; }},
    {"Celu", 12, "alpha",
     [](OpCall& c) -> Values {
       double alpha = c.attribute_float("alpha", 1.0);
       if (alpha == 0) throw Failure("attribute 'alpha' is 0");
       return {apply_and_restore_dtype(c, [&](const Tensor& x) { return x.celu(alpha); })};
     }},
    {"Selu", 1, "alpha gamma consumed_inputs",
     [](OpCall& c) -> Values { return {apply_and_restore_dtype(c, [&](const Tensor& x) { return x.selu(c.attribute_float("alpha", 1.67326319217681884765625), c.attribute_float("gamma", 1.05070102214813232421875)); })}; }},
    {"HardSigmoid", 1, "alpha beta consumed_inputs",
     [](OpCall& c) -> Values { return {apply_and_restore_dtype(c, [&](const Tensor& x) { return (c.attribute_float("alpha", 0.2) * x + c.attribute_float("beta", 0.5)).clamp(Const(0), Const(1)); })}; }},
    {"Gelu", 20, "approximate",
     [](OpCall& c) -> Values {
       std::string how = c.attribute_choice("approximate", "none", {"none", "tanh"});
       return {apply_and_restore_dtype(c, [&](const Tensor& x) { return how == "tanh" ? x.gelu() : 0.5 * x * (1 + (x / std::sqrt(2.0)).erf()); })};
     }},
    {"PRelu", 1, "consumed_inputs",
     [](OpCall& c) -> Values {
       Tensor x = c.tensor(0);
       return {x.gt(Const(0)).where(x, x * (c.opset_version() < 7 ? prelu_slope(x, c.tensor(1)) : c.tensor(1)))};
     }},
    {"LeakyRelu", 1, "alpha consumed_inputs", [](OpCall& c) -> Values { return {c.tensor(0).leaky_relu(c.attribute_float("alpha", 0.01))}; }},
    {"ThresholdedRelu", 1, "alpha", [](OpCall& c) -> Values { return {c.tensor(0).gt(Const(c.attribute_float("alpha", 1.0))).where(c.tensor(0), Const(0))}; }},
    {"Shrink", 9, "bias lambd",
     [](OpCall& c) -> Values {
       Tensor x = c.tensor(0);
       double bias = c.attribute_float("bias", 0.0), lambda = c.attribute_float("lambd", 0.5);
       Tensor compared = x.is_floating_point() ? x : x.cast(dtypes::float32);
       return {compared.lt(Const(-lambda)).where(x + bias, compared.gt(Const(lambda)).where(x - bias, Const(0))).cast(x.dtype())};
     }},
    {"Clip", 1, "min max consumed_inputs",
     [](OpCall& c) -> Values {
       std::optional<Const> low, high;
       if (c.op_attribute("min")) low = c.attribute_float("min", 0);
       if (c.op_attribute("max")) high = c.attribute_float("max", 0);
       return {low || high ? c.tensor(0).clamp(low, high) : c.tensor(0)};
     }},
    {"Clip", 11, "", [](OpCall& c) -> Values { return {c.tensor(0).clamp(c.tensor_or_none(1), c.tensor_or_none(2))}; }},
    {"Less", 1, "broadcast axis", [](OpCall& c) -> Values { return {c.tensor(0).lt(second_operand(c))}; }},
    {"LessOrEqual", 12, "", [](OpCall& c) -> Values { return {c.tensor(0).le(c.tensor(1))}; }},
    {"Greater", 1, "broadcast axis", [](OpCall& c) -> Values { return {c.tensor(0).gt(second_operand(c))}; }},
    {"GreaterOrEqual", 12, "", [](OpCall& c) -> Values { return {c.tensor(0).ge(c.tensor(1))}; }},
    {"Equal", 1, "broadcast axis", [](OpCall& c) -> Values { return {c.value(0).is_strings() ? equality_of_strings(c) : c.tensor(0).eq(second_operand(c))}; }},
    {"IsNaN", 9, "", unary_op<&Tensor::isnan>},
    {"IsInf", 10, "detect_negative detect_positive",
     [](OpCall& c) -> Values { return {c.tensor(0).isinf(c.attribute_flag("detect_positive", true), c.attribute_flag("detect_negative", true))}; }},
    {"Not", 1, "", unary_op<&Tensor::logical_not>},
    {"And", 1, "broadcast axis", [](OpCall& c) -> Values { return {c.tensor(0).eq(second_operand(c)).where(c.tensor(0), Const(false))}; }},
    {"Or", 1, "broadcast axis", [](OpCall& c) -> Values { return {c.tensor(0).eq(second_operand(c)).where(c.tensor(0), Const(true))}; }},
    {"Xor", 1, "broadcast axis", [](OpCall& c) -> Values { return {c.tensor(0).cast(dtypes::bool_).bitwise_xor(second_operand(c).cast(dtypes::bool_))}; }},
    {"BitwiseAnd", 18, "", binary_op<&Tensor::bitwise_and>},
    {"BitwiseOr", 18, "", binary_op<&Tensor::bitwise_or>},
    {"BitwiseXor", 18, "", binary_op<&Tensor::bitwise_xor>},
    {"BitwiseNot", 18, "", unary_op<&Tensor::bitwise_not>},
    {"BitShift", 11, "direction", [](OpCall& c) -> Values { return {bit_shift(c)}; }},
    {"Where", 9, "", [](OpCall& c) -> Values { return {c.tensor(0).where(c.tensor(1), c.tensor(2))}; }},
    {"Cast", 6, "to saturate", [](OpCall& c) -> Values { return cast_to(c, onnx::ElementType(int32_t(c.attribute_int("to")))); }},
    {"CastLike", 15, "saturate", [](OpCall& c) -> Values { return cast_to(c, c.type(1)); }},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
