#include <algorithm>
#include <cmath>

#include "lib/model/op.h"

namespace tgc {
namespace {

Tensor reflect_coordinates(const Tensor& x, double low, double high) {
  if (high <= low) return x.zeros_like();
  Tensor far = (x - low).abs(), turns = (far / (high - low)).floor(), rest = far - turns * (high - low);
  return (turns - (turns / 2).floor() * 2).eq(Const(0)).where(rest + low, high - rest);
}

// Returns the weights of the four neighbours at distances 1 + t, t, 1 - t and 2 - t (Keys' cubic convolution).
Tensors cubic_weights(const Tensor& t) {
  constexpr double a = -0.75;
  auto near = [](const Tensor& x) { return poly_n(x, {a + 2, -(a + 3), 0, 1}); };
  auto far = [](const Tensor& x) { return poly_n(x, {a, -5 * a, 8 * a, -4 * a}); };
  return {far(t + 1), near(t), near(-(t - 1)), far(-(t - 2))};
}

// Samples images (n, channels, sizes...) at points. Each image axis has a tensor of coordinates (n, points).
class ImageSampler {
 public:
  ImageSampler(Tensor x, std::string padding, bool align)
      : images_(x), padding_mode_(std::move(padding)), align_corners_(align) {
    if (padding_mode_ != "zeros" && padding_mode_ != "border" && padding_mode_ != "reflection")
      throw Failure("its padding_mode is '" + padding_mode_ + "'");
  }

  // Returns a tensor of shape (n, channels, points).
  Tensor sample(const Tensors& coordinates, const std::string& mode) const {
    std::vector<AxisTaps> axes;
    for (size_t d = 0; d < coordinates.size(); d++) {
      Tensor at = apply_padding_mode(mode == "nearest" ? coordinates[d].round() : coordinates[d], size(d)),
             low = at.floor(), t = (at - low).unsqueeze(1);
      if (mode == "nearest") axes.push_back({at, 0, {}});
      else if (mode == "linear") axes.push_back({low, 0, {1 - t, t}});
      else if (mode == "cubic") axes.push_back({low, -1, cubic_weights(t)});
      else throw Failure("its mode is '" + mode + "'");
    }
    return interpolate(axes, {});
  }

  // Converts coordinates in [-1, 1] along image axis `d` to coordinates that count elements.
  Tensor element_coordinates(const Tensor& at, size_t d) const {
    auto n = double(size(d));
    return align_corners_ ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
  }

 private:
  struct AxisTaps {
    Tensor base_coordinate;
    int64_t first_offset;
    // weights of the elements from `base_coordinate` + `first_offset` on; empty: a single 1
    Tensors weights;
  };

  int64_t size(size_t d) const { return images_.size(int64_t(d) + 2); }

  Tensor apply_padding_mode(const Tensor& i, int64_t size) const {
    double low = align_corners_ ? 0 : -0.5, high = double(size) - (align_corners_ ? 1 : 0.5);
    Tensor is_outside = i.lt(Const(low)) | i.gt(Const(high));
    if (padding_mode_ == "border") return is_outside.where(i.clamp(Const(0), Const(size - 1)), i);
    if (padding_mode_ == "reflection") return is_outside.where(reflect_coordinates(i, low, high), i);
    return i;
  }

  Tensor interpolate(const std::vector<AxisTaps>& axes, Tensors chosen) const {
    if (chosen.size() == axes.size()) return gather_points(chosen);
    const AxisTaps& a = axes[chosen.size()];
    chosen.push_back(a.base_coordinate);
    if (a.weights.empty()) return interpolate(axes, chosen);
    Tensor out;
    for (size_t t = 0; t < a.weights.size(); t++) {
      chosen.back() = a.base_coordinate + double(a.first_offset + int64_t(t));
      Tensor part = interpolate(axes, chosen) * a.weights[t];
      out = out ? out + part : part;
    }
    return out;
  }

  Tensor gather_points(const Tensors& at) const {
    Tensor exists, index;
    for (size_t d = 0; d < at.size(); d++) {
      Tensor i = apply_padding_mode(at[d], size(d)), in = i.ge(Const(0)) & i.le(Const(size(d) - 1));
      i = i.clamp(Const(0), Const(size(d) - 1)).cast(dtypes::int32);
      exists = exists ? exists & in : in;
      index = index ? index * Const(size(d)) + i : i;
    }
    Ints out{images_.size(0), images_.size(1), index.size(1)};
    Tensor values = images_.reshape({images_.size(0), images_.size(1), -1}).gather(2, index.unsqueeze(1).expand(out));
    return exists.unsqueeze(1).expand(out).where(values, Const(0));
  }

  Tensor images_;
  std::string padding_mode_;
  bool align_corners_;
};

Values grid_sample(OpCall& c) {
  Tensor image = c.tensor(0), grid = c.tensor(1);
  int64_t axes = image.ndim() - 2;
  if (axes < 1 || grid.ndim() != axes + 2 || grid.size(-1) != axes || grid.size(0) != image.size(0))
    throw Failure("its grid does not fit its images");
  std::string mode = c.attribute_string("mode", "linear");
  if (mode == "bilinear") mode = "linear";  // "bilinear" and "bicubic" are the names before opset 20
  if (mode == "bicubic") mode = "cubic";
  DType wide = least_upper_dtype({image.dtype(), dtypes::float32});
  ImageSampler s(image, c.attribute_string("padding_mode", "zeros"), c.attribute_flag("align_corners", false));
  Tensors at;
  for (int64_t d = 0; d < axes; d++) {  // the grid begins with the coordinate of the last axis
    Tensor own = grid.slice_axis(-1, {axes - 1 - d, axes - d}).reshape({grid.size(0), -1}).cast(wide);
    at.push_back(s.element_coordinates(own, size_t(d)));
  }
  Ints gs = grid.shape(), to{image.size(0), image.size(1)};
  to.insert(to.end(), gs.begin() + 1, gs.end() - 1);
  return {s.sample(at, mode).cast(image.dtype()).reshape(to)};
}

Values deform_conv(OpCall& c) {
  Tensor x = c.tensor(0), w = c.tensor(1), offset = c.tensor(2);
  if (x.ndim() != 4 || w.ndim() != 4 || offset.ndim() != 4) throw Failure("images of two dimensions are supported");
  int64_t group = c.attribute_int("group", 1), parts = c.attribute_int("offset_group", 1), n = x.size(0),
          channels = x.size(1), outputs = w.size(0);
  Ints kernel{w.size(2), w.size(3)}, stride = c.attribute_ints("strides", {1, 1}),
                                     dilation = c.attribute_ints("dilations", {1, 1}),
                                     pads = c.attribute_ints("pads", {0, 0, 0, 0}), to{offset.size(2), offset.size(3)};
  int64_t places = product(kernel), points = places * product(to);
  if (c.attribute_ints("kernel_shape", kernel) != kernel || stride.size() != 2 || dilation.size() != 2 ||
      pads.size() != 4)
    throw Failure("its kernel_shape, strides, dilations or pads do not fit");
  if (group < 1 || parts < 1 || channels % parts || w.size(1) * group != channels || outputs % group ||
      offset.size(0) != n || offset.size(1) != 2 * parts * places)
    throw Failure("its groups do not fit its inputs");
  Tensor moved = offset.reshape({n * parts, places, 2, to[0], to[1]});
  Tensors at;
  for (int64_t d = 0; d < 2; d++) {
    auto i = size_t(d);
    if (to[i] != (x.size(d + 2) + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1)
      throw Failure("its offsets are not one for each position of the kernel");
    Ints at_kernel{1, 1, 1, 1, 1}, at_output{1, 1, 1, 1, 1};
    at_kernel[size_t(d + 1)] = kernel[i], at_output[size_t(d + 3)] = to[i];
    Tensor place = Tensor::arange(c.graph(), kernel[i]).reshape(at_kernel) * Const(dilation[i]) +
                   Tensor::arange(c.graph(), to[i]).reshape(at_output) * Const(stride[i]) - Const(pads[i]);
    place = place.expand({1, kernel[0], kernel[1], to[0], to[1]}).reshape({1, places, to[0], to[1]});
    at.push_back((moved.slice_axis(2, {d, d + 1}).squeeze(2) + place).reshape({n * parts, points}));
  }
  Tensor columns =
      ImageSampler(x.reshape({n * parts, channels / parts, x.size(2), x.size(3)}), "zeros", true).sample(at, "linear");
  if (c.has_input(4)) columns = columns * c.tensor(4).reshape({n * parts, 1, points});
  columns = columns.reshape({n, group, channels / group * places, product(to)});
  Tensor y = w.reshape({1, group, outputs / group, -1}).matmul(columns).reshape({n, outputs, to[0], to[1]});
  return {c.has_input(3) ? y + c.tensor(3).reshape({1, -1, 1, 1}) : y};
}

Values affine_grid(OpCall& c) {
  Tensor theta = c.tensor(0);
  Ints size = c.ints(1);
  if (size.size() != 4 && size.size() != 5) throw Failure("its size has " + std::to_string(size.size()) + " numbers");
  if (theta.ndim() != 3 || theta.size(0) != size[0]) throw Failure("its size does not fit its matrices");
  Ints spatial(size.begin() + 2, size.end());
  Tensors steps;
  for (int64_t n : spatial) {
    double edge = c.attribute_flag("align_corners", false) ? 1.0 : 1.0 - 1.0 / double(n);
    steps.push_back(Tensor::linspace(c.graph(), -edge, edge, n));
  }
  Tensors grids = Tensor::meshgrid(steps);
  std::reverse(grids.begin(), grids.end());
  grids.push_back(grids[0].ones_like());
  auto axes = int64_t(spatial.size());
  Tensor base = Tensor::stack(grids, -1).reshape({1, product(spatial), axes + 1}).expand({size[0], -1, -1});
  return {base.matmul(theta.transpose(1, 2)).reshape(concat_ints({{size[0]}, spatial, {axes}}))};
}

// Returns coordinates of shape (regions, bins * count).
Tensor sample_coordinates(OpCall& c, const Tensor& start, const Tensor& size, int64_t bins, int64_t count) {
  Tensor i = Tensor::arange(c.graph(), bins * count).reshape({1, -1});
  return start + (i + 0.5) / double(count) * (size / double(bins));
}

// The weights are 0 for a sample more than one element outside the image.
struct LinearNeighbours {
  Tensor low, high, low_weight, high_weight;
  LinearNeighbours(const Tensor& at, int64_t size) {
    Tensor exists = at.ge(Const(-1.0)) & at.le(Const(double(size)));
    Tensor place = at.clamp(Const(0.0), Const(double(size - 1))), floor = place.floor(), weight = place - floor;
    low = floor.cast(dtypes::int32), high = (low + Const(1)).clamp(Const(0), Const(size - 1));
    high_weight = exists.where(weight, Const(0.0)), low_weight = exists.where(1 - weight, Const(0.0));
  }
};

Tensor pool_aligned_regions(OpCall& c, const Tensor& images, const Tensor& rois, int64_t rows, int64_t columns) {
  bool half =
      c.attribute_choice("coordinate_transformation_mode", c.opset_version() < 16 ? "output_half_pixel" : "half_pixel",
                         {"half_pixel", "output_half_pixel"}) == "half_pixel";
  double scale = c.attribute_float("spatial_scale", 1.0), offset = half ? 0.5 : 0;
  int64_t height = c.attribute_int("output_height", 1), width = c.attribute_int("output_width", 1), n = rois.size(0),
          channels = images.size(1);
  if (height < 1 || width < 1) throw Failure("an output of " + std::to_string(height) + " by " + std::to_string(width));
  auto edge = [&](int64_t i) { return rois.slice_axis(1, {i, i + 1}) * scale - offset; };
  Tensor left = edge(0), top = edge(1), w = edge(2) - left, h = edge(3) - top;
  if (!half) w = w.maximum(Const(1.0)), h = h.maximum(Const(1.0));
  LinearNeighbours y(sample_coordinates(c, top, h, height, rows), images.size(2)),
      x(sample_coordinates(c, left, w, width, columns), images.size(3));
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
  bool average = c.attribute_choice("mode", "avg", {"avg", "max"}) == "avg";
  Tensor value = corners[0];
  for (size_t i = 1; i < 4; i++) value = average ? value + corners[i] : value.maximum(corners[i]);
  Tensor bins = value.reshape({n, channels, height, rows, width, columns});
  return average ? bins.mean(Ints{3, 5}) : bins.max(Ints{3, 5});
}

Values roi_align(OpCall& c) {
  Tensor x = c.tensor(0), rois = c.tensor(1);
  if (x.ndim() != 4 || rois.ndim() != 2 || rois.size(1) != 4)
    throw Failure("its inputs must be images (4 axes) and boxes of four numbers");
  c.check_range(2, 0, x.size(0) - 1, "image");
  Tensor images = x.getitem({c.tensor(2)});
  int64_t ratio = c.attribute_int("sampling_ratio", 0);
  if (ratio > 0) return {pool_aligned_regions(c, images, rois, ratio, ratio)};
  // the number of samples per bin depends on the sizes of the boxes, so the values of the boxes must be known here
  auto boxes = c.numbers(1);
  double scale = c.attribute_float("spatial_scale", 1.0), height = double(c.attribute_int("output_height", 1)),
         width = double(c.attribute_int("output_width", 1));
  Tensors out;
  for (int64_t i = 0; i < rois.size(0); i++) {
    const double* box = &boxes[size_t(4 * i)];
    auto count = [&](double from, double to, double bins) {
      return int64_t(std::clamp(std::ceil((to - from) * scale / bins), 1.0, 0x1p20));
    };
    out.push_back(pool_aligned_regions(c, images.slice_axis(0, {i, i + 1}), rois.slice_axis(0, {i, i + 1}),
                                       count(box[1], box[3], height), count(box[0], box[2], width)));
  }
  return {Tensor::cat_all(out, 0)};
}

// Bins may differ in size and overlap.
Values max_roi_pool(OpCall& c) {
  Tensor x = c.tensor(0), rois = c.tensor(1);
  Ints bins = c.attribute_ints("pooled_shape");
  if (x.ndim() != 4 || rois.ndim() != 2 || rois.size(1) != 5 || bins.size() != 2 || bins[0] < 1 || bins[1] < 1)
    throw Failure("its inputs must be images (4 axes) and regions of five numbers, its pooled_shape two sizes");
  auto regions = c.numbers(1);
  auto scale = float(c.attribute_float("spatial_scale", 1.0));
  Tensors out;
  for (int64_t i = 0; i < rois.size(0); i++) {
    const double* region = &regions[size_t(5 * i)];
    auto image = int64_t(region[0]);
    if (image < 0 || image >= x.size(0)) throw Failure("region " + std::to_string(i) + " is of an image out of range");
    // Computes in float32, as onnxruntime does.
    auto bounds = [&](int64_t axis, int64_t bin) {
      auto corner = [&](size_t at) { return std::round(float(region[at]) * scale); };
      float first = corner(axis == 2 ? 2 : 1), last = corner(axis == 2 ? 4 : 3), limit = float(x.size(axis)),
            size = std::max(last - first + 1, 1.0F) / float(bins[size_t(axis - 2)]);
      return std::pair(int64_t(std::clamp(std::floor(float(bin) * size) + first, 0.0F, limit)),
                       int64_t(std::clamp(std::ceil(float(bin + 1) * size) + first, 0.0F, limit)));
    };
    Tensor plane = x.slice_axis(0, {image, image + 1});
    for (int64_t h = 0; h < bins[0]; h++)
      for (int64_t w = 0; w < bins[1]; w++) {
        auto rows = bounds(2, h), columns = bounds(3, w);
        bool empty = rows.first >= rows.second || columns.first >= columns.second;
        out.push_back(empty ? Tensor::full(c.graph(), {x.size(1)}, 0.0, x.dtype())
                      : plane.slice_axis(2, {rows.first, rows.second})
                            .slice_axis(3, {columns.first, columns.second})
                            .max(Ints{0, 2, 3}, false));
      }
  }
  if (out.empty()) return {Tensor::full(c.graph(), {0, x.size(1), bins[0], bins[1]}, 0.0, x.dtype())};
  return {Tensor::stack(out).reshape({rois.size(0), bins[0], bins[1], x.size(1)}).permute({0, 3, 1, 2})};
}

struct Box {
  double y0, x0, y1, x1;
  double area() const { return (y1 - y0) * (x1 - x0); }
};

Box box_of(const double* v, bool center) {
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

double intersection_over_union(const Box& a, const Box& b) {
  double h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  double both = std::max(h, 0.0) * std::max(w, 0.0), all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

Values non_max_suppression(OpCall& c) {
  Tensor boxes = c.tensor(0), scores = c.tensor(1);
  if (boxes.ndim() != 3 || boxes.size(2) != 4 || scores.ndim() != 3 || scores.size(2) != boxes.size(1))
    throw Failure("its boxes and scores do not fit");
  auto box = c.numbers(0), score = c.numbers(1);
  int64_t most = c.has_input(2) ? c.integer(2) : 0, count = boxes.size(1), classes = scores.size(1);
  double iou = c.has_input(3) ? c.number(3) : 0, least = c.has_input(4) ? c.number(4) : -HUGE_VAL;
  bool center = c.attribute_flag("center_point_box", false);
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
        if (std::ranges::none_of(kept, [&](int64_t j) { return intersection_over_union(at(i), at(j)) > iou; }))
          kept.push_back(i);
      }
      for (int64_t i : kept) selected.insert(selected.end(), {b, k, i});
    }
  return {Tensor::from_values(c.graph(), selected).reshape({int64_t(selected.size()) / 3, 3})};
}

}  // namespace

std::span<const OpDef> sample_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"GridSample", 16, "align_corners mode padding_mode", grid_sample},
    {"AffineGrid", 20, "align_corners", affine_grid},
    {"DeformConv", 19, "dilations group kernel_shape offset_group pads strides", deform_conv},
    {"RoiAlign", 10, "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale", roi_align},
    {"MaxRoiPool", 1, "pooled_shape spatial_scale", max_roi_pool},
    {"NonMaxSuppression", 10, "center_point_box", non_max_suppression},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
