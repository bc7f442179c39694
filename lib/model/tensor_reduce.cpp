#include <algorithm>

#include "lib/model/tensor.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/movement.h"

namespace tgc {
namespace {

Tensor detach(const Tensor& t) { return Tensor(t.graph().node(Op::DETACH, t.dtype(), t.uop())); }

struct SoftmaxParts {
  Tensor shifted, exps, total;
};
SoftmaxParts softmax_parts(const Tensor& x, int64_t axis) {
  Tensor m = x - detach(x.max(Ints{axis}, true));
  Tensor e = m.exp();
  return {m, e, e.sum(Ints{axis}, true)};
}

// Returns a mask that is true where row + diagonal <= column.
Tensor triangle_mask(Graph& graph, int64_t rows, int64_t columns, int64_t diagonal) {
  return (Tensor::arange(graph, rows).unsqueeze(-1) + diagonal).le(Tensor::arange(graph, columns));
}

}  // namespace

Tensor Tensor::reduce(Op op, const Axes& axes, bool keepdim) const {
  Ints picked;
  for (int64_t a : axes.value_or(int_range(0, ndim()))) picked.push_back(resolve_dim(a));
  if (ndim() == 0) picked.clear();
  Tensor out(reduce_axis(uop_, op, picked));
  if (keepdim) return out;
  Ints own = shape(), left;
  for (size_t i = 0; i < own.size(); i++)
    if (std::find(picked.begin(), picked.end(), int64_t(i)) == picked.end()) left.push_back(own[i]);
  return out.reshape(left);
}

Tensor Tensor::sum(Axes axes, bool keepdim, std::optional<DType> as) const {
  Tensor out = cast(as.value_or(sum_acc_dtype(dtype()))).reduce(Op::ADD, axes, keepdim);
  bool narrow = dtypes::is_float(dtype()) && dtype().itemsize() < 4;
  return !as && narrow ? out.cast(dtype()) : out;
}
Tensor Tensor::prod(Axes axes, bool keepdim) const { return reduce(Op::MUL, axes, keepdim); }
Tensor Tensor::max(Axes axes, bool keepdim) const { return reduce(Op::MAX, axes, keepdim); }
Tensor Tensor::min(Axes axes, bool keepdim) const { return inverse().max(axes, keepdim).inverse(); }
Tensor Tensor::any(Axes axes, bool keepdim) const { return cast(dtypes::bool_).max(axes, keepdim); }

Tensor Tensor::mean(Axes axes, bool keepdim) const {
  DType out = is_floating_point() ? dtype() : dtypes::float32;
  Tensor total = cast(sum_acc_dtype(dtype())).sum(axes, keepdim);
  return total.div(Const(numel() / std::max<int64_t>(1, sum(axes, true).numel()))).cast(out);
}

Tensor Tensor::var(Axes axes, bool keepdim, int64_t correction) const {
  Tensor squares = (*this - mean(axes, true)).square();
  int64_t n = numel() / std::max<int64_t>(1, squares.sum(axes, true).numel());
  return squares.sum(axes, keepdim).div(Const(std::max<int64_t>(0, n - correction)));
}
Tensor Tensor::std(Axes axes, bool keepdim, int64_t correction) const { return var(axes, keepdim, correction).sqrt(); }

Tensor Tensor::argmax(int64_t axis, bool keepdim) const {
  axis = resolve_dim(axis);
  int64_t n = ndim() ? size(axis) : 1;
  Ints column = vector_shape(std::max<int64_t>(1, ndim() - axis), 0, n);
  Tensor found = eq(max(Ints{axis}, true)) * arange(graph(), n, 0, -1, dtypes::int32).reshape(column);
  return (n - found.max(Ints{axis}, keepdim)).cast(dtypes::int32);
}

Tensor Tensor::softmax(int64_t axis) const {
  SoftmaxParts s = softmax_parts(*this, axis);
  return s.exps.div(s.total);
}
Tensor Tensor::log_softmax(int64_t axis) const {
  SoftmaxParts s = softmax_parts(*this, axis);
  return s.shifted - s.total.log();
}

// Returns the prefix sums along an axis (tensor.py:_cumalu with ADD). With include_initial, the sum at an element does
// not include this element.
Tensor Tensor::prefix_sums(int64_t axis, bool include_initial) const {
  int64_t n = size(axis);
  return transpose(axis, -1)
      .pad_axis(-1, n - !include_initial, -int64_t(include_initial), identity_element(Op::ADD, dtype()))
      .pool({n}, {1}, {1}).sum(Ints{-1}).transpose(axis, -1);
}

Tensor Tensor::cumsum(int64_t axis) const {
  constexpr int64_t kSplit = 256;
  axis = resolve_dim(axis);
  if (ndim() == 0 || numel() == 0) return *this;
  int64_t n = size(axis);
  if (n <= 2 * kSplit) return prefix_sums(axis);
  int64_t rounded = ceildiv(n, kSplit) * kSplit;
  Tensor parts = transpose(axis, -1).pad_axis(-1, rounded - n, 0, identity_element(Op::ADD, dtype()))
                     .unflatten(-1, {-1, kSplit}).prefix_sums(-1);
  Tensor base = parts.slice_axis(-1, {kSplit - 1, kSplit, 1}).squeeze(-1).prefix_sums(-1, true);
  base = base.unsqueeze(-1).expand(concat_ints({base.shape(), {kSplit}}));
  auto fix = [&](const Tensor& t) {
    return t.flatten(-2).slice_axis(-1, {rounded - n, rounded, 1}).transpose(axis, -1);
  };
  Tensor within = fix(parts), before = fix(base);
  return within + before;
}

Tensor Tensor::triu(int64_t diagonal) const {
  return triangle_mask(graph(), size(-2), size(-1), diagonal).where(*this, zeros_like());
}
Tensor Tensor::tril(int64_t diagonal) const {
  return triangle_mask(graph(), size(-2), size(-1), diagonal + 1).where(zeros_like(), *this);
}

}  // namespace tgc
