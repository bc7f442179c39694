#include <algorithm>
#include <cmath>
#include <random>

#include "lib/model/model.h"
#include "lib/model/op.h"
#include "lib/model/realize.h"

namespace tgc {

namespace {

// Reorders ONNX pads (top, left, ..., bottom, right, ...) to (left, right, top, bottom, ...).
Ints last_axis_first(const Ints& pads) {
  size_t n = pads.size() / 2;
  Ints out;
  for (size_t i = n; i-- > 0;) out.insert(out.end(), {pads[i], pads[i + n]});
  return out;
}

// Divides each total into padding before and after the axis. SAME_UPPER puts the larger part of an odd total after the
// axis; other modes put it before.
Ints split_total_padding(const Ints& total, const std::string& mode) {
  Ints out;
  for (int64_t p : total) out.push_back(mode == "SAME_UPPER" ? p / 2 : p - p / 2);
  for (size_t i = 0; i < total.size(); i++) out.push_back(total[i] - out[i]);
  return out;
}

Ints required_kernel_shape(OpCall& c) {
  if (!c.op_attribute("kernel_shape")) throw Failure("attribute 'kernel_shape' is missing");
  return c.attribute_ints("kernel_shape");
}

std::string auto_pad_mode(OpCall& c) {
  return c.attribute_choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""});
}

struct PoolWindow {
  Ints kernel, stride, dilation, pads;  // `pads`: before and after each axis, last axis first

  PoolWindow(OpCall& c, const Tensor& x, const Ints& kernel_shape) : kernel(kernel_shape) {
    size_t n = kernel.size();
    if (x.ndim() < int64_t(n) + 2)
      throw Failure("windows over " + std::to_string(n) + " axes of a tensor of " + std::to_string(x.ndim()));
    stride = c.attribute_ints("strides", Ints(n, 1));
    dilation = c.attribute_ints("dilations", Ints(n, 1));
    Ints given = c.attribute_ints("pads", Ints(2 * n, 0));
    if (stride.size() != n || dilation.size() != n || given.size() != 2 * n)
      throw Failure("its strides, dilations or pads do not fit windows over " + std::to_string(n) + " axes");
    for (size_t i = 0; i < n; i++)
      if (kernel[i] <= 0 || stride[i] <= 0 || dilation[i] <= 0)
        throw Failure("a window, stride or dilation that is not positive");
    for (int64_t p : given)
      if (p < 0) throw Failure("attribute 'pads' has the negative number " + std::to_string(p));
    std::string mode = auto_pad_mode(c);
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      Ints total;
      for (size_t i = 0; i < n; i++) {
        int64_t size = x.size(int64_t(i) - int64_t(n)), out = (size - 1) / stride[i] + 1;
        total.push_back(std::max<int64_t>(0, (out - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - size));
      }
      given = split_total_padding(total, mode);
    } else if (mode == "VALID") {
      given.assign(2 * n, 0);
    }
    pads = last_axis_first(given);
  }

  // Throws Failure if a window can lie in the padding alone, because such a window has no average or maximum.
  void refuse_empty_windows() const {
    for (size_t i = 0; i < pads.size(); i++) {
      size_t d = kernel.size() - 1 - i / 2;
      if (pads[i] > (kernel[d] - 1) * dilation[d])
        throw Failure("attribute 'pads' has " + std::to_string(pads[i]) + ", as much as a window");
    }
  }
};

Ints spatial_shape(const Tensor& w) {
  Ints s = w.shape();
  if (s.size() < 3) throw Failure("weights of " + std::to_string(s.size()) + " axes");
  return Ints(s.begin() + 2, s.end());
}

void check_kernel_shape(OpCall& c, const Tensor& w) {
  if (c.attribute_ints("kernel_shape", spatial_shape(w)) != spatial_shape(w))
    throw Failure("attribute 'kernel_shape' is not the shape of its weights");
}

Values conv(OpCall& c) {
  Tensor x = c.tensor(0), w = c.tensor(1);
  check_kernel_shape(c, w);
  PoolWindow win(c, x, spatial_shape(w));
  return {x.conv2d(w, c.tensor_or_none(2), c.attribute_int("group", 1), win.stride, win.dilation, win.pads)};
}

Values conv_transpose(OpCall& c) {
  Tensor x = c.tensor(0), w = c.tensor(1);
  check_kernel_shape(c, w);
  Ints kernel = spatial_shape(w);
  size_t n = kernel.size();
  if (x.ndim() != int64_t(n) + 2)
    throw Failure("its input has " + std::to_string(x.ndim()) + " axes, its weights " + std::to_string(n + 2));
  Ints stride = c.attribute_ints("strides", Ints(n, 1)), dilation = c.attribute_ints("dilations", Ints(n, 1)),
       extra = c.attribute_ints("output_padding", Ints(n, 0));
  if (stride.size() != n || dilation.size() != n || extra.size() != n)
    throw Failure("its strides, dilations or output padding do not fit");
  for (size_t i = 0; i < n; i++)
    if (stride[i] <= 0 || dilation[i] <= 0 || extra[i] < 0)
      throw Failure("a stride or dilation that is not positive, or a negative output padding");
  std::string mode = auto_pad_mode(c);
  Ints pads = c.attribute_ints("pads", Ints(2 * n, 0));
  auto output_shape = c.attribute_ints_or_none("output_shape");
  if (!output_shape && (mode == "SAME_UPPER" || mode == "SAME_LOWER")) {
    output_shape.emplace();
    for (size_t i = 0; i < n; i++) output_shape->push_back(x.size(int64_t(i) + 2) * stride[i]);
  }
  if (output_shape) {
    if (output_shape->size() > n) output_shape->erase(output_shape->begin(), output_shape->end() - int64_t(n));
    if (output_shape->size() != n) throw Failure("its output_shape does not fit");
    Ints total;
    for (size_t i = 0; i < n; i++) {
      total.push_back(stride[i] * (x.size(int64_t(i) + 2) - 1) + extra[i] + (kernel[i] - 1) * dilation[i] + 1 -
                      (*output_shape)[i]);
    }
    for (size_t i = 0; i < n; i++)
      if (total[i] < 0) extra[i] -= total[i], total[i] = 0;
    pads = split_total_padding(total, mode);
  }
  if (pads.size() != 2 * n) throw Failure("its pads do not fit");
  return {x.conv_transpose2d(w, c.tensor_or_none(2), c.attribute_int("group", 1), stride, dilation,
                             last_axis_first(pads), extra)};
}

Values average_pool(OpCall& c) {
  Tensor x = c.tensor(0);
  PoolWindow win(c, x, required_kernel_shape(c));
  win.refuse_empty_windows();
  return {x.avg_pool2d(win.kernel, win.stride, win.dilation, win.pads, c.attribute_flag("ceil_mode", false),
                       c.attribute_flag("count_include_pad", false))};
}

Values max_pool(OpCall& c) {
  Tensor x = c.tensor(0);
  PoolWindow win(c, x, required_kernel_shape(c));
  win.refuse_empty_windows();
  auto [values, indices] =
      x.max_pool2d(win.kernel, win.stride, win.dilation, win.pads, c.attribute_flag("ceil_mode", false));
  if (c.num_outputs() < 2) return {values};
  Ints xs = x.shape(), spatial(xs.begin() + 2, xs.end());
  indices = indices.cast(dtypes::int64);
  if (c.attribute_flag("storage_order", false)) {
    Tensor columns = indices.zeros_like();
    int64_t from = product(spatial), to = 1;
    for (int64_t size : spatial) {
      from /= size;
      columns = columns + indices.div(Const(from), Tensor::Rounding::Floor) % Const(size) * Const(to);
      to *= size;
    }
    indices = columns;
  }
  // max_pool2d counts indices from the start of each (batch, channel) plane, ONNX from the start of the tensor.
  Tensor plane =
      Tensor::arange(c.graph(), xs[0] * xs[1], dtypes::int64).reshape({xs[0], xs[1]}) * Const(product(spatial));
  for (size_t i = 0; i < spatial.size(); i++) plane = plane.unsqueeze(-1);
  return {values, indices + plane};
}

Values lp_pool(OpCall& c) {
  Tensor x = c.tensor(0);
  PoolWindow win(c, x, required_kernel_shape(c));
  auto p = double(c.attribute_int("p", 2));
  if (p < 1) throw Failure("attribute 'p' is " + std::to_string(int64_t(p)));
  Ints axes = int_range(-int64_t(win.kernel.size()), 0), pads = win.pads;
  if (c.attribute_flag("ceil_mode", false)) pads = ceil_mode_pads(x, pads, win.kernel, win.stride, win.dilation);
  return {x.abs().pow(Const(p)).pad_flat(pads).pool(win.kernel, win.stride, win.dilation).sum(axes).pow(Const(1 / p))};
}

Values max_unpool(OpCall& c) {
  Tensor x = c.tensor(0), indices = c.tensor(1);
  Ints xs = x.shape(), kernel = required_kernel_shape(c);
  size_t n = kernel.size();
  if (xs.size() != n + 2)
    throw Failure("windows over " + std::to_string(n) + " axes of a tensor of " + std::to_string(xs.size()));
  Ints stride = c.attribute_ints("strides", Ints(n, 1)), pads = c.attribute_ints("pads", Ints(2 * n, 0)),
       inferred(xs.begin(), xs.begin() + 2);
  if (stride.size() != n || pads.size() != 2 * n) throw Failure("its strides or pads do not fit");
  for (size_t i = 0; i < n; i++) inferred.push_back((xs[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[i + n]);
  Ints to = c.ints_or_none(2).value_or(inferred);
  if (to.size() != n + 2) throw Failure("its output shape has " + std::to_string(to.size()) + " sizes");
  for (size_t i = 2; i < n + 2; i++)
    if (inferred[i] <= 0 || to[i] <= 0)
      throw Failure("its output would have a size of " + std::to_string(std::min(inferred[i], to[i])));
  for (size_t i = 0; i < n + 2; i++)
    if (to[i] < inferred[i] || (i < 2 && to[i] != xs[i]))
      throw Failure("its output shape has a size of " + std::to_string(to[i]) + ", the smallest is " +
                    std::to_string(inferred[i]));
  // ONNX counts indices from the start of the tensor, max_unpool2d from the start of each (batch, channel) plane.
  Ints plane(inferred.begin() + 2, inferred.end()), out_plane(to.begin() + 2, to.end());
  Tensor in_plane = indices % Const(product(plane));
  Tensor y = x.max_unpool2d(in_plane, plane);
  if (out_plane == plane) return {y};
  Tensor moved = in_plane.zeros_like();
  int64_t from = product(plane), at = product(out_plane);
  Tensor rest = in_plane;
  for (size_t i = 0; i < n; i++) {
    from /= plane[i], at /= out_plane[i];
    moved = moved + rest.div(Const(from), Tensor::Rounding::Floor) * Const(at);
    rest = rest % Const(from);
  }
  return {x.max_unpool2d(moved, out_plane)};
}

Ints spatial_axes(const Tensor& x) { return int_range(2, x.ndim()); }

Values global_lp_pool(OpCall& c) {
  Tensor x = c.tensor(0);
  auto p = double(c.attribute_int("p", 2));
  return {x.abs().pow(Const(p)).sum(spatial_axes(x), true).pow(Const(1 / p))};
}

// Computes Col2Im as a transposed convolution in which each element of the kernel has its own channel.
Values col2im(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints image = c.ints(1), block = c.ints(2);
  size_t n = image.size();
  Ints stride = c.attribute_ints("strides", Ints(n, 1)), dilation = c.attribute_ints("dilations", Ints(n, 1)),
       pads = c.attribute_ints("pads", Ints(2 * n, 0));
  if (n == 0 || block.size() != n || stride.size() != n || dilation.size() != n || pads.size() != 2 * n)
    throw Failure("its image_shape, block_shape, strides, dilations or pads do not fit together");
  int64_t places = product(block), channels = places > 0 && x.ndim() == 3 ? x.size(1) / places : 0;
  Ints blocks, extra;
  for (size_t i = 0; i < n; i++) {
    if (block[i] < 1 || stride[i] < 1 || dilation[i] < 1)
      throw Failure("a block, stride or dilation that is not positive");
    int64_t reach = dilation[i] * (block[i] - 1) + 1, room = image[i] + pads[i] + pads[i + n] - reach;
    if (room < 0) throw Failure("its blocks do not fit its image");
    blocks.push_back(room / stride[i] + 1);
    extra.push_back(room % stride[i]);
  }
  if (channels < 1 || x.size(1) % places || x.size(2) != product(blocks))
    throw Failure("its input does not fit its blocks");
  Tensor weights = Tensor::eye(c.graph(), places, places, x.dtype()).reshape(concat_ints({{1, places, 1}, block}));
  Ints all = weights.shape();
  all[0] = channels;
  weights = weights.expand(all).reshape(concat_ints({{channels * places, 1}, block}));
  return {x.reshape(concat_ints({{x.size(0), x.size(1)}, blocks}))
              .conv_transpose2d(weights, {}, channels, stride, dilation, last_axis_first(pads), extra)};
}

Values gemm(OpCall& c) {
  Tensor a = c.tensor(0), b = c.tensor(1);
  if (a.ndim() != 2 || b.ndim() != 2)
    throw Failure("its operands have " + std::to_string(a.ndim()) + " and " + std::to_string(b.ndim()) +
                  " axes, two are needed");
  if (c.attribute_flag("transA", false)) a = a.transpose();
  if (c.attribute_flag("transB", false)) b = b.transpose();
  auto scaled = [&](const Tensor& t, double by) {
    return dtypes::is_float(t.dtype()) ? by * t : (by * t).cast(t.dtype());
  };
  Tensor y = scaled(a.matmul(b), c.attribute_float("alpha", 1.0));
  if (Tensor bias = c.tensor_or_none(2)) y = y + scaled(bias, c.attribute_float("beta", 1.0));
  return {y};
}

Values einsum(OpCall& c) {
  if (!c.op_attribute("equation")) throw Failure("attribute 'equation' is missing");
  return {Tensor::einsum(c.attribute_string("equation", ""), c.tensors())};
}

// Returns the determinant of n x n matrices by Laplace expansion along the first row.
Tensor determinant(const Tensor& x, int64_t n) {
  if (n == 1) return x.slice_axis(-1, {0, 1}).slice_axis(-2, {0, 1}).squeeze(-1).squeeze(-1);
  Tensor out;
  for (int64_t j = 0; j < n; j++) {
    Tensor below = x.slice_axis(-2, {1, n}), minor;
    if (j == 0) minor = below.slice_axis(-1, {1, n});
    else if (j == n - 1) minor = below.slice_axis(-1, {0, n - 1});
    else minor = below.slice_axis(-1, {0, j}).cat({below.slice_axis(-1, {j + 1, n})}, -1);
    Tensor term =
        x.slice_axis(-2, {0, 1}).slice_axis(-1, {j, j + 1}).squeeze(-1).squeeze(-1) * determinant(minor, n - 1);
    out = !out ? term : j % 2 ? out - term : out + term;
  }
  return out;
}

Values det(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t n = x.ndim() >= 2 ? x.size(-1) : 0;
  if (n == 0 || x.size(-2) != n || n > 6) throw Failure("determinants of square matrices up to 6 by 6 are supported");
  return {determinant(x, n)};
}

Values batch_normalization(OpCall& c) {
  Tensor x = c.tensor(0), scale = c.tensor(1), bias = c.tensor(2), mean = c.tensor(3), var = c.tensor(4);
  double epsilon = c.attribute_float("epsilon", 1e-5), momentum = c.attribute_float("momentum", 0.9);
  if (!c.attribute_flag("training_mode", false))
    return {x.batchnorm(scale, bias, mean, (var + epsilon).rsqrt()).cast(x.dtype())};
  Ints axes = concat_ints({{0}, spatial_axes(x)}), column = vector_shape(x.ndim(), 1, -1);
  Tensor wide = x.cast(least_upper_dtype({x.dtype(), dtypes::float32})), m = wide.mean(axes),
         y = wide - m.reshape(column);
  Tensor v = (y * y).mean(axes);
  Tensor running_mean = mean * momentum + m * (1 - momentum), running_var = var * momentum + v * (1 - momentum);
  return {x.batchnorm(scale, bias, m, (v + epsilon).rsqrt()).cast(x.dtype()), running_mean.cast(mean.dtype()),
          running_var.cast(var.dtype())};
}

Values group_normalization(OpCall& c, int64_t groups) {
  Tensor x = c.tensor(0), scale = c.tensor(1), bias = c.tensor(2);
  if (c.attribute_int("stash_type", 1) != 1) throw Failure("a stash_type other than float32 is not supported");
  if (groups < 1 || x.ndim() < 2 || x.size(1) % groups)
    throw Failure("its channels do not divide into " + std::to_string(groups) + " groups");
  if (scale.numel() <= 0 || bias.numel() <= 0 || x.size(1) % scale.numel() || x.size(1) % bias.numel())
    throw Failure("its scale or bias does not fit its channels");
  Ints column = vector_shape(x.ndim() - 1, 0, -1);
  Tensor y = x.reshape({x.size(0), groups, -1})
                 .cast(dtypes::float32)
                 .layernorm({-1}, c.attribute_float("epsilon", 1e-5))
                 .cast(x.dtype())
                 .reshape(x.shape());
  auto per_channel = [&](const Tensor& t) {
    return (t.numel() == x.size(1) ? t : t.repeat_interleave(x.size(1) / t.numel(), 0)).reshape(column);
  };
  return {y * per_channel(scale) + per_channel(bias)};
}

Values layer_normalization(OpCall& c) {
  Tensor x = c.tensor(0), scale = c.tensor(1), wide = x.cast(dtypes::float32);
  if (c.attribute_int("stash_type", 1) != 1) throw Failure("a stash_type other than float32 is not supported");
  Ints axes = int_range(x.resolve_dim(c.attribute_int("axis", -1)), x.ndim());
  Tensor mean = wide.mean(axes, true),
         inv = ((wide - mean).square().mean(axes, true) + c.attribute_float("epsilon", 1e-5)).rsqrt();
  Tensor y = ((wide - mean) * inv).cast(x.dtype()) * scale;
  return {c.has_input(2) ? y + c.tensor(2) : y, mean, inv};
}

Values rms_normalization(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints axes = int_range(x.resolve_dim(c.attribute_int("axis", -1)), x.ndim());
  Tensor norm = (x.cast(dtypes::float32).square().mean(axes, true) + c.attribute_float("epsilon", 1e-5)).rsqrt();
  return {(x * norm * c.tensor(1)).cast(x.dtype())};
}

Values mean_variance_normalization(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints axes = c.attribute_ints("axes", {0, 2, 3});
  return {(x - x.mean(axes, true)) / (x.std(axes, true, 0) + 1e-9)};
}

Values lp_normalization(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints axis{x.resolve_dim(c.attribute_int("axis", -1))};
  int64_t p = c.attribute_int("p", 2);
  if (p != 1 && p != 2) throw Failure("its p is " + std::to_string(p));
  Tensor norm = p == 1 ? x.abs().sum(axis, true) : x.square().sum(axis, true).sqrt();
  return {norm.ne(Const(0)).where(x / norm, Const(0))};
}

Values lrn(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints own = x.shape();
  int64_t size = c.attribute_int("size");
  Tensor squares = x.pow(Const(2)).reshape({own[0], 1, own[1], -1}).pad_flat({0, 0, (size - 1) / 2, size / 2});
  Tensor pooled = squares.avg_pool2d({size, 1}, {1, 1}, {1, 1}, {0, 0}, false, true).reshape(own);
  return {x / (pooled * c.attribute_float("alpha", 1e-4) + c.attribute_float("bias", 1.0))
                  .pow(Const(c.attribute_float("beta", 0.75)))};
}

// ---- dropout: the identity, except in training, where the mask is that of numpy's RandomState(seed)

Values dropout(OpCall& c) {
  Tensor x = c.tensor(0);
  bool training = c.opset_version() >= 12 && c.has_input(2) && c.integer(2) != 0;
  double ratio = c.has_input(1) ? c.number(1) : c.attribute_float("ratio", 0.5);
  if (!training || ratio == 0) return {x, x.full_like(true, dtypes::bool_)};
  if (!c.op_attribute("seed")) throw Failure("a dropout in training without a seed is random; that is not supported");
  std::mt19937 random(uint32_t(c.attribute_int("seed")));
  Ints kept;
  for (int64_t i = x.numel(); i > 0; i--) {
    double high = random() >> 5, low = random() >> 6;
    kept.push_back((high * 67108864 + low) / 9007199254740992.0 >= ratio);
  }
  Tensor mask = Tensor::from_values(c.graph(), kept, dtypes::bool_).reshape(x.shape());
  return {x * mask / (1.0 - ratio), mask};
}

}  // namespace

std::span<const OpDef> nn_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Conv", 1, "auto_pad dilations group kernel_shape pads strides", conv},
    {"ConvTranspose", 1, "auto_pad dilations group kernel_shape output_padding output_shape pads strides", conv_transpose},
    {"AveragePool", 1, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", average_pool},
    {"MaxPool", 1, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", max_pool},
    {"LpPool", 2, "auto_pad ceil_mode dilations kernel_shape p pads strides", lp_pool},
    {"MaxUnpool", 9, "kernel_shape pads strides", max_unpool},
    {"GlobalAveragePool", 1, "", [](OpCall& c) -> Values { return {c.tensor(0).mean(spatial_axes(c.tensor(0)), true)}; }},
    {"GlobalMaxPool", 1, "", [](OpCall& c) -> Values { return {c.tensor(0).max(spatial_axes(c.tensor(0)), true)}; }},
    {"GlobalLpPool", 2, "p", global_lp_pool},
    {"Col2Im", 18, "dilations pads strides", col2im},
    {"MatMul", 1, "", [](OpCall& c) -> Values { return {c.tensor(0).matmul(c.tensor(1))}; }},
    {"Gemm", 1, "alpha beta transA transB broadcast", gemm},
    {"Einsum", 12, "equation", einsum},
    {"Det", 11, "", det},
    {"BatchNormalization", 1, "epsilon momentum training_mode spatial is_test consumed_inputs", batch_normalization},
    {"GroupNormalization", 18, "epsilon num_groups stash_type", [](OpCall& c) -> Values { return group_normalization(c, c.attribute_int("num_groups")); }},
    {"InstanceNormalization", 1, "epsilon consumed_inputs", [](OpCall& c) -> Values { return group_normalization(c, c.tensor(0).size(1)); }},
    {"LayerNormalization", 1, "axis epsilon stash_type", layer_normalization},
    {"RMSNormalization", 23, "axis epsilon stash_type", rms_normalization},
    {"MeanVarianceNormalization", 9, "axes", mean_variance_normalization},
    {"LpNormalization", 1, "axis p", lp_normalization},
    {"LRN", 1, "alpha beta bias size", lrn},
    {"Dropout", 1, "ratio seed is_test consumed_inputs", dropout},
  };
  // clang-format on
  return kOps;
}

namespace {

// Returns the loss as tensor.py:nll_loss does. A label equal to ignore_index has weight 0, and need not be a class.
Tensor nll_loss(OpCall& c, const Tensor& log_probabilities, Tensor labels, const Tensor& weight) {
  if (labels.ndim() < 1 || log_probabilities.ndim() != labels.ndim() + 1)
    throw Failure("its labels do not fit its scores");
  if (find_available_value(labels)) {
    int64_t classes = log_probabilities.size(1);
    for (int64_t label : c.ints(1))
      if ((label < 0 || label >= classes) &&
          !(c.op_attribute("ignore_index") && label == c.attribute_int("ignore_index")))
        throw Failure("label " + std::to_string(label) + " of " + std::to_string(classes) + " classes");
  }
  Tensor weights =
      weight ? weight.getitem({labels}) : Tensor::full(c.graph(), labels.shape(), 1.0, log_probabilities.dtype());
  if (c.op_attribute("ignore_index")) weights = weights * labels.ne(Const(c.attribute_int("ignore_index")));
  Tensor loss = -log_probabilities.gather(1, labels.unsqueeze(1)).squeeze(1) * weights;
  std::string reduction = c.attribute_choice("reduction", "mean", {"mean", "sum", "none"});
  if (reduction == "none") return loss;
  if (reduction == "sum") return loss.sum();
  Tensor total = weights.sum();  // if it is 0, the mean must be NaN, but tinygrad simplifies w / w to 1
  return total.eq(Const(0)).where(Const(NAN), loss.sum() / total);
}

Values softmax_cross_entropy(OpCall& c) {
  Tensor log_probabilities = c.tensor(0).log_softmax(1);
  return {nll_loss(c, log_probabilities, c.tensor(1), c.tensor_or_none(2)), log_probabilities};
}

}  // namespace

std::span<const OpDef> loss_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"NegativeLogLikelihoodLoss", 12, "ignore_index reduction", [](OpCall& c) -> Values { return {nll_loss(c, c.tensor(0), c.tensor(1), c.tensor_or_none(2))}; }},
    {"SoftmaxCrossEntropyLoss", 12, "ignore_index reduction", softmax_cross_entropy},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
