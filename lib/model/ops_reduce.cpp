#include <algorithm>
#include <set>

#include "lib/model/model.h"

namespace tgc {
namespace {

// Without axes, a node reduces all axes or, with noop_with_empty_axes, no axis.
struct Reduction {
  Axes axes;
  bool keepdims, is_identity;
  explicit Reduction(OpCall& c) : keepdims(c.attribute_flag("keepdims", true)), is_identity(false) {
    if (c.op_attribute("axes")) axes = c.attribute_ints("axes");
    else if (c.has_input(1)) axes = c.ints(1);
    if (axes && axes->empty()) axes = kAllAxes;
    is_identity = !axes && c.attribute_flag("noop_with_empty_axes", false);
  }
};

constexpr std::string_view kReduceAttributes = "axes keepdims noop_with_empty_axes";

template <Tensor (*F)(const Tensor&, const Axes&, bool)>
Values reduce(OpCall& c) {
  Reduction r(c);
  Tensor x = c.tensor(0);
  std::set<int64_t> named;
  for (int64_t a : r.axes.value_or(Ints{}))
    if (!named.insert(x.resolve_dim(a)).second) throw Failure("axis " + std::to_string(a) + " is named twice");
  if (r.is_identity) return {F(x, Ints{}, true).cast(x.dtype())};
  return {F(x, r.axes, r.keepdims).cast(x.dtype())};
}

Tensor reduce_sum(const Tensor& x, const Axes& axes, bool keep) { return x.sum(axes, keep); }
Tensor reduce_mean(const Tensor& x, const Axes& axes, bool keep) { return x.mean(axes, keep); }
Tensor reduce_max(const Tensor& x, const Axes& axes, bool keep) { return x.max(axes, keep); }
Tensor reduce_min(const Tensor& x, const Axes& axes, bool keep) { return x.min(axes, keep); }
Tensor reduce_prod(const Tensor& x, const Axes& axes, bool keep) { return x.prod(axes, keep); }
Tensor reduce_sum_square(const Tensor& x, const Axes& axes, bool keep) { return x.square().sum(axes, keep); }
Tensor reduce_l1(const Tensor& x, const Axes& axes, bool keep) { return x.abs().sum(axes, keep); }
// Casts 16-bit floats to float32, because sums of 16-bit floats may overflow or lose precision.
Tensor widen_half(const Tensor& x) {
  bool narrow = x.dtype() == dtypes::float16 || x.dtype() == dtypes::bfloat16;
  return x.cast(narrow ? dtypes::float32 : x.dtype());
}
Tensor reduce_l2(const Tensor& x, const Axes& axes, bool keep) { return widen_half(x).square().sum(axes, keep).sqrt(); }
Tensor reduce_log_sum(const Tensor& x, const Axes& axes, bool keep) { return widen_half(x).sum(axes, keep).log(); }
// Subtracts a finite maximum, so that exp() does not overflow.
Tensor reduce_log_sum_exp(const Tensor& x, const Axes& axes, bool keep) {
  Tensor wide = x.is_floating_point() ? widen_half(x) : x.cast(dtypes::float64);
  auto greatest = [&](bool keep_axes) {
    Tensor m = wide.max(axes, keep_axes);
    return m.isinf().where(Const(0.0), m);
  };
  return (wide - greatest(true)).exp().sum(axes, keep).log() + greatest(keep);
}

// Returns ~x for integers, because unsigned integers and the least signed integer have no negative.
Tensor reversed_order(const Tensor& x) { return x.is_floating_point() ? -x : x.bitwise_not(); }

Values arg_max(OpCall& c, Tensor x) {
  int64_t axis = x.resolve_dim(c.attribute_int("axis", 0));
  bool keep = c.attribute_flag("keepdims", true);
  if (c.attribute_flag("select_last_index", false))
    return {((x.size(axis) - 1) - x.flip({axis}).argmax(axis, keep)).cast(dtypes::int64)};
  return {x.argmax(axis, keep).cast(dtypes::int64)};
}

// Before opset 13, the tensor is flattened to a matrix whose rows are the axes before `axis`.
template <Tensor (Tensor::*F)(int64_t) const>
Values apply_to_matrix(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = c.attribute_int("axis", 1);
  Ints own = x.shape();
  auto at = size_t(axis < 0 ? axis + x.ndim() : axis);
  if (at > own.size()) throw Failure("axis " + std::to_string(axis) + " is out of range");
  Tensor rows = x.reshape({product(std::span(own).first(at)), product(std::span(own).subspan(at))});
  return {(rows.*F)(1).reshape(own)};
}

Tensor hardmax(const Tensor& x, int64_t axis) {
  return x.argmax(axis).unsqueeze(axis).one_hot_along_dim(x.size(axis), axis).cast(x.dtype());
}

Values hardmax_matrix(OpCall& c) {
  Tensor x = c.tensor(0);
  Ints own = x.shape();
  auto at = size_t(x.resolve_dim(c.attribute_int("axis", 1)));
  return {hardmax(x.reshape({product(std::span(own).first(at)), product(std::span(own).subspan(at))}), 1).reshape(own)};
}

Values cum_sum(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = x.resolve_dim(c.integer(1));
  bool reverse = c.attribute_flag("reverse", false);
  if (reverse) x = x.flip({axis});
  if (c.attribute_flag("exclusive", false)) x = x.pad_axis(axis, 1, -1);
  Tensor out = x.cumsum(axis).cast(x.dtype());
  return {reverse ? out.flip({axis}) : out};
}

Values top_k(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t k = c.opset_version() < 10 ? c.attribute_int("k") : c.integer(1);
  auto [values, indices] = x.topk(k, c.attribute_int("axis", -1), c.attribute_flag("largest", true));
  return {values, indices.cast(dtypes::int64)};
}

Values one_hot(OpCall& c) {
  Tensor indices = c.tensor(0).cast(dtypes::int64), values = c.tensor(2);
  auto depth = int64_t(c.number(1));
  int64_t axis = c.attribute_int("axis", -1);
  if (axis < -indices.ndim() - 1 || axis > indices.ndim())
    throw Failure("axis " + std::to_string(axis) + " is out of range");
  indices = indices.lt(Const(0)).where(indices + depth, indices);
  return {indices.unsqueeze(axis).one_hot_along_dim(depth, axis).where(values.select(1), values.select(0))};
}

// The size of the output depends on values, which are computed during the build.
Values non_zero(OpCall& c) {
  Array x = c.array(0);
  auto rank = int64_t(x.shape().size());
  std::vector<Ints> coordinates(static_cast<size_t>(rank));
  for (int64_t i = 0; i < x.size(); i++) {
    if (element_as_double(x, i) == 0) continue;
    int64_t rest = i;
    for (int64_t d = rank - 1; d >= 0; d--) {
      coordinates[size_t(d)].push_back(rest % x.shape()[size_t(d)]);
      rest /= x.shape()[size_t(d)];
    }
  }
  Ints flat;
  for (auto& list : coordinates) flat.insert(flat.end(), list.begin(), list.end());
  return {Tensor::from_values(c.graph(), flat).reshape({rank, rank ? int64_t(coordinates[0].size()) : 0})};
}

Values compress(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = c.op_attribute("axis") ? x.resolve_dim(c.attribute_int("axis")) : 0;
  if (!c.op_attribute("axis")) x = x.flatten();
  Ints condition = c.ints(1), picked;
  for (size_t i = 0; i < condition.size(); i++)
    if (condition[i]) picked.push_back(int64_t(i));
  std::vector<Tensor::Index> indices(size_t(x.ndim()), Slice{});
  indices[size_t(axis)] = Tensor::from_values(c.graph(), picked);
  return {x.getitem(indices)};
}

Values unique(OpCall& c) {
  Tensor x = c.op_attribute("axis") ? c.tensor(0) : c.tensor(0).flatten();
  int64_t axis = c.op_attribute("axis") ? x.resolve_dim(c.attribute_int("axis")) : 0, n = x.size(axis);
  Ints order = int_range(0, x.ndim());
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  Array rows = c.builder().evaluate_tensor(x.permute(order).contiguous());
  int64_t width = n ? rows.size() / n : 0;
  auto less = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < width; i++) {
      double u = element_as_double(rows, a * width + i), v = element_as_double(rows, b * width + i);
      if (u != v) return u < v;
    }
    return false;
  };
  std::set<int64_t, decltype(less)> first(less);  // index of the first occurrence of each distinct row
  for (int64_t i = 0; i < n; i++) first.insert(i);
  Ints picked(first.begin(), first.end());
  if (!c.attribute_flag("sorted", true)) std::sort(picked.begin(), picked.end());
  Ints inverse, counts(picked.size(), 0);
  for (int64_t i = 0; i < n; i++) {
    auto at = std::find(picked.begin(), picked.end(), *first.find(i)) - picked.begin();
    inverse.push_back(at);
    counts[size_t(at)]++;
  }
  std::vector<Tensor::Index> indices(size_t(x.ndim()), Slice{});
  indices[size_t(axis)] = Tensor::from_values(c.graph(), picked);
  return {x.getitem(indices), Tensor::from_values(c.graph(), picked), Tensor::from_values(c.graph(), inverse),
          Tensor::from_values(c.graph(), counts)};
}

}  // namespace

std::span<const OpDef> reduce_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"ReduceSum", 1, kReduceAttributes, reduce<reduce_sum>},
    {"ReduceMean", 1, kReduceAttributes, reduce<reduce_mean>},
    {"ReduceMax", 1, kReduceAttributes, reduce<reduce_max>},
    {"ReduceMin", 1, kReduceAttributes, reduce<reduce_min>},
    {"ReduceProd", 1, kReduceAttributes, reduce<reduce_prod>},
    {"ReduceSumSquare", 1, kReduceAttributes, reduce<reduce_sum_square>},
    {"ReduceL1", 1, kReduceAttributes, reduce<reduce_l1>},
    {"ReduceL2", 1, kReduceAttributes, reduce<reduce_l2>},
    {"ReduceLogSum", 1, kReduceAttributes, reduce<reduce_log_sum>},
    {"ReduceLogSumExp", 1, kReduceAttributes, reduce<reduce_log_sum_exp>},
    {"ArgMax", 1, "axis keepdims select_last_index", [](OpCall& c) -> Values { return arg_max(c, c.tensor(0)); }},
    {"ArgMin", 1, "axis keepdims select_last_index", [](OpCall& c) -> Values { return arg_max(c, reversed_order(c.tensor(0))); }},
    {"Softmax", 1, "axis", apply_to_matrix<&Tensor::softmax>},
    {"Softmax", 13, "axis", [](OpCall& c) -> Values { return {c.tensor(0).softmax(c.attribute_int("axis", -1))}; }},
    {"LogSoftmax", 1, "axis", apply_to_matrix<&Tensor::log_softmax>},
    {"LogSoftmax", 13, "axis", [](OpCall& c) -> Values { return {c.tensor(0).log_softmax(c.attribute_int("axis", -1))}; }},
    {"Hardmax", 1, "axis", hardmax_matrix},
    {"Hardmax", 13, "axis", [](OpCall& c) -> Values { return {hardmax(c.tensor(0), c.attribute_int("axis", -1))}; }},
    {"CumSum", 11, "exclusive reverse", cum_sum},
    {"TopK", 1, "k axis largest sorted", top_k},
    {"OneHot", 9, "axis", one_hot},
    {"NonZero", 9, "", non_zero},
    {"Compress", 9, "axis", compress},
    {"Unique", 11, "axis sorted", unique},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
