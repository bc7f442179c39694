#include "lib/model/model.h"
#include "lib/model/realize.h"

namespace tgc {
namespace {

// Adds `n` to negative indices, which count from the end of an axis of size `n`.
Tensor wrap_negative_indices(const Tensor& indices, int64_t n) {
  return indices.lt(Const(0)).where(Const(n), Const(0)).cast(indices.dtype()) + indices;
}

Values gather(OpCall& c) {
  Tensor x = c.tensor(0), indices = c.tensor(1);
  int64_t axis = x.resolve_dim(c.attribute_int("axis", 0)), n = x.size(axis);
  c.check_range(1, -n, n - 1, "index");
  // few, known indices: concatenate slices of x
  if (indices.numel() > 0 && indices.numel() < 9 && c.builder().has_known_value(indices)) {
    Ints own = x.shape();
    Ints to =
        concat_ints({Ints(own.begin(), own.begin() + axis), indices.shape(), Ints(own.begin() + axis + 1, own.end())});
    Tensors parts;
    for (int64_t i : c.ints(1)) {
      if (i < -n || i >= n) throw Failure("index " + std::to_string(i) + " of an axis of " + std::to_string(n));
      DimSpans one(own.size());
      one[size_t(axis)] = std::pair(i < 0 ? i + n : i, (i < 0 ? i + n : i) + 1);
      parts.push_back(x.shrink(one));
    }
    return {Tensor::cat_all(parts, axis).reshape(to)};
  }
  std::vector<Tensor::Index> at(size_t(x.ndim()), Slice{});
  at[size_t(axis)] = indices;
  return {x.getitem(at)};
}

Values gather_elements(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = x.resolve_dim(c.attribute_int("axis", 0));
  c.check_range(1, -x.size(axis), x.size(axis) - 1, "index");
  return {x.gather(axis, wrap_negative_indices(c.tensor(1), x.size(axis)))};
}

// Checks known index tuples of input 1 against the axes of `x` from `first` on.
void check_index_tuples(OpCall& c, const Tensor& x, int64_t first) {
  auto values = find_available_value(c.tensor(1));
  if (!values) return;
  Ints flat = c.ints(1);
  int64_t depth = c.tensor(1).size(-1);
  for (size_t i = 0; i < flat.size(); i++) {
    int64_t n = x.size(first + int64_t(i) % depth);
    if (flat[i] < -n || flat[i] >= n)
      throw Failure("index " + std::to_string(flat[i]) + " of an axis of " + std::to_string(n));
  }
}

std::vector<Tensor::Index> index_columns(const Tensor& indices) {
  std::vector<Tensor::Index> out;
  for (auto& column : indices.split_by_size(1, -1)) out.push_back(column.squeeze(-1));
  return out;
}

Values gather_nd(OpCall& c) {
  Tensor x = c.tensor(0), indices = c.tensor(1);
  int64_t batch_dims = c.attribute_int("batch_dims", 0);
  if (indices.ndim() == 0 || indices.size(-1) < 1 || batch_dims < 0 || batch_dims + indices.size(-1) > x.ndim() ||
      batch_dims >= indices.ndim())
    throw Failure("its indices do not fit its data");
  check_index_tuples(c, x, batch_dims);
  if (batch_dims == 0) return {x.getitem(index_columns(indices))};
  Ints xs = x.shape(), is = indices.shape();
  int64_t b = product(std::span(xs).first(size_t(batch_dims)));
  Ints flat_i = concat_ints({{b}, Ints(is.begin() + batch_dims, is.end())});
  x = x.reshape(concat_ints({{b}, Ints(xs.begin() + batch_dims, xs.end())})), indices = indices.reshape(flat_i);
  Ints column = vector_shape(indices.ndim() - 1, 0, b), wide(flat_i.begin(), flat_i.end() - 1);
  std::vector<Tensor::Index> at = index_columns(indices);
  at.insert(at.begin(), Tensor::arange(c.graph(), b).reshape(column).expand(wide));
  Tensor y = x.getitem(at);
  Ints ys = y.shape();
  return {y.reshape(concat_ints({Ints(xs.begin(), xs.begin() + batch_dims), Ints(is.begin() + batch_dims, is.end() - 1),
                            Ints(ys.begin() + indices.ndim() - 1, ys.end())}))};
}

// Returns tinygrad's name of the attribute's reduction; "" for "none".
std::string_view scatter_reduction(OpCall& c) {
  static const std::map<std::string, std::string_view> kNames{
      {"none", ""}, {"add", "sum"}, {"mul", "prod"}, {"min", "amin"}, {"max", "amax"}};
  auto found = kNames.find(c.attribute_string("reduction", "none"));
  if (found == kNames.end()) throw Failure("no reduction is called '" + c.attribute_string("reduction", "none") + "'");
  return found->second;
}

Values scatter_elements(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = x.resolve_dim(c.attribute_int("axis", 0));
  Tensor indices = wrap_negative_indices(c.tensor(1), x.size(axis)), updates = c.tensor(2);
  c.check_range(1, -x.size(axis), x.size(axis) - 1, "index");
  std::string_view reduction = scatter_reduction(c);
  if (reduction.empty()) return {x.scatter(axis, indices, updates)};
  return {x.scatter_reduce(axis, indices, updates, reduction).cast(x.dtype())};
}

Values scatter_nd(OpCall& c) {
  Tensor x = c.tensor(0), indices = c.tensor(1), updates = c.tensor(2);
  if (indices.ndim() == 0 || indices.size(-1) > x.ndim() || indices.size(-1) < 1)
    throw Failure("its indices do not fit its data");
  check_index_tuples(c, x, 0);
  Ints own = x.shape(), rest(own.begin() + indices.size(-1), own.end());
  Tensor flat = indices.reshape({-1, indices.size(-1)});
  updates = updates.reshape(concat_ints({{flat.size(0)}, rest}));
  if (flat.size(0) == 0) return {x};
  return {x.setitem(index_columns(flat), updates, scatter_reduction(c)).cast(x.dtype())};
}

Values tensor_scatter(OpCall& c) {
  Tensor x = c.tensor(0), updates = c.tensor(1);
  Ints xs = x.shape();
  int64_t axis = x.resolve_dim(c.attribute_int("axis", -2));
  int64_t depth = x.size(axis), count = updates.size(axis), batch = xs[0];
  // `at`: for each slice of the updates along `axis`, the index of the slice of x that it replaces.
  Ints row = vector_shape(x.ndim(), axis, count), per_batch = vector_shape(x.ndim(), 0, batch);
  Tensor at = Tensor::arange(c.graph(), count, dtypes::int64).reshape(row);
  if (c.has_input(2)) at = at + c.tensor(2).cast(dtypes::int64).reshape(per_batch);
  if (c.attribute_choice("mode", "linear", {"linear", "circular"}) == "circular") at = at % Const(depth);
  return {x.scatter(axis, at.expand(updates.shape()), updates)};
}

}  // namespace

std::span<const OpDef> index_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Gather", 1, "axis", gather},
    {"GatherElements", 11, "axis", gather_elements},
    {"GatherND", 11, "batch_dims", gather_nd},
    {"Scatter", 9, "axis", scatter_elements},
    {"ScatterElements", 11, "axis reduction", scatter_elements},
    {"ScatterND", 11, "reduction", scatter_nd},
    {"TensorScatter", 24, "axis mode", tensor_scatter},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
