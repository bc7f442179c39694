// Quantization to small integers with a scale and a zero point.
#include "lib/model/op.h"

namespace tgc {
namespace {

Tensor clamp_cast(const Tensor& x, DType to) { return x.clamp(dtypes::min(to), dtypes::max(to)).cast(to); }

// Broadcasts a scale or zero point to the shape of a tensor. A scale or zero point is one value, one value per slice
// along `axis`, or one value per block of `axis`.
struct Spread {
  Ints shape;
  int64_t axis, block;
  Spread(OpCall& c, const Tensor& x)
      : shape(x.shape()), axis(c.attr_int("axis", 1)), block(c.attr_int("block_size", 0)) {
    if (axis < 0) axis += x.ndim();
  }

  Tensor operator()(const Tensor& v) const {
    if (v.numel() == 1) return v;
    if (axis < 0 || axis >= int64_t(shape.size())) throw Failure("axis " + std::to_string(axis) + " is out of range");
    if (block) return v.repeat_interleave(block, axis);
    return v.reshape(vector_shape(int64_t(shape.size()), axis, v.numel()));
  }
};

// Rounds `steps`, values divided by the scale, adds the zero point and clamps to `to`. Ties go to even, except for
// uint8, which rounds by adding 0.4999999 as in tinygrad.
Tensor quantized(const Tensor& steps, const Tensor& zero, DType to) {
  auto shifted = [&](const Tensor& t) { return zero ? t + zero : t; };
  return clamp_cast(to == dtypes::uint8 ? shifted(steps + 0.4999999).cast(dtypes::int32) : shifted(steps.round()), to);
}

Values quantize_linear(OpCall& c) {
  Tensor x = c.tensor(0);
  Spread spread(c, x);
  Tensor scale = spread(c.tensor(1)), zero = c.has(2) ? spread(c.tensor(2)) : Tensor();
  int64_t asked = c.attr_int("output_dtype", 0);
  DType to = zero ? zero.dtype() : asked ? c.dtype_of(asked) : dtypes::uint8;
  if (dtypes::is_float(to)) throw Failure("quantizing to " + std::string(to.repr()) + " is not supported");
  return {quantized(x / scale, zero, to).contiguous()};
}

Values dequantize_linear(OpCall& c) {
  Tensor x = c.tensor(0);
  Spread spread(c, x);
  Tensor scale = spread(c.tensor(1)), steps = x.cast(dtypes::int32);
  if (dtypes::is_float(x.dtype())) throw Failure("dequantizing " + std::string(x.dtype().repr()) + " is not supported");
  if (c.has(2)) steps = steps - spread(c.tensor(2));
  return {(steps * scale).cast(scale.dtype())};
}

// Chooses the scale and zero point such that 8 bits cover all values and 0.
Values dynamic_quantize_linear(OpCall& c) {
  Tensor x = c.tensor(0);
  Tensor scale = (x.max().maximum(Const(0)) + (-x).max().maximum(Const(0))) / 255;
  Tensor zero = clamp_cast((-(x.min().minimum(Const(0)) / scale)).round(), dtypes::uint8);
  return {quantized(x / scale, zero, dtypes::uint8), scale, zero};
}

// ---- integer products

Tensor centered(OpCall& c, size_t input, std::optional<size_t> zero) {
  Tensor x = c.tensor(input).cast(dtypes::int32);
  return zero && c.has(*zero) ? x - c.tensor(*zero).cast(dtypes::int32) : x;
}

// minus_rows subtracts one zero point, or one per row. per_channel makes one value, or one per slice, fit `like`.
Tensor minus_rows(const Tensor& x, const Tensor& zero) {
  return zero.numel() == 1 ? x - zero.reshape({}) : x - zero.unsqueeze(-1);
}
Tensor per_channel(const Tensor& v, const Tensor& like, int64_t axis) {
  if (v.numel() == 1) return v.reshape({});
  return v.reshape(vector_shape(like.ndim(), axis, v.numel()));
}

// Runs another op on `inputs`, with the attributes of this node.
Tensor run_op(OpCall& c, std::string_view name, Values inputs) {
  OpCall other(c.builder(), c.node(), c.version(), std::move(inputs));
  return find_op("", name, c.version())->run(other).at(0).tensor();
}

Values conv_integer(OpCall& c) {
  Tensor w = centered(c, 1, {});
  if (c.has(3)) w = w - per_channel(c.tensor(3).cast(dtypes::int32), w, 0);
  return {run_op(c, "Conv", {centered(c, 0, 2), w})};
}

Values matmul_integer(OpCall& c) {
  Tensor a = centered(c, 0, {});
  if (c.has(2)) a = minus_rows(a, c.tensor(2).cast(dtypes::int32));
  return {a.matmul(centered(c, 1, 3))};
}

// Converts integers with scale `scale` to the output's scale and zero point.
Tensor requantize(const Tensor& x, const Tensor& scale, const Tensor& out_scale, const Tensor& out_zero) {
  return clamp_cast((x * scale / out_scale).round() + out_zero, out_zero.dtype());
}

Values qlinear_conv(OpCall& c) {
  Tensor w = centered(c, 3, {});
  w = w - per_channel(c.tensor(5).cast(dtypes::int32), w, 0);
  Tensor y = run_op(c, "Conv", {centered(c, 0, 2), w, c.has(8) ? Value(c.tensor(8)) : Value()});
  Tensor scale = c.tensor(1).reshape({}) * per_channel(c.tensor(4), y, 1);
  return {requantize(y, scale, c.tensor(6).reshape({}), c.tensor(7).reshape({}))};
}

Values qlinear_matmul(OpCall& c) {
  Tensor y = centered(c, 0, 2).matmul(centered(c, 3, 5));
  return {requantize(y, c.tensor(1) * c.tensor(4), c.tensor(6), c.tensor(7))};
}

// ---- com.microsoft

Values qlinear_add(OpCall& c) {
  Tensor sum = centered(c, 0, 2) * c.tensor(1) + centered(c, 3, 5) * c.tensor(4), zero = c.tensor(7);
  return {clamp_cast((sum / c.tensor(6)).round() + zero, zero.dtype())};
}

Values qlinear_mul(OpCall& c) {
  return {requantize(centered(c, 0, 2) * centered(c, 3, 5), c.tensor(1) * c.tensor(4), c.tensor(6), c.tensor(7))};
}

Values qlinear_global_average_pool(OpCall& c) {
  Tensor x = centered(c, 0, 2) * c.tensor(1), zero = c.tensor(4);
  bool channels_last = c.attr_int("channels_last", 0) != 0;
  Ints axes = int_range(channels_last ? 1 : 2, x.ndim() - channels_last);
  return {clamp_cast((x.mean(axes, true) / c.tensor(3)).round() + zero, zero.dtype())};
}

constexpr std::string_view kConv = "auto_pad dilations group kernel_shape pads strides", kMicrosoft = "com.microsoft";

}  // namespace

std::span<const OpDef> quantize_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"QuantizeLinear", 10, "axis block_size output_dtype saturate", quantize_linear},
    {"DequantizeLinear", 10, "axis block_size", dequantize_linear},
    {"DynamicQuantizeLinear", 11, "", dynamic_quantize_linear},
    {"ConvInteger", 10, kConv, conv_integer},
    {"MatMulInteger", 10, "", matmul_integer},
    {"QLinearConv", 10, kConv, qlinear_conv},
    {"QLinearMatMul", 10, "", qlinear_matmul},
    {"QLinearAdd", 1, "", qlinear_add, kMicrosoft},
    {"QLinearMul", 1, "", qlinear_mul, kMicrosoft},
    {"QLinearGlobalAveragePool", 1, "channels_last", qlinear_global_average_pool, kMicrosoft},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
