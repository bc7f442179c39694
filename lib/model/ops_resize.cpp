// Source coordinates and weights are computed on the host, in double precision.
#include <algorithm>
#include <cmath>

#include "lib/model/op.h"

namespace tgc {
namespace {

struct ResizeAxis {
  int64_t axis, source_size, target_size;
  double scale, roi_start = 0, roi_end = 1;
  bool is_resized = true;
  double length = double(target_size);  // size of the result, before it was rounded to an integer
};

struct ResizeStyle {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

double source_coordinate(const ResizeAxis& a, const std::string& how, double i) {
  auto last = double(a.source_size - 1);
  if (how == "half_pixel") return (i + 0.5) / a.scale - 0.5;
  if (how == "align_corners") return a.length <= 1 ? 0 : i * last / (a.length - 1);
  if (how == "asymmetric") return i / a.scale;
  if (how == "pytorch_half_pixel") return a.length <= 1 ? 0 : (i + 0.5) / a.scale - 0.5;
  if (how == "tf_half_pixel_for_nn") return (i + 0.5) / a.scale;
  if (how == "half_pixel_symmetric")
    return double(a.source_size) / 2 * (1 - double(a.target_size) / a.length) + (i + 0.5) / a.scale - 0.5;
  if (how == "tf_crop_and_resize") {
    double start = a.roi_start * last, end = a.roi_end * last;
    return a.length <= 1 ? (start + end) / 2 : start + i * (end - start) / (a.length - 1);
  }
  throw Failure("its coordinate_transformation_mode is '" + how + "'");
}

double nearest_coordinate(double at, const std::string& how) {
  if (how == "round_prefer_floor") return std::ceil(at - 0.5);
  if (how == "round_prefer_ceil") return std::floor(at + 0.5);
  if (how == "floor") return std::floor(at);
  if (how == "ceil") return std::ceil(at);
  throw Failure("its nearest_mode is '" + how + "'");
}

// Returns the weight of a source element at this distance. The caller divides the weights by their sum.
double filter_weight(const ResizeStyle& style, double distance) {
  double d = std::fabs(distance), a = style.cubic_a;
  if (style.mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;  // Keys' cubic convolution
  return d < 2 ? a * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
}

struct FilterTaps {
  std::vector<Ints> index;  // index[t][i]: index of the t-th source element of the result's element i
  std::vector<std::vector<double>> weights;  // the weights of the elements in `index`; empty in mode nearest
};

FilterTaps filter_taps(const ResizeAxis& a, const ResizeStyle& style) {
  bool nearest = style.mode == "nearest";
  if (!nearest && style.mode != "linear" && style.mode != "cubic") throw Failure("its mode is '" + style.mode + "'");
  // With antialias, the filter is stretched for a smaller result.
  double stretch = style.antialias ? std::min(a.scale, 1.0) : 1, reach = (style.mode == "cubic" ? 2 : 1) / stretch;
  auto count = nearest ? 1 : 2 * int64_t(std::ceil(reach));
  FilterTaps out{std::vector<Ints>(size_t(count)), std::vector<std::vector<double>>(nearest ? 0 : size_t(count))};
  for (int64_t i = 0; i < a.target_size; i++) {
    double at = source_coordinate(a, style.coordinates, double(i));
    auto first = nearest ? int64_t(nearest_coordinate(at, style.nearest)) : int64_t(std::floor(at)) - count / 2 + 1;
    std::vector<double> weights;
    double total = 0;
    for (int64_t t = 0; t < count; t++) {
      bool is_outside = first + t < 0 || first + t >= a.source_size;
      out.index[size_t(t)].push_back(std::clamp<int64_t>(first + t, 0, a.source_size - 1));
      weights.push_back(is_outside && style.exclude_outside ? 0
                                                            : filter_weight(style, (double(first + t) - at) * stretch));
      total += weights.back();
    }
    for (size_t t = 0; t < out.weights.size(); t++) out.weights[t].push_back(total == 0 ? 0 : weights[t] / total);
  }
  return out;
}

Tensor broadcast_along(const Tensor& v, int64_t axis, const Ints& shape) {
  return v.reshape(vector_shape(int64_t(shape.size()), axis, v.numel())).expand(shape);
}

Tensor resize_along(OpCall& c, const Tensor& x, const ResizeAxis& a, const FilterTaps& taps) {
  constexpr size_t kMostGathers = 4;
  if (taps.index.size() > kMostGathers) {
    std::vector<double> matrix(size_t(a.source_size * a.target_size));
    for (size_t t = 0; t < taps.index.size(); t++)
      for (size_t i = 0; i < size_t(a.target_size); i++)
        matrix[size_t(taps.index[t][i] * a.target_size) + i] += taps.weights[t][i];
    Tensor weights = Tensor::from_values(c.graph(), matrix, x.dtype()).reshape({a.source_size, a.target_size});
    return x.transpose(a.axis, -1).matmul(weights).transpose(a.axis, -1);
  }
  Ints shape = x.shape();
  shape[size_t(a.axis)] = a.target_size;
  Tensor out;
  for (size_t t = 0; t < taps.index.size(); t++) {
    Tensor part =
        x.gather(a.axis, broadcast_along(Tensor::from_values(c.graph(), taps.index[t], dtypes::int32), a.axis, shape)) *
        broadcast_along(Tensor::from_values(c.graph(), taps.weights[t], x.dtype()), a.axis, shape);
    out = out ? out + part : part;
  }
  return out;
}

Tensor resize_axes(OpCall& c, const Tensor& input, const std::vector<ResizeAxis>& axes, const ResizeStyle& style) {
  Tensor x = input;
  if (style.mode == "nearest") {
    std::vector<Tensor::Index> indices(size_t(axes[0].axis), Slice{});
    Tensors at;
    for (auto& a : axes) at.push_back(Tensor::from_values(c.graph(), filter_taps(a, style).index[0], dtypes::int32));
    for (auto& grid : Tensor::meshgrid(at)) indices.push_back(grid);
    x = x.getitem(indices);
  } else {
    x = x.cast(least_upper_dtype({x.dtype(), dtypes::float32}));
    for (auto& a : axes)
      if (a.is_resized) x = resize_along(c, x, a, filter_taps(a, style));
  }
  if (style.coordinates == "tf_crop_and_resize") {
    for (auto& a : axes) {
      Ints is_outside;
      for (int64_t i = 0; i < a.target_size; i++) {
        double at = source_coordinate(a, style.coordinates, double(i));
        is_outside.push_back(at < 0 || at > double(a.source_size - 1));
      }
      const Tensor mask = Tensor::from_values(c.graph(), is_outside, dtypes::bool_);
      x = broadcast_along(mask, a.axis, x.shape()).where(Const(style.extrapolation), x);
    }
  }
  DType to = input.dtype();
  if (x.dtype() != to && dtypes::is_int(to)) x = x.round().clamp(dtypes::min(to), dtypes::max(to));
  return x.cast(to);
}

struct ResizeTarget {
  Ints sizes;
  std::vector<double> scales;
};

int64_t checked_size(double size) {
  if (!(size >= 0 && size < 0x1p48)) throw Failure("its scales make an axis of " + std::to_string(size) + " elements");
  return int64_t(size);
}

ResizeTarget resize_target(OpCall& c, const Ints& from, const std::vector<double>& scales, const Ints& sizes) {
  ResizeTarget t;
  size_t n = from.size();
  if ((sizes.empty() ? scales.size() : sizes.size()) != n) throw Failure("its scales or sizes are not one per axis");
  if (sizes.empty()) {
    for (size_t i = 0; i < n; i++) t.sizes.push_back(checked_size(std::floor(double(from[i]) * scales[i])));
    t.scales = scales;
    return t;
  }
  std::string policy =
      c.attribute_choice("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
  for (size_t i = 0; i < n; i++) t.scales.push_back(double(sizes[i]) / double(from[i]));
  t.sizes = sizes;
  if (policy == "stretch") return t;
  double scale = policy == "not_larger" ? *std::ranges::min_element(t.scales) : *std::ranges::max_element(t.scales);
  for (size_t i = 0; i < n; i++) t.sizes[i] = checked_size(scale * double(from[i]) + 0.5), t.scales[i] = scale;
  return t;
}

Tensor resize_to(OpCall& c, Tensor x, const std::vector<double>& scales, const Ints& sizes,
                 const std::vector<double>& roi, const ResizeStyle& style) {
  Ints order;  // a permutation of the axes, in which those of the attribute `axes` come last
  Ints named = c.attribute_ints("axes");
  for (auto& a : named) a = x.resolve_dim(a);
  if (named.empty()) named = int_range(0, x.ndim());
  for (int64_t i = 0; i < x.ndim(); i++)
    if (std::ranges::find(named, i) == named.end()) order.push_back(i);
  auto first = int64_t(order.size());
  order.insert(order.end(), named.begin(), named.end());
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); i++) back[size_t(order[i])] = int64_t(i);
  x = x.permute(order);
  Ints from = x.shape();
  from.erase(from.begin(), from.begin() + first);
  ResizeTarget target = resize_target(c, from, scales, sizes);
  // a size may be 0, as the node states it or after rounding
  if (product(target.sizes) == 0) {
    Ints shape = x.shape();
    std::ranges::copy(target.sizes, shape.begin() + first);
    return Tensor::full(c.graph(), shape, 0.0, x.dtype()).permute(back);
  }
  std::vector<ResizeAxis> axes;
  bool crops = style.coordinates == "tf_crop_and_resize";
  for (size_t i = 0; i < from.size(); i++) {
    ResizeAxis a{first + int64_t(i), from[i], target.sizes[i], target.scales[i]};
    double length = double(a.source_size) * a.scale;
    if (std::fabs(length - a.length) > 1e-6) a.length = length;  // a smaller difference is a rounding error
    if (roi.size() == 2 * from.size()) a.roi_start = roi[i], a.roi_end = roi[from.size() + i];
    a.is_resized = a.source_size != a.target_size || std::fabs(a.scale - 1) > 1e-9 ||
                   (crops && (a.roi_start != 0 || a.roi_end != 1));
    if (a.is_resized || !axes.empty()) axes.push_back(a);
  }
  if (axes.empty()) return x.permute(back);
  return resize_axes(c, x, axes, style).permute(back);
}

Values resize(OpCall& c) {
  ResizeStyle style{c.attribute_string("mode", "nearest"),
                    c.attribute_string("coordinate_transformation_mode", "half_pixel"),
                    c.attribute_string("nearest_mode", "round_prefer_floor"),
                    c.attribute_float("cubic_coeff_a", -0.75),
                    c.attribute_float("extrapolation_value", 0),
                    c.attribute_flag("exclude_outside", false),
                    c.attribute_flag("antialias", false)};
  if (style.antialias && style.mode == "nearest") throw Failure("antialias is not defined for the mode nearest");
  auto roi = c.has_input(1) && style.coordinates == "tf_crop_and_resize" ? c.numbers(1) : std::vector<double>();
  auto scales = c.has_input(2) ? c.numbers(2) : std::vector<double>();
  return {resize_to(c, c.tensor(0), scales, c.has_input(3) ? c.ints(3) : Ints(), roi, style)};
}

Values resize_opset10(OpCall& c) {
  std::vector<double> scales = c.has_input(1)           ? c.numbers(1)
                               : c.op_attribute("scales") ? c.op_attribute("scales")->floats
                                                  : std::vector<double>();
  ResizeStyle style{c.attribute_string("mode", "nearest"), "asymmetric", "floor"};
  if (style.mode == "bilinear") style.mode = "linear";
  return {resize_to(c, c.tensor(0), scales, {}, {}, style)};
}

}  // namespace

std::span<const OpDef> resize_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Resize", 10, "mode", resize_opset10},
    {"Resize", 11, "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value keep_aspect_ratio_policy mode nearest_mode", resize},
    {"Upsample", 7, "mode scales", resize_opset10},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
