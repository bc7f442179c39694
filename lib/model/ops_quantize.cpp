#include "lib/model/op.h"
#include "lib/model/realize.h"

namespace tgc {
namespace {

Tensor clamp_cast(const Tensor& x, DType to) { return x.clamp(dtypes::min(to), dtypes::max(to)).cast(to); }

// Broadcasts one value, one for each slice along `axis`, or one for each block of `block` elements along `axis`.
struct QuantParamBroadcast {
  Ints shape;
  int64_t axis, block;
  QuantParamBroadcast(OpCall& c, const Tensor& x)
      : shape(x.shape()), axis(c.attribute_int("axis", 1)), block(c.attribute_int("block_size", 0)) {
    if (axis < 0) axis += x.ndim();
    if (block < 0) throw Failure("its block_size is " + std::to_string(block));
  }

  Tensor operator()(const Tensor& v) const {
    if (v.numel() == 1 && v.ndim() <= 1) return v.reshape({});
    auto rank = int64_t(shape.size());
    if (axis < 0 || axis >= rank) throw Failure("axis " + std::to_string(axis) + " is out of range");
    int64_t n = shape[size_t(axis)];
    if (!block) {
      if (v.ndim() != 1 || v.numel() != n)
        throw Failure("its scale or zero point is not one number, nor one for each of the " + std::to_string(n) +
                      " slices along axis " + std::to_string(axis));
      return v.reshape(vector_shape(rank, axis, n));
    }
    Ints blocks = shape;
    blocks[size_t(axis)] = ceildiv(n, block);
    if (v.shape() != blocks) throw Failure("its scale or zero point is not one number for each block");
    return v.repeat_interleave(block, axis).slice_axis(axis, {0, n});
  }
};

// Divides in double precision: tinygrad's product with the reciprocal may round halfway cases to the wrong integer.
// METAL and WEBGPU have no doubles.
Tensor divide_in_double(const Tensor& x, const Tensor& y) {
  const std::string& device = shared_tensor_state(x.graph()).device;
  if (device == "METAL" || device == "WEBGPU") return x / y;
  return (x.cast(dtypes::float64) / y.cast(dtypes::float64)).cast(least_upper_dtype({x.dtype(), y.dtype()}));
}

// Rounds, with ties to even, and clamps to the range of `to`. `zero` may be None.
Tensor round_to_type(const Tensor& steps, const Tensor& zero, onnx::ElementType to) {
  Tensor y = steps.cast(dtypes::float32).round();
  if (zero) y = y + zero.cast(dtypes::float32);
  DType dtype = *onnx::dtype_of(to);
  if (to == onnx::ElementType::Int4) return y.clamp(Const(-8), Const(7)).cast(dtype);
  if (to == onnx::ElementType::UInt4) return y.clamp(Const(0), Const(15)).cast(dtype);
  return clamp_cast(y, dtype);
}

Values quantize_linear(OpCall& c) {
  using onnx::ElementType;
  Tensor x = c.tensor(0), scale = c.tensor(1);
  QuantParamBroadcast spread(c, x);
  auto asked = ElementType(int32_t(c.attribute_int("output_dtype", 0)));
  ElementType to = c.has_input(2) ? c.type(2) : asked != ElementType::Undefined ? asked : ElementType::UInt8;
  if (asked != ElementType::Undefined && asked != to)
    throw Failure("its output_dtype is " + onnx::name_of(asked) + ", its zero point is of " + onnx::name_of(to));
  if (int64_t precision = c.attribute_int("precision", 0))
    x = x.cast(c.dtype_of(precision)), scale = scale.cast(c.dtype_of(precision));
  Tensor steps = divide_in_double(x, spread(scale));
  bool whole = to == ElementType::UInt8 || to == ElementType::Int8 || to == ElementType::UInt16 ||
               to == ElementType::Int16 || to == ElementType::UInt4 || to == ElementType::Int4;
  if (!whole && !onnx::find_narrow_float(to)) throw Failure("quantizing to " + onnx::name_of(to) + " is not supported");
  if (!whole) return {{to_narrow_type(steps, to, c.attribute_flag("saturate", true)), to}};
  return {{round_to_type(steps, c.has_input(2) ? spread(c.tensor(2)) : Tensor(), to).contiguous(),
           onnx::is_narrow_type(to) ? to : ElementType::Undefined}};
}

Values dequantize_linear(OpCall& c) {
  Tensor x = c.tensor(0), scale = c.tensor(1);
  QuantParamBroadcast spread(c, x);
  if (c.has_input(2) && c.type(2) != c.type(0))
    throw Failure("its zero point is of " + onnx::name_of(c.type(2)) + ", its input of " + onnx::name_of(c.type(0)));
  int64_t asked = c.attribute_int("output_dtype", 0);
  DType to = asked ? c.dtype_of(asked) : scale.dtype();
  Tensor steps = x.cast(dtypes::float32);
  if (!onnx::find_narrow_float(c.type(0))) {
    if (dtypes::is_float(x.dtype())) throw Failure("dequantizing " + onnx::name_of(c.type(0)) + " is not supported");
    if (c.has_input(2)) steps = (x.cast(dtypes::int32) - spread(c.tensor(2)).cast(dtypes::int32)).cast(dtypes::float32);
  }
  return {(steps * spread(scale)).cast(to)};
}

// The quantized range includes 0.
Values dynamic_quantize_linear(OpCall& c) {
  Tensor x = c.tensor(0), low = x.min().minimum(Const(0));
  Tensor range = x.max().maximum(Const(0)) - low;
  Tensor scale = range.ne(Const(0)).where(divide_in_double(range, range.full_like(255)), Const(1));
  Tensor zero = round_to_type(divide_in_double(-low, scale), {}, onnx::ElementType::UInt8);
  return {round_to_type(divide_in_double(x, scale), zero, onnx::ElementType::UInt8), scale, zero};
}

Tensor subtract_zero_point(OpCall& c, size_t input, std::optional<size_t> zero) {
  Tensor x = c.tensor(input).cast(dtypes::int32);
  return zero && c.has_input(*zero) ? x - c.tensor(*zero).cast(dtypes::int32) : x;
}

// Shapes `v`, which has one value or one for each row of a matrix, so that it broadcasts over a matrix.
Tensor row_param(const Tensor& v) {
  if (v.numel() == 1) return v.reshape({});
  return v.ndim() == 1 ? v.unsqueeze(-1) : v;
}
Tensor subtract_row_param(const Tensor& x, const Tensor& zero) { return x - row_param(zero); }
Tensor channel_param(const Tensor& v, const Tensor& like, int64_t axis) {
  if (v.numel() == 1) return v.reshape({});
  return v.reshape(vector_shape(like.ndim(), axis, v.numel()));
}

// Runs another op on `inputs`, with the attributes of this node.
Tensor run_other_op(OpCall& c, std::string_view name, Values inputs) {
  OpCall other(c.builder(), c.node(), c.opset_version(), std::move(inputs));
  return find_op("", name, c.opset_version())->run(other).at(0).tensor();
}

Values conv_integer(OpCall& c) {
  Tensor w = subtract_zero_point(c, 1, {});
  if (c.has_input(3)) w = w - channel_param(c.tensor(3).cast(dtypes::int32), w, 0);
  return {run_other_op(c, "Conv", {subtract_zero_point(c, 0, 2), w})};
}

Values matmul_integer(OpCall& c) {
  Tensor a = subtract_zero_point(c, 0, {});
  if (c.has_input(2)) a = subtract_row_param(a, c.tensor(2).cast(dtypes::int32));
  return {a.matmul(subtract_zero_point(c, 1, 3))};
}

// Divides the scales first, as onnxruntime and onnx's reference evaluator do: the order of roundings decides halfway
// cases.
Tensor requantize(const Tensor& x, const Tensor& scale, const Tensor& out_scale, const Tensor& out_zero) {
  return round_to_type(x.cast(dtypes::float32) * divide_in_double(scale, out_scale), out_zero,
                       onnx::type_of(out_zero.dtype()));
}

Values qlinear_conv(OpCall& c) {
  Tensor w = subtract_zero_point(c, 3, {});
  w = w - channel_param(c.tensor(5).cast(dtypes::int32), w, 0);
  Tensor y = run_other_op(c, "Conv", {subtract_zero_point(c, 0, 2), w, c.has_input(8) ? Value(c.tensor(8)) : Value()});
  Tensor scale = c.tensor(1).reshape({}) * channel_param(c.tensor(4), y, 1);
  return {requantize(y, scale, c.tensor(6).reshape({}), c.tensor(7).reshape({}))};
}

Values qlinear_matmul(OpCall& c) {
  Tensor y = subtract_row_param(subtract_zero_point(c, 0, {}), c.tensor(2).cast(dtypes::int32))
                 .matmul(subtract_zero_point(c, 3, 5));
  return {requantize(y, row_param(c.tensor(1)) * c.tensor(4), row_param(c.tensor(6)), row_param(c.tensor(7)))};
}

Values qlinear_add(OpCall& c) {
  Tensor sum = subtract_zero_point(c, 0, 2) * c.tensor(1) + subtract_zero_point(c, 3, 5) * c.tensor(4),
         zero = c.tensor(7);
  return {round_to_type(divide_in_double(sum, c.tensor(6)), zero, onnx::type_of(zero.dtype()))};
}

Values qlinear_mul(OpCall& c) {
  return {requantize(subtract_zero_point(c, 0, 2) * subtract_zero_point(c, 3, 5), c.tensor(1) * c.tensor(4),
                     c.tensor(6), c.tensor(7))};
}

Values qlinear_global_average_pool(OpCall& c) {
  Tensor x = subtract_zero_point(c, 0, 2) * c.tensor(1), zero = c.tensor(4);
  bool channels_last = c.attribute_int("channels_last", 0) != 0;
  Ints axes = int_range(channels_last ? 1 : 2, x.ndim() - channels_last);
  return {round_to_type(divide_in_double(x.mean(axes, true), c.tensor(3)), zero, onnx::type_of(zero.dtype()))};
}

constexpr std::string_view kConv = "auto_pad dilations group kernel_shape pads strides", kMicrosoft = "com.microsoft";

}  // namespace

std::span<const OpDef> quantize_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"QuantizeLinear", 10, "axis block_size output_dtype precision saturate", quantize_linear},
    {"DequantizeLinear", 10, "axis block_size output_dtype", dequantize_linear},
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
