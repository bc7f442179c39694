// Interpolating ops: Resize, GridSample, AffineGrid, RoiAlign; and NonMaxSuppression.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/model/op.h"

namespace tgc {
namespace {

// ---- Resize

struct ResizeAxis {
  int64_t axis, from, to;
  double scale, roi_start = 0, roi_end = 1;
  double length = double(to);  // size of the result, before it was rounded down
};

struct ResizeStyle {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false;
};

// Returns the source coordinates of the result's elements along one axis.
Tensor source_index(OpCall& c, const ResizeAxis& a, const std::string& coordinates) {
  Tensor i = Tensor::arange(c.graph(), a.to);
  if (coordinates == "half_pixel") return (i + 0.5) / a.scale - 0.5;
  if (coordinates == "align_corners")
    return a.length <= 1 ? i.zeros_like(dtypes::float32) : i * Const(a.from - 1) / (a.length - 1);
  if (coordinates == "asymmetric") return i / a.scale;
  if (coordinates == "pytorch_half_pixel") return a.to == 1 ? i.zeros_like(dtypes::float32) : (i + 0.5) / a.scale - 0.5;
  if (coordinates == "tf_half_pixel_for_nn") return (i + 0.5) / a.scale;
  if (coordinates == "half_pixel_symmetric") {
    double cut = double(a.from) / 2 * (1 - double(a.to) / (double(a.from) * a.scale));
    return cut + (i + 0.5) / a.scale - 0.5;
  }
  if (coordinates == "tf_crop_and_resize") {
    double last = double(a.from - 1), start = a.roi_start * last, end = a.roi_end * last;
    return a.to == 1 ? i * 0.0 + (start + end) / 2 : i * ((end - start) / double(a.to - 1)) + start;
  }
  throw Failure("its coordinate_transformation_mode is '" + coordinates + "'");
}

Tensor nearest_index(const Tensor& at, const std::string& how) {
  if (how == "round_prefer_floor") return (at - 0.5).ceil();
  if (how == "round_prefer_ceil") return (at + 0.5).floor();
  if (how == "floor") return at.floor();
  if (how == "ceil") return at.ceil();
  throw Failure("its nearest_mode is '" + how + "'");
}

// Broadcasts a vector, which lies along axis `axis`, to `shape`.
Tensor along(const Tensor& v, int64_t axis, const Ints& shape) {
  return v.reshape(vector_shape(int64_t(shape.size()), axis, v.numel())).expand(shape);
}

Tensor linear_along(Tensor x, const ResizeAxis& a, const Tensor& at) {
  Ints shape = x.shape();
  shape[size_t(a.axis)] = a.to;
  Tensor low = along(at.floor().cast(dtypes::int32), a.axis, shape),
         high = along(at.ceil().cast(dtypes::int32), a.axis, shape);
  return x.gather(a.axis, low).lerp(x.gather(a.axis, high), along(at - at.floor(), a.axis, shape));
}

// Returns the weights of the four neighbours at distances 1 + t, t, 1 - t and 2 - t (Keys' cubic convolution).
std::array<Tensor, 4> cubic_weights(const Tensor& t, double a) {
  auto near = [&](const Tensor& x) { return poly_n(x, {a + 2, -(a + 3), 0, 1}); };
  auto far = [&](const Tensor& x) { return poly_n(x, {a, -5 * a, 8 * a, -4 * a}); };
  return {far(t + 1), near(t), near(-(t - 1)), far(-(t - 2))};
}

Tensor cubic_along(Tensor x, const ResizeAxis& a, const Tensor& at, const ResizeStyle& style) {
  Ints shape = x.shape();
  shape[size_t(a.axis)] = a.to;
  Tensor floor = at.floor().cast(dtypes::int32);
  auto weights = cubic_weights(at - floor, style.cubic_a);
  std::array<Tensor, 4> index;
  for (size_t i = 0; i < 4; i++) index[i] = floor + Const(int64_t(i) - 1);
  if (style.exclude_outside) {
    Tensor total;
    for (size_t i = 0; i < 4; i++) {
      weights[i] = (index[i].ge(Const(0)) & index[i].lt(Const(a.from))).where(weights[i], Const(0.0));
      total = total ? total + weights[i] : weights[i];
    }
    for (auto& w : weights) w = w / (total + 1e-9);
  }
  Tensor out;
  for (size_t i = 0; i < 4; i++) {
    Tensor part = x.gather(a.axis, along(index[i].clamp(Const(0), Const(a.from - 1)), a.axis, shape)) *
                  along(weights[i], a.axis, shape);
    out = out ? out + part : part;
  }
  return out;
}

Tensor resized(OpCall& c, Tensor x, const std::vector<ResizeAxis>& axes, const ResizeStyle& style) {
  Tensors at, outside;
  for (auto& a : axes) {
    Tensor i = source_index(c, a, style.coordinates);
    outside.push_back(i.lt(Const(0.0)) | i.gt(Const(double(a.from - 1))));
    at.push_back(style.mode == "cubic" ? i : i.clamp(Const(0), Const(a.from - 1)));
  }
  if (style.mode == "nearest") {
    std::vector<Tensor::Index> indices(size_t(axes[0].axis), Slice{});
    for (auto& i : at) i = nearest_index(i, style.nearest).cast(dtypes::int32);
    for (auto& grid : Tensor::meshgrid(at)) indices.push_back(grid);
    x = x.getitem(indices);
  } else if (style.mode == "linear" || style.mode == "cubic") {
    for (size_t i = 0; i < axes.size(); i++)
      x = style.mode == "linear" ? linear_along(x, axes[i], at[i]) : cubic_along(x, axes[i], at[i], style);
  } else {
    throw Failure("its mode is '" + style.mode + "'");
  }
  if (style.coordinates != "tf_crop_and_resize") return x;
  for (size_t i = 0; i < axes.size(); i++)
    x = along(outside[i], axes[i].axis, x.shape()).where(Const(style.extrapolation), x);
  return x;
}

// The requested sizes and scales of the resized axes.
struct Target {
  Ints sizes;
  std::vector<double> scales;
};

// Returns the whole part of `size`. Throws Failure for a negative, too large or undefined size.
int64_t size_of(double size) {
  if (!(size >= 0 && size < 0x1p48)) throw Failure("its scales make an axis of " + std::to_string(size) + " elements");
  return int64_t(size);
}

Target target_of(OpCall& c, const Ints& from, const std::vector<double>& scales, const Ints& sizes,
                 const std::vector<double>& roi) {
  Target t;
  size_t n = from.size();
  if ((sizes.empty() ? scales.size() : sizes.size()) != n) throw Failure("its scales or sizes are not one per axis");
  if (sizes.empty()) {
    for (size_t i = 0; i < n; i++) {
      double part = roi.size() == 2 * n ? roi[n + i] - roi[i] : 1;
      t.sizes.push_back(size_of(std::floor(double(from[i]) * part * scales[i])));
    }
    t.scales = scales;
    return t;
  }
  std::string policy = c.attr_string("keep_aspect_ratio_policy", "stretch");
  for (size_t i = 0; i < n; i++) t.scales.push_back(double(sizes[i]) / double(from[i]));
  t.sizes = sizes;
  if (policy == "stretch") return t;
  if (policy != "not_larger" && policy != "not_smaller")
    throw Failure("its keep_aspect_ratio_policy is '" + policy + "'");
  double scale = policy == "not_larger" ? *std::ranges::min_element(t.scales) : *std::ranges::max_element(t.scales);
  for (size_t i = 0; i < n; i++) t.sizes[i] = size_of(scale * double(from[i]) + 0.5), t.scales[i] = scale;
  return t;
}

Tensor resize_to(OpCall& c, Tensor x, const std::vector<double>& scales, const Ints& sizes,
                 const std::vector<double>& roi, const ResizeStyle& style) {
  Ints order;  // all axes: first those that the attribute `axes` leaves out
  Ints named = c.attr_ints("axes");
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
  Target target = target_of(c, from, scales, sizes, roi);
  std::vector<ResizeAxis> axes;
  bool crops = style.coordinates == "tf_crop_and_resize";
  for (size_t i = 0; i < from.size(); i++) {
    ResizeAxis a{first + int64_t(i), from[i], target.sizes[i], target.scales[i]};
    if (sizes.empty()) a.length = double(a.from) * a.scale;
    if (a.to <= 0) throw Failure("its result has no elements");
    if (roi.size() == 2 * from.size()) a.roi_start = roi[i], a.roi_end = roi[from.size() + i];
    bool changes = a.from != a.to || (crops && (a.roi_start != 0 || a.roi_end != 1));
    // skip the batch and channel axes (0 and 1) if they keep their sizes
    if (changes || !axes.empty() || first + int64_t(i) >= 2) axes.push_back(a);
  }
  if (!crops && std::ranges::all_of(axes, [](auto& a) { return a.from == a.to; })) return x.permute(back);
  return resized(c, x, axes, style).permute(back);
}

Values resize(OpCall& c) {
  if (c.attr_int("antialias", 0)) throw Failure("antialias is not supported");
  ResizeStyle style{c.attr_string("mode", "nearest"), c.attr_string("coordinate_transformation_mode", "half_pixel"),
                    c.attr_string("nearest_mode", "round_prefer_floor"), c.attr_float("cubic_coeff_a", -0.75),
                    c.attr_float("extrapolation_value", 0), c.attr_int("exclude_outside", 0) != 0};
  auto roi = c.has(1) && style.coordinates == "tf_crop_and_resize" ? c.numbers(1) : std::vector<double>();
  auto scales = c.has(2) ? c.numbers(2) : std::vector<double>();
  return {resize_to(c, c.tensor(0), scales, c.has(3) ? c.ints(3) : Ints(), roi, style)};
}

// Resize of opset 10 and Upsample use the asymmetric coordinate transformation.
Values resize_old(OpCall& c) {
  std::vector<double> scales = c.has(1)           ? c.numbers(1)
                               : c.attr("scales") ? c.attr("scales")->floats
                                                  : std::vector<double>();
  ResizeStyle style{c.attr_string("mode", "nearest"), "asymmetric", "floor"};
  if (style.mode == "bilinear") style.mode = "linear";
  return {resize_to(c, c.tensor(0), scales, {}, {}, style)};
}

// ---- GridSample

Tensor reflect(const Tensor& x, double low, double high) {
  if (high <= low) return x.zeros_like();
  Tensor far = (x - low).abs(), turns = (far / (high - low)).floor(), rest = far - turns * (high - low);
  return (turns - (turns / 2).floor() * 2).eq(Const(0)).where(rest + low, high - rest);
}

// Samples images (n, channels, height, width) at fractional coordinates.
class Sampler {
 public:
  Sampler(OpCall& c, Tensor x) : x_(x), n_(x.size(0)), channels_(x.size(1)), height_(x.size(2)), width_(x.size(3)) {
    padding_ = c.attr_string("padding_mode", "zeros");
    if (padding_ != "zeros" && padding_ != "border" && padding_ != "reflection")
      throw Failure("its padding_mode is '" + padding_ + "'");
    align_ = c.attr_int("align_corners", 0) != 0;
  }

  // Converts coordinates in [-1, 1] to element coordinates, clamped or reflected at the edges as the padding mode says.
  Tensor place(const Tensor& at, int64_t size) const {
    Tensor i = align_ ? (at + 1) / 2 * double(size - 1) : ((at + 1) * double(size) - 1) / 2;
    return inside(i, size);
  }
  Tensor inside(const Tensor& i, int64_t size) const {
    if (padding_ == "border") return i.clamp(Const(0), Const(size - 1));
    if (padding_ == "reflection") return reflect(i, align_ ? 0 : -0.5, double(size) - (align_ ? 1 : 0.5));
    return i;
  }
  // Returns elements at integer coordinates of shape (n, h, w), as (n, channels, h, w); 0 if outside the image.
  Tensor pixel(const Tensor& y, const Tensor& x) const {
    Tensor row = inside(y, height_), column = inside(x, width_);
    Tensor exists = row.ge(Const(0)) & row.le(Const(height_ - 1)) & column.ge(Const(0)) & column.le(Const(width_ - 1));
    Tensor index = row.clamp(Const(0), Const(height_ - 1)).cast(dtypes::int32) * Const(width_) +
                   column.clamp(Const(0), Const(width_ - 1)).cast(dtypes::int32);
    Ints out{n_, channels_, y.size(1), y.size(2)};
    Tensor flat = index.reshape({n_, 1, -1}).expand({n_, channels_, y.size(1) * y.size(2)});
    Tensor values = x_.reshape({n_, channels_, -1}).gather(2, flat).reshape(out);
    return exists.unsqueeze(1).expand(out).where(values, Const(0));
  }

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

 private:
  Tensor x_;
  int64_t n_, channels_, height_, width_;
  std::string padding_;
  bool align_;
};

Values grid_sample(OpCall& c) {
  Tensor image = c.tensor(0), grid = c.tensor(1);
  if (image.ndim() != 4 || grid.ndim() != 4 || grid.size(3) != 2)
    throw Failure("images of two dimensions are supported");
  Sampler s(c, image);
  auto axis = [&](int64_t i) { return grid.slice_axis(3, {i, i + 1}).squeeze(3); };
  Tensor x = s.place(axis(0), s.width()), y = s.place(axis(1), s.height());
  std::string mode = c.attr_string("mode", "bilinear");
  if (mode == "nearest") return {s.pixel(y.round(), x.round()).cast(image.dtype())};
  Tensor column = x.floor(), row = y.floor(), dx = (x - column).unsqueeze(1), dy = (y - row).unsqueeze(1);
  if (mode == "bilinear" || mode == "linear") {
    Tensor top = s.pixel(row, column) * (1 - dx) + s.pixel(row, column + 1) * dx,
           below = s.pixel(row + 1, column) * (1 - dx) + s.pixel(row + 1, column + 1) * dx;
    return {(top * (1 - dy) + below * dy).cast(image.dtype())};
  }
  if (mode != "bicubic" && mode != "cubic") throw Failure("its mode is '" + mode + "'");
  auto wx = cubic_weights(dx, -0.75), wy = cubic_weights(dy, -0.75);
  Tensor out;
  for (size_t i = 0; i < 4; i++) {
    Tensor line;
    for (size_t j = 0; j < 4; j++) {
      Tensor part = s.pixel(row + double(i) - 1.0, column + double(j) - 1.0) * wx[j];
      line = line ? line + part : part;
    }
    out = out ? out + line * wy[i] : line * wy[i];
  }
  return {out.cast(image.dtype())};
}

Values affine_grid(OpCall& c) {
  Tensor theta = c.tensor(0);
  Ints size = c.ints(1);
  if (size.size() != 4 && size.size() != 5) throw Failure("its size has " + std::to_string(size.size()) + " numbers");
  Ints spatial(size.begin() + 2, size.end());
  Tensors steps;
  for (int64_t n : spatial) {
    double edge = c.attr_int("align_corners", 0) ? 1.0 : 1.0 - 1.0 / double(n);
    steps.push_back(Tensor::linspace(c.graph(), -edge, edge, n));
  }
  Tensors grids = Tensor::meshgrid(steps);
  std::reverse(grids.begin(), grids.end());
  grids.push_back(grids[0].ones_like());
  auto axes = int64_t(spatial.size());
  Tensor base = Tensor::stack(grids, -1).reshape({1, product(spatial), axes + 1}).expand({size[0], -1, -1});
  return {base.matmul(theta.transpose(1, 2)).reshape(concat({{size[0]}, spatial, {axes}}))};
}

// ---- RoiAlign

// Returns the coordinates of `count` samples in each of `bins` bins along one axis, as (regions, bins * count).
Tensor samples(OpCall& c, const Tensor& start, const Tensor& size, int64_t bins, int64_t count) {
  Tensor i = Tensor::arange(c.graph(), bins * count).reshape({1, -1});
  return start + (i + 0.5) / double(count) * (size / double(bins));
}

// The two elements next to each sample along one axis, and their weights (0 if the sample is outside the image).
struct Neighbours {
  Tensor low, high, low_weight, high_weight;
  Neighbours(const Tensor& at, int64_t size) {
    Tensor exists = at.ge(Const(-1.0)) & at.le(Const(double(size)));
    Tensor place = at.clamp(Const(0.0), Const(double(size - 1))), floor = place.floor(), weight = place - floor;
    low = floor.cast(dtypes::int32), high = (low + Const(1)).clamp(Const(0), Const(size - 1));
    high_weight = exists.where(weight, Const(0.0)), low_weight = exists.where(1 - weight, Const(0.0));
  }
};

Tensor align_regions(OpCall& c, const Tensor& images, const Tensor& rois, int64_t rows, int64_t columns) {
  bool half = c.attr_string("coordinate_transformation_mode", c.version() < 16 ? "output_half_pixel" : "half_pixel") ==
              "half_pixel";
  double scale = c.attr_float("spatial_scale", 1.0), offset = half ? 0.5 : 0;
  int64_t height = c.attr_int("output_height", 1), width = c.attr_int("output_width", 1), n = rois.size(0),
          channels = images.size(1);
  auto edge = [&](int64_t i) { return rois.slice_axis(1, {i, i + 1}) * scale - offset; };
  Tensor left = edge(0), top = edge(1), w = edge(2) - left, h = edge(3) - top;
  if (!half) w = w.maximum(Const(1.0)), h = h.maximum(Const(1.0));
  Neighbours y(samples(c, top, h, height, rows), images.size(2)),
      x(samples(c, left, w, width, columns), images.size(3));
  Ints grid{n, channels, height * rows, width * columns};
  Tensor flat = images.reshape({n, channels, -1});
  auto corner = [&](const Tensor& yi, const Tensor& yw, const Tensor& xi, const Tensor& xw) {
    Tensor index = (yi.unsqueeze(2) * Const(images.size(3)) + xi.unsqueeze(1))
                       .reshape({n, 1, -1})
                       .expand({n, channels, grid[2] * grid[3]});
    return flat.gather(2, index).reshape(grid) * (yw.unsqueeze(2) * xw.unsqueeze(1)).unsqueeze(1);
  };
  Tensors corners{corner(y.low, y.low_weight, x.low, x.low_weight), corner(y.low, y.low_weight, x.high, x.high_weight),
                  corner(y.high, y.high_weight, x.low, x.low_weight),
                  corner(y.high, y.high_weight, x.high, x.high_weight)};
  bool average = c.attr_string("mode", "avg") == "avg";
  Tensor value = corners[0];
  for (size_t i = 1; i < 4; i++) value = average ? value + corners[i] : value.maximum(corners[i]);
  Tensor bins = value.reshape({n, channels, height, rows, width, columns});
  return average ? bins.mean(Ints{3, 5}) : bins.max(Ints{3, 5});
}

Values roi_align(OpCall& c) {
  Tensor x = c.tensor(0), rois = c.tensor(1), images = x.getitem({c.tensor(2)});
  if (x.ndim() != 4 || rois.ndim() != 2 || rois.size(1) != 4)
    throw Failure("its inputs must be images (4 axes) and boxes of four numbers");
  int64_t ratio = c.attr_int("sampling_ratio", 0);
  if (ratio > 0) return {align_regions(c, images, rois, ratio, ratio)};
  // the number of samples per bin depends on the sizes of the boxes, so their values must be known during the build
  auto boxes = c.numbers(1);
  double scale = c.attr_float("spatial_scale", 1.0), height = double(c.attr_int("output_height", 1)),
         width = double(c.attr_int("output_width", 1));
  Tensors out;
  for (int64_t i = 0; i < rois.size(0); i++) {
    const double* box = &boxes[size_t(4 * i)];
    auto count = [&](double from, double to, double bins) {
      return size_of(std::max(1.0, std::ceil((to - from) * scale / bins)));
    };
    out.push_back(align_regions(c, images.slice_axis(0, {i, i + 1}), rois.slice_axis(0, {i, i + 1}),
                                count(box[1], box[3], height), count(box[0], box[2], width)));
  }
  return {Tensor::cat_all(out, 0)};
}

// ---- NonMaxSuppression: the number of boxes kept depends on the values, which are computed during the build

struct Box {
  double y0, x0, y1, x1;
  double area() const { return (y1 - y0) * (x1 - x0); }
};

Box box_of(const double* v, bool center) {
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

double overlap(const Box& a, const Box& b) {
  double h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  double both = std::max(h, 0.0) * std::max(w, 0.0), all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

Values non_max_suppression(OpCall& c) {
  Tensor boxes = c.tensor(0), scores = c.tensor(1);
  if (boxes.ndim() != 3 || boxes.size(2) != 4 || scores.ndim() != 3 || scores.size(2) != boxes.size(1))
    throw Failure("its boxes and scores do not fit");
  auto box = c.numbers(0), score = c.numbers(1);
  int64_t most = c.has(2) ? c.integer(2) : 0, count = boxes.size(1), classes = scores.size(1);
  double iou = c.has(3) ? c.number(3) : 0, least = c.has(4) ? c.number(4) : -HUGE_VAL;
  bool center = c.attr_int("center_point_box", 0) != 0;
  Ints selected;
  for (int64_t b = 0; b < scores.size(0); b++)
    for (int64_t k = 0; k < classes; k++) {
      auto score_of = [&](int64_t i) { return score[size_t((b * classes + k) * count + i)]; };
      auto at = [&](int64_t i) { return box_of(&box[size_t((b * count + i) * 4)], center); };
      Ints order, kept;
      for (int64_t i = 0; i < count; i++)
        if (score_of(i) > least) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score_of(i) > score_of(j); });
      for (int64_t i : order) {
        if (int64_t(kept.size()) >= most) break;
        if (std::ranges::none_of(kept, [&](int64_t j) { return overlap(at(i), at(j)) > iou; })) kept.push_back(i);
      }
      for (int64_t i : kept) selected.insert(selected.end(), {b, k, i});
    }
  return {Tensor::of(c.graph(), selected).reshape({int64_t(selected.size()) / 3, 3})};
}

}  // namespace

std::span<const OpDef> resize_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Resize", 10, "mode", resize_old},
    {"Resize", 11, "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value keep_aspect_ratio_policy mode nearest_mode", resize},
    {"Upsample", 7, "mode scales", resize_old},
    {"GridSample", 16, "align_corners mode padding_mode", grid_sample},
    {"AffineGrid", 20, "align_corners", affine_grid},
    {"RoiAlign", 10, "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale", roi_align},
    {"NonMaxSuppression", 10, "center_point_box", non_max_suppression},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
