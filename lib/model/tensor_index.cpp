#include <algorithm>
#include <bit>

#include "lib/model/tensor.h"

namespace tgc {
namespace {

// A resolved slice of an axis: `size` elements of [begin, end) at distance |step|, from the end if `step` is negative.
struct ResolvedSlice {
  int64_t begin, end, step, size;
};
ResolvedSlice resolve_slice(const Slice& slice, int64_t n) {
  int64_t step = slice.step;
  if (step == 0) throw Failure("a slice with a step of 0");
  int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  auto bound = [&](int64_t v) { return std::clamp(v < 0 ? v + n : v, low, high); };
  int64_t start = slice.start ? bound(*slice.start) : step < 0 ? high : low;
  int64_t stop = slice.stop ? bound(*slice.stop) : step < 0 ? low : high;
  if ((step > 0 && stop < start) || (step < 0 && stop > start)) start = stop = 0;
  else if (step < 0) std::tie(start, stop) = std::pair(stop + 1, start + 1);
  int64_t width = step > 0 ? step : -step;
  return {start, stop, step, (stop - start + width - 1) / width};
}

Tensor apply_slices(const Tensor& x, const std::vector<ResolvedSlice>& strides) {
  DimSpans bounds;
  Ints flips;
  bool any = false;
  for (size_t i = 0; i < strides.size(); i++) {
    bounds.emplace_back(std::pair(strides[i].begin, strides[i].end));
    if (strides[i].step < 0) flips.push_back(int64_t(i));
    any |= std::abs(strides[i].step) != 1;
  }
  Tensor out = x.shrink(bounds).flip(flips);
  if (!any) return out;
  Ints shape = out.shape(), split, kept;
  Padding padding;
  DimSpans first;
  for (size_t i = 0; i < shape.size(); i++) {
    int64_t step = std::abs(strides[i].step), n = ceildiv(shape[i], step);
    padding.emplace_back(0, n * step - shape[i]);
    split.insert(split.end(), {n, step});
    kept.push_back(n);
    first.insert(first.end(), {std::pair<int64_t, int64_t>(0, n), std::pair<int64_t, int64_t>(0, 1)});
  }
  return out.pad(padding).reshape(split).shrink(first).reshape(kept);
}

// Replaces each element of `target` by the last of the `values` along `axes` for which the mask is set, if there is
// one.
Tensor masked_setitem(const Tensor& target, const Tensor& values, const Tensor& mask, const Ints& axes) {
  Ints sizes(size_t(mask.ndim()), 1), masked = mask.shape();
  for (int64_t a : axes) sizes[size_t(mask.resolve_dim(a))] = masked[size_t(mask.resolve_dim(a))];
  Tensor number = Tensor::arange(mask.graph(), 1, product(sizes) + 1, 1, dtypes::default_int).reshape(sizes);
  Tensor last = mask.where(number, Const(0)).max(axes, true);  // number of the last set element, 0 if none is set
  Tensor chosen = (mask & number.eq(last)).where(values, Const(0)).sum(axes, true).cast(target.dtype());
  Tensor out = last.ne(Const(0)).where(chosen.reshape(last.shape()), target.reshape(last.shape()));
  return out.reshape(target.shape());
}

Tensor masked_reduce(const Tensor& target, const Tensor& values, const Tensor& mask, const Ints& axes,
                     std::string_view reduce) {
  DType dtype = target.dtype();
  if (reduce == "sum") return mask.where(values, Const(0)).sum(axes) + target;
  if (reduce == "prod") return mask.where(values, Const(1)).prod(axes) * target;
  if (reduce == "amax") return mask.where(values, dtypes::min(dtype)).max(axes).maximum(target);
  if (reduce == "amin") return mask.where(values, dtypes::max(dtype)).min(axes).minimum(target);
  throw Failure("no reduction is called " + std::string(reduce));
}

// Adds whole slices, at the ellipsis or at the end, so that every axis is indexed.
std::vector<Tensor::Index> index_all_axes(std::vector<Tensor::Index> indices, int64_t axes) {
  int64_t named = 0;
  std::optional<size_t> ellipsis;
  for (size_t i = 0; i < indices.size(); i++) {
    if (std::holds_alternative<Ellipsis>(indices[i])) ellipsis = i;
    else if (!std::holds_alternative<NewAxis>(indices[i])) named++;
  }
  if (named > axes) throw Failure(std::to_string(named) + " indices for a tensor of " + std::to_string(axes) + " axes");
  size_t at = ellipsis.value_or(indices.size());
  if (ellipsis) indices.erase(indices.begin() + int64_t(at));
  indices.insert(indices.begin() + int64_t(at), size_t(axes - named), Slice{});
  return indices;
}

// `x` is the tensor after all other indices; `index_tensors` has the index tensors, each with its axis of `x`.
struct SlicedTensor {
  Tensor x;
  std::vector<std::pair<int64_t, Tensor>> index_tensors;
};
SlicedTensor apply_basic_indices(const Tensor& of, const std::vector<Tensor::Index>& indices) {
  SlicedTensor out;
  std::vector<ResolvedSlice> strides;
  Ints kept, own = of.shape();
  for (auto& index : indices) {
    if (std::holds_alternative<NewAxis>(index)) {
      kept.push_back(1);
      continue;
    }
    int64_t n = own[strides.size()];
    if (auto* i = std::get_if<int64_t>(&index)) {
      if (*i >= n || *i < -n)
        throw Failure("index " + std::to_string(*i) + " is out of bounds for an axis of " + std::to_string(n));
      int64_t from = *i < 0 ? *i + n : *i;
      strides.push_back({from, from + 1, 1, 1});
    } else if (auto* slice = std::get_if<Slice>(&index)) {
      strides.push_back(resolve_slice(*slice, n));
      kept.push_back(strides.back().size);
    } else {
      const Tensor& t = std::get<Tensor>(index);
      if (!dtypes::is_int(t.dtype())) throw Failure("a tensor of " + std::string(t.dtype().repr()) + " as an index");
      out.index_tensors.emplace_back(int64_t(kept.size()), t.lt(Const(0)).where(t + n, t));
      strides.push_back({0, n, 1, n});
      kept.push_back(n);
    }
  }
  out.x = (own.empty() ? of : apply_slices(of, strides)).reshape(kept);
  return out;
}

bool is_tensor_or_whole_slice(const Tensor::Index& index) {
  auto* slice = std::get_if<Slice>(&index);
  return std::holds_alternative<Tensor>(index) || (slice && !slice->start && !slice->stop && slice->step == 1);
}

// `x` is the sum, over the indexed axes, of the elements that the one-hot `mask` selects.
struct GatheredTensor {
  Tensor x, mask;
  Ints summed;   // the axes of the mask that were summed over
  Ints index_axes;  // the axes of the mask that come from index tensors
};
GatheredTensor gather_indexed(const SlicedTensor& from) {
  std::vector<Ints> shapes;
  for (auto& [dim, t] : from.index_tensors) shapes.push_back(t.shape());
  Ints big = broadcast_shape(shapes), xs = from.x.shape();
  int64_t d0 = from.index_tensors[0].first, lead = int64_t(big.size()), axes = int64_t(xs.size());
  Ints before(xs.begin(), xs.begin() + d0), after(xs.begin() + d0, xs.end());
  Ints pre = concat_ints({before, big, after}), opened = concat_ints({before, Ints(big.size(), 1), after});

  GatheredTensor out;
  bool adjacent = true;
  for (auto& [dim, t] : from.index_tensors) {
    Ints column = t.shape();
    column.insert(column.end(), size_t(axes - d0), 1);
    Tensor one = t.reshape(column).expand(pre).one_hot_along_dim(xs[size_t(dim)], dim - axes);
    out.mask = out.mask ? out.mask * one : one;
    adjacent &= dim == d0 + int64_t(out.summed.size());
    out.summed.push_back(dim + lead);
  }
  out.x = out.mask.where(from.x.reshape(opened), Const(0)).sum(out.summed, false, from.x.dtype());

  // The axes of index tensors come first if the indexed axes are not adjacent.
  bool to_front = d0 != 0 && from.index_tensors.size() != 1 && !adjacent;
  out.index_axes = to_front ? int_range(0, lead) : int_range(d0, d0 + lead);
  if (!to_front) return out;
  for (Tensor* t : {&out.mask, &out.x}) {
    Ints order = int_range(0, t->ndim());
    std::rotate(order.begin(), order.begin() + d0, order.begin() + d0 + lead);
    *t = t->permute(order);
  }
  return out;
}

}  // namespace

Tensor Tensor::getitem(const std::vector<Index>& indices) const {
  SlicedTensor moved = apply_basic_indices(*this, index_all_axes(indices, ndim()));
  return moved.index_tensors.empty() ? moved.x : gather_indexed(moved).x;
}

Tensor Tensor::setitem(const std::vector<Index>& indices, Tensor value, std::string_view reduce) const {
  const SlicedTensor moved = apply_basic_indices(*this, index_all_axes(indices, ndim()));
  if (moved.index_tensors.empty() || !std::ranges::all_of(indices, is_tensor_or_whole_slice))
    throw Failure("setitem takes index tensors and whole slices only");
  const GatheredTensor g = gather_indexed(moved);
  Tensor v = value.cast(dtype()).broadcast_to(broadcast_shape({g.x.shape(), value.shape()}));
  for (int64_t d : g.summed) v = v.unsqueeze(d);
  return reduce.empty() ? masked_setitem(*this, v, g.mask, g.index_axes)
                        : masked_reduce(*this, v, g.mask, g.index_axes, reduce);
}

Tensor Tensor::slice_axis(int64_t dim, Slice slice) const {
  std::vector<Index> indices(size_t(ndim()), Slice{});
  indices[size_t(resolve_dim(dim))] = slice;
  return getitem(indices);
}

Tensor Tensor::one_hot_along_dim(int64_t num_classes, int64_t dim) const {
  if (!dtypes::is_int(dtype())) throw Failure("an index of " + std::string(dtype().repr()));
  DType type = num_classes > INT32_MAX ? dtypes::int64 : dtypes::int32;
  return eq(arange(graph(), num_classes, type).reshape(vector_shape(ndim() - resolve_dim(dim), 0, num_classes)));
}

Tensor Tensor::gather(int64_t dim, Tensor index) const {
  dim = resolve_dim(dim);
  Ints own = shape(), at = index.shape();
  if (own.size() != at.size())
    throw Failure("a gather by an index of " + std::to_string(at.size()) + " axes from " + std::to_string(own.size()));
  DimSpans bounds(own.size());
  for (size_t i = 0; i < own.size(); i++) {
    if (int64_t(i) == dim) continue;
    if (at[i] > own[i])
      throw Failure("a gather by an index that is longer than the tensor at axis " + std::to_string(i));
    bounds[i] = std::pair<int64_t, int64_t>(0, at[i]);
  }
  Tensor x = shrink(bounds).unsqueeze(-1).transpose(-1, dim);
  return index.unsqueeze(-1).one_hot_along_dim(own[size_t(dim)]).where(x, Const(0)).sum(Ints{-1}, false, dtype());
}

std::pair<Tensor, Tensor> Tensor::pre_scatter(int64_t dim, Tensor index, Tensor src) const {
  Ints own = shape(), at = index.shape(), from = src.shape();
  bool fits = own.size() == at.size() && own.size() == from.size() && dtype() == src.dtype();
  for (size_t i = 0; fits && i < own.size(); i++) fits = (int64_t(i) == dim || own[i] >= at[i]) && from[i] >= at[i];
  if (!fits) throw Failure("a scatter whose shapes or dtypes do not fit together");
  src = src.shrink_to(std::vector<std::optional<int64_t>>(at.begin(), at.end()));
  Ints wide = src.shape();
  wide.push_back(own[size_t(dim)]);
  src = src.unsqueeze(-1).expand(wide).transpose(-1, dim);
  Tensor mask = index.unsqueeze(-1).one_hot_along_dim(own[size_t(dim)]).transpose(-1, dim);
  auto padded = [&](const Tensor& t) {
    Padding padding(own.size() + 1);
    for (size_t i = 0; i < own.size(); i++)
      if (int64_t(i) != dim) padding[i].second = own[i] - t.size(int64_t(i));
    return t.pad(padding);
  };
  return {padded(src), padded(mask)};
}

Tensor Tensor::scatter(int64_t dim, Tensor index, Tensor src) const {
  auto [values, mask] = pre_scatter(resolve_dim(dim), index, src);
  return masked_setitem(*this, values, mask, {-1});
}

Tensor Tensor::scatter_reduce(int64_t dim, Tensor index, Tensor src, std::string_view reduce) const {
  auto [values, mask] = pre_scatter(resolve_dim(dim), index, src);
  return masked_reduce(*this, values, mask, {-1}, reduce);
}

// Sorts with a bitonic network (tensor.py:sort). Equal elements keep their order in the indices.
std::pair<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const {
  dim = resolve_dim(dim);
  Ints own = shape();
  int64_t n = own.empty() ? 1 : own[size_t(dim)];
  if (n <= 1) return {*this, zeros_like(dtypes::default_int)};
  int64_t stages = std::bit_width(uint64_t(n - 1));
  Tensor x = pad_axis(dim, 0, (int64_t(1) << stages) - n, descending ? dtypes::min(dtype()) : dtypes::max(dtype()))
                 .unflatten(dim, Ints(size_t(stages), 2));
  for (int64_t stage = 1; stage <= stages; stage++) {
    int64_t crossover = dim + stages - stage - 1;
    Ints flips;
    for (int64_t i = 1; i < stage + 1 + (ndim() - dim); i++) flips.push_back(-i);
    auto flip_green = [&] {
      Tensors boxes = x.split_by_size(1, crossover);
      return boxes[0].cat({boxes[1].flip(flips)}, crossover);
    };
    if (stage != stages) x = flip_green().contiguous();
    for (int64_t substage = stage - 1; substage >= 0; substage--) {
      int64_t partner = dim + stages - substage - 1;
      Tensors halves = x.split_by_size(1, partner);
      Tensor larger = halves[0].maximum(halves[1]), smaller = halves[0].minimum(halves[1]);
      x = (descending ? larger.cat({smaller}, partner) : smaller.cat({larger}, partner)).contiguous();
    }
    if (stage != stages) x = flip_green();
  }
  x = x.flatten(dim, dim + stages - 1).shrink_to(std::vector<std::optional<int64_t>>(own.begin(), own.end()));
  Ints square{n, n};
  square.resize(size_t(2 + ndim() - dim - 1), 1);
  Tensor mask = full(graph(), {n, n}, true, dtypes::bool_).tril().reshape(square);
  auto counts = [&](const Tensor& t) { return (mask & t.unsqueeze(dim).eq(t.unsqueeze(dim + 1))).sum(Ints{dim + 1}); };
  Tensor here = counts(*this), there = counts(x);
  Tensor same = unsqueeze(dim + 1).eq(x.unsqueeze(dim)) & here.unsqueeze(dim + 1).eq(there.unsqueeze(dim));
  Ints row = vector_shape(x.ndim(), dim, n);
  return {x, (same * arange(graph(), n).reshape(row).unsqueeze(dim + 1)).sum(Ints{dim})};
}

std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest) const {
  dim = resolve_dim(dim);
  if (k < 0 || k > size(dim)) throw Failure("the " + std::to_string(k) + " greatest of " + std::to_string(size(dim)));
  auto [values, indices] = sort(dim, largest);
  DimSpans bounds(static_cast<size_t>(ndim()));
  bounds[size_t(dim)] = std::pair<int64_t, int64_t>(0, k);
  return {values.shrink(bounds), indices.shrink(bounds)};
}

}  // namespace tgc
