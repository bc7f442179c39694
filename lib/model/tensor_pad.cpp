#include <algorithm>

#include "lib/model/tensor.h"
#include "lib/uop/movement.h"

namespace tgc {
namespace {

Tensor pad_zeros(const Tensor& x, const Padding& padding) {
  std::vector<std::pair<Sint, Sint>> pairs(padding.begin(), padding.end());
  return Tensor(pad(x.uop(), pairs));
}

Tensor pad_constant(const Tensor& x, const Padding& padding, Const value) {
  if (py_equal(value, 0)) return pad_zeros(x, padding);
  return pad_zeros(x, padding) + pad_zeros(x.ones_like(), padding).where(Const(0), value);
}

Tensor pad_circular(const Tensor& x, const Padding& padding) {
  Ints shape = x.shape(), repeats;
  DimSpans bounds;
  for (size_t i = 0; i < shape.size(); i++) {
    auto [before, after] = padding[i];
    if (before < 0 || after < 0) throw Failure("a negative circular padding");
    if (before + after > 0 && shape[i] == 0) throw Failure("a circular padding of an axis without elements");
    int64_t n = std::max<int64_t>(shape[i], 1), first = ceildiv(before, n);
    repeats.push_back(1 + first + ceildiv(after, n));
    bounds.emplace_back(std::pair(first * n - before, (first + 1) * shape[i] + after));
  }
  return x.repeat(repeats).shrink(bounds);
}

// Concatenates `first`, `x` and `last`. `first` and `last` may be None.
Tensor join_edges(const Tensor& first, const Tensor& x, const Tensor& last, int64_t dim) {
  Tensors parts;
  for (const Tensor& t : {first, x, last})
    if (t) parts.push_back(t);
  return Tensor::cat_all(parts, dim);
}

// Returns copies of the first and of the last element of an axis; None instead of 0 copies.
std::pair<Tensor, Tensor> edge_copies(const Tensor& x, int64_t dim, int64_t before, int64_t after) {
  int64_t n = x.size(dim);
  auto copies = [&](int64_t i, int64_t count) {
    if (count <= 0) return Tensor();
    DimSpans one(size_t(x.ndim()));
    one[size_t(dim)] = std::pair(i, i + 1);
    Ints to(size_t(x.ndim()), -1);
    to[size_t(dim)] = count;
    return x.shrink(one).expand(to);
  };
  return {copies(0, before), copies(n - 1, after)};
}

// Pads an axis by reflection. If one reflection is too short, reflects the result again. Repeats the element of an axis
// of one element.
Tensor pad_reflected(Tensor x, int64_t dim, int64_t before, int64_t after) {
  if (x.size(dim) == 0 && before + after > 0) throw Failure("a reflection of an axis without elements");
  while (before > 0 || after > 0) {
    int64_t n = x.size(dim), first = std::min(before, n - 1), last = std::min(after, n - 1);
    if (n == 1) {
      auto [left, right] = edge_copies(x, dim, before, after);
      return join_edges(left, x, right, dim);
    }
    auto upto = [](int64_t v) { return v >= 0 ? std::optional(v) : std::nullopt; };
    x = join_edges(first > 0 ? x.slice_axis(dim, {first, 0, -1}) : Tensor(), x,
                   last > 0 ? x.slice_axis(dim, {upto(n - 2), upto(n - 2 - last), -1}) : Tensor(), dim);
    before -= first, after -= last;
  }
  return x;
}

}  // namespace

Tensor Tensor::pad(const Padding& padding, Const value, std::string_view mode) const {
  Ints own = shape();
  if (padding.size() != own.size())
    throw Failure("a padding of " + std::to_string(padding.size()) + " axes for a tensor of " +
                  std::to_string(own.size()));
  Padding positive;
  DimSpans cut;
  bool any_negative = false;
  for (size_t i = 0; i < own.size(); i++) {
    auto [before, after] = padding[i];
    any_negative |= before < 0 || after < 0;
    positive.emplace_back(std::max<int64_t>(before, 0), std::max<int64_t>(after, 0));
    cut.emplace_back(std::pair(-std::min<int64_t>(before, 0), std::min(after + own[i], own[i])));
  }
  if (mode == "constant") return pad_constant(any_negative ? shrink(cut) : *this, positive, value);
  if (mode == "circular") return pad_circular(*this, padding);
  if (mode != "reflect" && mode != "replicate") throw Failure("no padding is called " + std::string(mode));
  Tensor x = *this;
  for (size_t i = 0; i < own.size(); i++) {
    auto [before, after] = positive[i];
    if (mode == "reflect") {
      x = pad_reflected(x, int64_t(i), before, after);
      continue;
    }
    auto [first, last] = edge_copies(x, int64_t(i), before, after);
    x = join_edges(first, x, last, int64_t(i));
  }
  if (!any_negative) return x;
  DimSpans kept;
  for (size_t i = 0; i < own.size(); i++) {
    int64_t n = x.size(int64_t(i));
    kept.emplace_back(std::pair(-std::min<int64_t>(padding[i].first, 0), std::min(padding[i].second + n, n)));
  }
  return x.shrink(kept);
}

Tensor Tensor::pad_flat(const Ints& flat, Const value, std::string_view mode) const {
  if (flat.size() % 2 || int64_t(flat.size()) > 2 * ndim())
    throw Failure("a padding of " + std::to_string(flat.size()) + " numbers");
  Padding padding(static_cast<size_t>(ndim()));
  for (size_t i = 0; i < flat.size() / 2; i++) padding[padding.size() - 1 - i] = {flat[2 * i], flat[2 * i + 1]};
  return pad(padding, value, mode);
}

Tensor Tensor::pad_axis(int64_t dim, int64_t before, int64_t after, Const value) const {
  Padding padding(static_cast<size_t>(ndim()));
  padding[size_t(resolve_dim(dim))] = {before, after};
  return pad(padding, value);
}

Tensor Tensor::pool(const Ints& kernel, const Ints& stride, const Ints& dilation) const {
  Ints own = shape();
  size_t n = kernel.size(), lead = own.size() - n;
  if (own.size() < n || stride.size() != n || dilation.size() != n)
    throw Failure("windows over " + std::to_string(n) + " axes of a tensor of " + std::to_string(own.size()));
  std::vector<int64_t> out(n), repeats(lead, 1), wide(n);  // wide[j]: length of a kernel element's row on axis j
  for (size_t j = 0; j < n; j++) {
    int64_t k = kernel[j], s = stride[j], d = dilation[j], i = own[lead + j];
    if (k <= 0 || s <= 0 || d <= 0) throw Failure("a window, stride or dilation that is not positive");
    if (d * (k - 1) + 1 > i)
      throw Failure("a window of " + std::to_string(d * (k - 1) + 1) + " over an axis of " + std::to_string(i));
    out[j] = ceildiv(i - d * (k - 1), s);
    int64_t f = std::max<int64_t>(1, ceildiv(out[j] * s - d, i));
    wide[j] = i * f + d;
    repeats.push_back(ceildiv(k * wide[j], i));
  }
  using Sizes = std::vector<std::optional<int64_t>>;
  auto reshape_to = [&](const Tensor& x, const Ints& tail) {
    return x.reshape(concat_ints({Ints(own.begin(), own.begin() + int64_t(lead)), tail}));
  };
  auto shrink_tail = [&](const Tensor& x, const Ints& tail) {
    Sizes to(lead);
    to.insert(to.end(), tail.begin(), tail.end());
    return x.shrink_to(to);
  };
  Ints flat, dilated, strided, split, one, done;
  for (size_t j = 0; j < n; j++) {
    int64_t k = kernel[j], o = out[j], s = stride[j];
    flat.push_back(k * wide[j]);
    dilated.insert(dilated.end(), {k, wide[j]});
    strided.insert(strided.end(), {k, o * s});
    split.insert(split.end(), {k, o, s});
    one.insert(one.end(), {k, o, 1});
    done.insert(done.end(), {k, o});
  }
  Tensor x = reshape_to(shrink_tail(repeat(repeats), flat), dilated);
  x = reshape_to(shrink_tail(x, strided), split);
  x = reshape_to(shrink_tail(x, one), done);
  Ints order = int_range(0, int64_t(lead));
  for (size_t j = 0; j < n; j++) order.push_back(int64_t(lead + 2 * j + 1));
  for (size_t j = 0; j < n; j++) order.push_back(int64_t(lead + 2 * j));
  return x.permute(order);
}

}  // namespace tgc
