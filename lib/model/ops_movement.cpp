#include <algorithm>
#include <numeric>

#include "lib/model/model.h"

namespace tgc {
namespace {

// Returns a list of integers that is an attribute in old opsets, and an input in newer ones.
std::optional<Ints> ints_from_attribute_or_input(OpCall& c, std::string_view attribute, size_t input) {
  if (c.op_attribute(attribute)) return c.attribute_ints(attribute);
  return c.ints_or_none(input);
}

Ints reversed_axes(int64_t rank) {
  Ints out(static_cast<size_t>(rank));
  std::iota(out.rbegin(), out.rend(), 0);
  return out;
}

Values constant(OpCall& c) {
  Graph& g = c.graph();
  if (auto* a = c.op_attribute("value")) return {c.builder().value_of(*a->t)};
  if (auto* a = c.op_attribute("value_float")) return {Tensor::constant(g, a->f, dtypes::float32)};
  if (auto* a = c.op_attribute("value_floats")) return {Tensor::from_values(g, a->floats)};
  if (auto* a = c.op_attribute("value_int")) return {Tensor::constant(g, a->i, dtypes::int64)};
  if (auto* a = c.op_attribute("value_ints")) return {Tensor::from_values(g, a->ints)};
  if (auto* a = c.op_attribute("value_string")) return {StringTensor{{}, {a->s}}};
  if (auto* a = c.op_attribute("value_strings")) return {StringTensor{{int64_t(a->strings.size())}, a->strings}};
  throw Failure("the constant has no value");
}

Values constant_of_shape(OpCall& c) {
  auto* given = c.op_attribute("value", onnx::Attribute::Kind::Tensor);
  Value value = given ? c.builder().value_of(*given->t) : Value(Tensor::constant(c.graph(), 0.0, dtypes::float32));
  Ints shape = c.ints(0);
  if (value.tensor().numel() != 1)
    throw Failure("attribute 'value' has " + std::to_string(value.tensor().numel()) + " elements, one is needed");
  return {{value.tensor().reshape(Ints(shape.size(), 1)).expand(shape), value.narrow_type()}};
}

Values range(OpCall& c) {
  DType dtype = c.tensor(0).dtype();
  if (dtypes::is_float(dtype)) return {Tensor::arange(c.graph(), c.number(0), c.number(1), c.number(2), dtype)};
  return {Tensor::arange(c.graph(), c.integer(0), c.integer(1), c.integer(2), dtype)};
}

Values eye_like(OpCall& c) {
  Tensor x = c.tensor(0);
  if (x.ndim() != 2) throw Failure("its input has " + std::to_string(x.ndim()) + " axes, two are needed");
  DType dtype = c.op_attribute("dtype") ? c.dtype_of(c.attribute_int("dtype")) : x.dtype();
  int64_t rows = x.size(0), columns = x.size(1), k = c.attribute_int("k", 0);
  if (k == 0 && rows == columns) return {Tensor::eye(c.graph(), rows, columns, dtype)};
  return {(Tensor::arange(c.graph(), rows).unsqueeze(-1) + k).eq(Tensor::arange(c.graph(), columns)).cast(dtype)};
}

Values shape(OpCall& c) {
  Ints own = c.value(0).is_strings() ? c.value(0).strings().shape : c.tensor(0).shape();
  auto rank = int64_t(own.size());
  auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  int64_t start = place(c.attribute_int("start", 0)), end = std::max(start, place(c.attribute_int("end", rank)));
  return {Tensor::from_values(c.graph(), Ints(own.begin() + start, own.begin() + end))};
}

Values reshape(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints to = c.op_attribute("shape") ? c.attribute_ints("shape") : c.ints(1);
  for (size_t i = 0; i < to.size() && !c.attribute_flag("allowzero", false); i++)
    if (to[i] == 0) to[i] = x.size(int64_t(i));
  return {x.reshape(to)};
}

Values flatten(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = c.attribute_int("axis", 1);
  if (axis < -x.ndim() || axis > x.ndim()) throw Failure("axis " + std::to_string(axis) + " is out of range");
  Ints own = x.shape();
  auto at = size_t(axis < 0 ? axis + x.ndim() : axis);
  return {x.reshape({product(std::span(own).first(at)), product(std::span(own).subspan(at))})};
}

void refuse_duplicates(const Ints& sorted_axes) {
  auto twice = std::ranges::adjacent_find(sorted_axes);
  if (twice != sorted_axes.end()) throw Failure("axis " + std::to_string(*twice) + " is named twice");
}

Values squeeze(OpCall& c) {
  Tensor x = c.tensor(0);
  auto axes = ints_from_attribute_or_input(c, "axes", 1);
  if (!axes) return {x.squeeze()};
  for (int64_t& a : *axes) {
    a = x.resolve_dim(a);
    if (x.size(a) != 1)
      throw Failure("axis " + std::to_string(a) + " has size " + std::to_string(x.size(a)) + ", not 1");
  }
  std::sort(axes->rbegin(), axes->rend());
  refuse_duplicates(*axes);
  for (int64_t a : *axes) x = x.squeeze(a);
  return {x};
}

Values unsqueeze(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints axes = ints_from_attribute_or_input(c, "axes", 1).value_or(Ints{});
  int64_t rank = x.ndim() + int64_t(axes.size());
  for (int64_t& a : axes) {
    if (a < -rank || a >= rank) throw Failure("axis " + std::to_string(a) + " is out of range");
    a = a < 0 ? a + rank : a;
  }
  std::sort(axes.begin(), axes.end());
  refuse_duplicates(axes);
  for (int64_t a : axes) x = x.unsqueeze(a);
  return {x};
}

Values expand(OpCall& c) {
  Tensor x = c.tensor(0);
  c.check_range(1, 0, INT64_MAX, "size");
  return {x.broadcast_to(broadcast_shape({x.shape(), c.ints(1)}))};
}

Values tile(OpCall& c) {
  Tensor x = c.tensor(0);
  if (c.opset_version() >= 6) return {x.repeat(c.ints(1))};
  int64_t times = c.integer(1);
  return {x.repeat(vector_shape(x.ndim(), x.resolve_dim(c.integer(2)), times))};
}

Values slice(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints starts = ints_from_attribute_or_input(c, "starts", 1).value_or(Ints{}),
       ends = ints_from_attribute_or_input(c, "ends", 2).value_or(Ints{});
  Ints axes = ints_from_attribute_or_input(c, "axes", 3).value_or(int_range(0, int64_t(starts.size())));
  Ints steps = c.ints_or_none(4).value_or(Ints(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    throw Failure("its lists of starts, ends, axes and steps differ in length");
  std::vector<Tensor::Index> indices(size_t(x.ndim()), Slice{});
  for (size_t i = 0; i < axes.size(); i++) {
    int64_t dim = x.resolve_dim(axes[i]), n = x.size(dim);
    bool backward = steps[i] < 0;
    // A backward slice that starts before the first element has this element in ONNX, but is empty in Python.
    auto clamped = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + n : at, low, std::max(low, high));
    };
    int64_t start = clamped(starts[i], 0, backward ? n - 1 : n),
            stop = clamped(ends[i], backward ? -1 : 0, backward ? n - 1 : n);
    indices[size_t(dim)] = Slice{start, stop < 0 ? std::nullopt : std::optional(stop), steps[i]};
  }
  return {x.getitem(indices)};
}

Values split(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = x.resolve_dim(c.attribute_int("axis", 0)), n = x.size(axis);
  auto sizes = ints_from_attribute_or_input(c, "split", 1);
  if (!sizes) {
    int64_t parts = c.attribute_int("num_outputs", int64_t(c.num_outputs()));
    if (parts <= 0) throw Failure("a split into " + std::to_string(parts) + " parts");
    int64_t each = ceildiv(n, parts);
    sizes.emplace();
    for (int64_t i = 0; i < parts; i++) sizes->push_back(std::clamp<int64_t>(n - i * each, 0, each));
  }
  Values out;
  for (auto& t : x.split(*sizes, axis)) out.push_back(t);
  return out;
}

Values pad(OpCall& c) {
  Tensor x = c.tensor(0);
  auto rank = size_t(x.ndim());
  Ints pads = c.op_attribute("pads")       ? c.attribute_ints("pads")
              : c.op_attribute("paddings") ? c.attribute_ints("paddings")
                                           : c.ints(1);
  Ints axes = c.ints_or_none(3).value_or(int_range(0, x.ndim()));
  if (pads.size() != 2 * axes.size())
    throw Failure(std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) + " axes");
  Padding padding(rank);
  for (size_t i = 0; i < axes.size(); i++) padding[size_t(x.resolve_dim(axes[i]))] = {pads[i], pads[i + axes.size()]};
  Const value = c.attribute_float("value", 0.0);
  if (c.has_input(2)) value = dtypes::is_float(x.dtype()) ? Const(c.number(2)) : Const(c.integer(2));
  std::string mode = c.attribute_choice("mode", "constant", {"constant", "reflect", "edge", "wrap"});
  return {x.pad(padding, value, mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : mode)};
}

Values center_crop_pad(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints to = c.ints(1), axes = c.attribute_ints("axes", int_range(0, int64_t(to.size())));
  if (axes.size() != to.size()) throw Failure("its lists of sizes and axes differ in length");
  DimSpans cut(static_cast<size_t>(x.ndim()));
  Padding padding(static_cast<size_t>(x.ndim()));
  for (size_t i = 0; i < to.size(); i++) {
    auto dim = size_t(x.resolve_dim(axes[i]));
    int64_t n = x.size(int64_t(dim)), s = to[i];
    if (s < n) cut[dim] = std::pair((n - s) / 2, (n - s) / 2 + s);
    if (s > n) padding[dim] = {(s - n) / 2, (s - n + 1) / 2};
  }
  return {x.shrink(cut).pad(padding)};
}

Tensor image_input(OpCall& c) {
  Tensor x = c.tensor(0);
  if (x.ndim() != 4) throw Failure("its input has " + std::to_string(x.ndim()) + " axes, four are needed");
  return x;
}

Values depth_to_space(OpCall& c) {
  Tensor x = image_input(c);
  int64_t b = c.attribute_int("blocksize"), n = x.size(0), depth = x.size(1), h = x.size(2), w = x.size(3);
  if (b <= 0 || depth % (b * b))
    throw Failure("blocks of " + std::to_string(b) + " in " + std::to_string(depth) + " channels");
  int64_t ch = depth / (b * b);
  Tensor y = c.attribute_choice("mode", "DCR", {"DCR", "CRD"}) == "CRD"
                 ? x.reshape({n, ch, b, b, h, w}).permute({0, 1, 4, 2, 5, 3})
                 : x.reshape({n, b, b, ch, h, w}).permute({0, 3, 4, 1, 5, 2});
  return {y.reshape({n, ch, h * b, w * b})};
}

Values space_to_depth(OpCall& c) {
  Tensor x = image_input(c);
  int64_t b = c.attribute_int("blocksize"), n = x.size(0), ch = x.size(1), h = x.size(2), w = x.size(3);
  if (b <= 0 || h % b || w % b)
    throw Failure("blocks of " + std::to_string(b) + " in an image of " + std::to_string(h) + " by " +
                  std::to_string(w));
  return {x.reshape({n, ch, h / b, b, w / b, b}).permute({0, 3, 5, 1, 2, 4}).reshape({n, ch * b * b, h / b, w / b})};
}

Values reverse_sequence(OpCall& c) {
  Tensor x = c.tensor(0), lengths = c.tensor(1);
  int64_t batch = x.resolve_dim(c.attribute_int("batch_axis", 1)),
          time = x.resolve_dim(c.attribute_int("time_axis", 0));
  c.check_range(1, 0, x.size(time), "length");
  Ints along = vector_shape(x.ndim(), time, x.size(time)), across = vector_shape(x.ndim(), batch, x.size(batch));
  Tensor i = Tensor::arange(c.graph(), x.size(time), dtypes::int64).reshape(along), n = lengths.reshape(across);
  return {x.gather(time, i.lt(n).where(n - 1 - i, i).expand(x.shape()))};
}

Values trilu(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t k = c.has_input(1) ? c.integer(1) : 0;
  k = std::clamp<int64_t>(k, -x.size(-2) - 1, x.size(-1) + 1);
  return {c.attribute_flag("upper", true) ? x.triu(k) : x.tril(k)};
}

}  // namespace

std::span<const OpDef> movement_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Identity", 1, "", [](OpCall& c) -> Values { return {c.has_input(0) ? c.value(0) : Value()}; }},
    {"Constant", 1, "value value_float value_floats value_int value_ints value_string value_strings", constant},
    {"ConstantOfShape", 9, "value", constant_of_shape},
    {"Range", 11, "", range},
    {"EyeLike", 9, "dtype k", eye_like},
    {"Shape", 1, "start end", shape},
    {"Size", 1, "", [](OpCall& c) -> Values { return {Tensor::constant(c.graph(), c.tensor(0).numel(), dtypes::int64)}; }},
    {"Reshape", 1, "shape allowzero consumed_inputs", reshape},
    {"Flatten", 1, "axis", flatten},
    {"Squeeze", 1, "axes", squeeze},
    {"Unsqueeze", 1, "axes", unsqueeze},
    {"Expand", 8, "", expand},
    {"Tile", 1, "", tile},
    {"Transpose", 1, "perm", [](OpCall& c) -> Values { return {c.tensor(0).permute(c.attribute_ints("perm", reversed_axes(c.tensor(0).ndim())))}; }},
    {"Concat", 1, "axis", [](OpCall& c) -> Values { return {Tensor::cat_all(c.tensors(), c.opset_version() < 4 ? c.attribute_int("axis", 1) : c.attribute_int("axis"))}; }},
    {"Slice", 1, "starts ends axes", slice},
    {"Split", 1, "axis split num_outputs", split},
    {"Pad", 1, "pads paddings mode value", pad},
    {"CenterCropPad", 18, "axes", center_crop_pad},
    {"DepthToSpace", 1, "blocksize mode", depth_to_space},
    {"SpaceToDepth", 1, "blocksize", space_to_depth},
    {"ReverseSequence", 10, "batch_axis time_axis", reverse_sequence},
    {"Trilu", 14, "upper", trilu},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
