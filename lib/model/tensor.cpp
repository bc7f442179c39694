#include "lib/model/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "lib/model/realize.h"
#include "lib/runtime/array.h"
#include "lib/uop/facts.h"
#include "lib/uop/movement.h"

namespace tgc {
namespace {

ShapeVec to_shape_vec(const Ints& shape) { return ShapeVec(shape.begin(), shape.end()); }

Tensor buffer_with_data(Graph& graph, const Ints& shape, DType dtype, std::shared_ptr<std::vector<uint8_t>> bytes) {
  Tensor out = Tensor::buffer(graph, shape, dtype);
  shared_tensor_state(graph).buffer_data[base_of(out.uop())] = {bytes->data(), bytes->size(), bytes};
  return out;
}

}  // namespace

int64_t product(std::span<const int64_t> sizes) {
  int64_t out = 1;
  for (int64_t s : sizes)
    if (__builtin_mul_overflow(out, s, &out)) throw Failure("a tensor of shape " + shape_text(sizes) + " is too large");
  return out;
}

int64_t ceildiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q + (a % b != 0 && ((a < 0) == (b < 0)));
}

Ints broadcast_shape(const std::vector<Ints>& shapes) {
  size_t rank = 0;
  for (auto& s : shapes) rank = std::max(rank, s.size());
  Ints out(rank, 1);
  for (size_t i = 0; i < rank; i++) {
    bool zero = false;
    int64_t most = 1;
    for (auto& s : shapes) {
      int64_t size = i + s.size() >= rank ? s[i + s.size() - rank] : 1;
      zero |= size == 0;
      most = std::max(most, size);
    }
    out[i] = zero ? 0 : most;
  }
  return out;
}

Ints int_range(int64_t begin, int64_t end) {
  Ints out(size_t(std::max<int64_t>(0, end - begin)));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

Ints concat_ints(std::initializer_list<Ints> parts) {
  Ints out;
  for (auto& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

Ints vector_shape(int64_t rank, int64_t axis, int64_t size) {
  Ints out(size_t(rank), 1);
  out[size_t(axis)] = size;
  return out;
}

Ints Tensor::shape() const {
  Ints out;
  for (Sint s : shape_of(uop_)) out.push_back(s.int64_or_throw("a tensor's size"));
  return out;
}

int64_t Tensor::ndim() const { return int64_t(shape_of(uop_).size()); }
int64_t Tensor::size(int64_t dim) const {
  return shape_of(uop_)[size_t(resolve_dim(dim))].int64_or_throw("a tensor's size");
}
int64_t Tensor::numel() const { return product(shape()); }

int64_t Tensor::resolve_dim(int64_t dim, bool extra) const {
  int64_t total = ndim() + extra, limit = std::max<int64_t>(1, total);
  if (dim < -limit || dim >= limit) {
    throw Failure("axis " + std::to_string(dim) + " is out of range for a tensor of shape " + shape_text(shape()) +
                  (extra ? " and a new axis" : ""));
  }
  return dim < 0 ? dim + total : dim;
}

Tensor Tensor::constant(Graph& graph, Const value, DType dtype) {
  return Tensor(graph.constant(dtype, dtypes::as_const(value, dtype), graph.str(shared_tensor_state(graph).device)));
}

Tensor Tensor::full(Graph& graph, const Ints& shape, Const value, DType dtype) {
  UOp c = graph.constant(dtype, dtypes::as_const(value, dtype), graph.str(shared_tensor_state(graph).device));
  UOp unique = c.with_src({c.src(0), next_unique_node(graph)});
  return Tensor(tgc::expand(tgc::reshape(unique, ShapeVec(shape.size(), Sint(1))), to_shape_vec(shape)));
}

Tensor Tensor::buffer(Graph& graph, const Ints& shape, DType dtype) {
  UOp flat = graph.node(Op::BUFFER, dtype, {next_unique_node(graph), device_node(graph)}, product(shape));
  return Tensor(flat).reshape(shape);
}

Tensor Tensor::from_values(Graph& graph, const Ints& values, DType dtype) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(values.size() * size_t(dtype.itemsize()));
  for (size_t i = 0; i < values.size(); i++)
    std::memcpy(bytes->data() + i * size_t(dtype.itemsize()), &values[i], size_t(dtype.itemsize()));
  return buffer_with_data(graph, {int64_t(values.size())}, dtype, bytes);
}

Tensor Tensor::from_values(Graph& graph, const std::vector<double>& values, DType dtype) {
  if (dtype != dtypes::float32 && dtype != dtypes::float64)
    throw Failure("a tensor of doubles must be float32 or float64");
  auto bytes = std::make_shared<std::vector<uint8_t>>(values.size() * size_t(dtype.itemsize()));
  for (size_t i = 0; i < values.size(); i++) {
    auto f = float(values[i]);
    const void* from = dtype == dtypes::float32 ? static_cast<const void*>(&f) : &values[i];
    std::memcpy(bytes->data() + i * size_t(dtype.itemsize()), from, size_t(dtype.itemsize()));
  }
  return buffer_with_data(graph, {int64_t(values.size())}, dtype, bytes);
}

Tensor Tensor::arange(Graph& graph, Const start, Const stop, Const step, DType dtype) {
  Const length_times_step = py_sub(stop, start);
  if (step.to_double() == 0) throw Failure("the step of a range is 0");
  double n = std::ceil(length_times_step.to_double() / step.to_double());
  if (start.is_integral() && stop.is_integral() && step.is_integral()) {
    n = double(ceildiv(length_times_step.as_int().small_value(), step.as_int().small_value()));
  }
  if (!(n < 0x1p40)) throw Failure("a range of " + std::to_string(n) + " elements");
  if (n <= 0) return buffer(graph, {0}, dtype);
  return (full(graph, {int64_t(n)}, step, dtype).prefix_sums(0) + py_sub(start, step)).cast(dtype);
}

Tensor Tensor::linspace(Graph& graph, double start, double stop, int64_t steps) {
  if (steps == 1) return from_values(graph, std::vector<double>{start});
  return (Const(start) + arange(graph, steps) * Const((stop - start) / double(steps - 1))).cast(dtypes::float32);
}

Tensor Tensor::eye(Graph& graph, int64_t n, int64_t m, DType dtype) {
  return arange(graph, n).unsqueeze(-1).eq(arange(graph, m)).cast(dtype);
}

Tensor Tensor::full_like(Const value, std::optional<DType> as) const {
  return full(graph(), shape(), value, as.value_or(dtype()));
}

Tensor Tensor::number(Const value) const {
  DType own = dtype();
  if (dtypes::is_float(own) || (dtypes::is_int(own) && value.is_integral())) return constant(graph(), value, own);
  return constant(graph(), value,
                  value.is_float()  ? dtypes::default_float
                  : value.is_bool() ? dtypes::bool_
                                    : dtypes::default_int);
}

Tensor Tensor::cast(DType to) const {
  // C does not define casts of floats of -1 or less to unsigned integers; a cast through int32 wraps them around.
  if ((to == dtypes::uint8 || to == dtypes::uint16) && dtypes::is_float(dtype()))
    return Tensor(uop_.cast(dtypes::int32).cast(to));
  return Tensor(uop_.cast(to));
}

Tensor Tensor::contiguous() const {
  UOp u = uop_;
  if (u.is(Op::CONTIGUOUS)) return *this;
  while (u.is(Op::RESHAPE)) u = u.src(0);
  return u.is(Op::BUFFER) ? *this : Tensor(graph().node(Op::CONTIGUOUS, dtype(), uop_));
}

Tensor Tensor::reshape(Ints shape) const {
  auto unknown = std::count(shape.begin(), shape.end(), -1);
  if (unknown > 1) throw Failure("only one size can be inferred, the shape is " + shape_text(shape));
  if (unknown) {
    int64_t rest = -product(shape);
    if (rest == 0 || numel() % rest)
      throw Failure("cannot reshape " + shape_text(this->shape()) + " to " + shape_text(shape));
    *std::find(shape.begin(), shape.end(), -1) = numel() / rest;
  }
  for (int64_t s : shape)
    if (s < 0) throw Failure("a negative size in the shape " + shape_text(shape));
  product(shape);
  return Tensor(tgc::reshape(uop_, to_shape_vec(shape)));
}

Tensor Tensor::expand(Ints shape) const { return Tensor(tgc::expand(uop_, to_shape_vec(shape))); }

Tensor Tensor::broadcast_to(const Ints& to) const {
  if (ndim() > int64_t(to.size())) throw Failure("cannot broadcast " + shape_text(shape()) + " to " + shape_text(to));
  return expand(to);
}

Tensor Tensor::permute(const Ints& order) const {
  Ints axes;
  for (int64_t o : order) axes.push_back(resolve_dim(o));
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != int_range(0, ndim()))
    throw Failure(shape_text(order) + " is not a permutation of " + std::to_string(ndim()) + " axes");
  return Tensor(tgc::permute(uop_, axes));
}

Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  Ints order = int_range(0, ndim());
  std::swap(order[size_t(resolve_dim(dim0))], order[size_t(resolve_dim(dim1))]);
  return permute(order);
}

Tensor Tensor::flip(const Ints& axes) const {
  auto rank = size_t(ndim());
  auto flips = std::make_unique<bool[]>(rank + 1);
  for (int64_t a : axes) flips[size_t(resolve_dim(a))] = true;
  return Tensor(tgc::flip(uop_, std::span<const bool>(flips.get(), rank)));
}

Tensor Tensor::shrink(const DimSpans& bounds) const {
  Ints own = shape();
  if (bounds.size() != own.size())
    throw Failure("a shrink of " + std::to_string(bounds.size()) + " axes of a tensor of shape " + shape_text(own));
  std::vector<std::pair<Sint, Sint>> pairs;
  for (size_t i = 0; i < own.size(); i++) {
    auto [begin, end] = bounds[i].value_or(std::pair<int64_t, int64_t>{0, own[i]});
    if (begin < 0 || end > own[i] || begin > end)
      throw Failure("elements " + std::to_string(begin) + " to " + std::to_string(end) + " of an axis of " +
                    std::to_string(own[i]));
    pairs.emplace_back(begin, end);
  }
  return Tensor(tgc::shrink(uop_, pairs));
}

Tensor Tensor::shrink_to(const std::vector<std::optional<int64_t>>& to) const {
  DimSpans bounds;
  for (auto s : to) bounds.push_back(s ? std::optional(std::pair<int64_t, int64_t>(0, *s)) : std::nullopt);
  return shrink(bounds);
}

Tensor Tensor::flatten(int64_t start, int64_t end) const {
  start = resolve_dim(start), end = resolve_dim(end);
  Ints own = shape();
  if (own.empty()) return reshape({1});
  int64_t size = product(std::span(own).subspan(size_t(start), size_t(end - start + 1)));
  return reshape(concat_ints({Ints(own.begin(), own.begin() + start), {size}, Ints(own.begin() + end + 1, own.end())}));
}

Tensor Tensor::unflatten(int64_t dim, const Ints& sizes) const {
  dim = resolve_dim(dim);
  Ints to = shape();
  to.erase(to.begin() + dim);
  to.insert(to.begin() + dim, sizes.begin(), sizes.end());
  return reshape(to);
}

Tensor Tensor::squeeze() const {
  Ints to = shape();
  std::erase(to, 1);
  return reshape(to);
}

Tensor Tensor::squeeze(int64_t dim) const {
  dim = resolve_dim(dim);
  Ints to = shape();
  if (to.empty() || to[size_t(dim)] != 1) return *this;
  to.erase(to.begin() + dim);
  return reshape(to);
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  Ints to = shape();
  to.insert(to.begin() + resolve_dim(dim, true), 1);
  return reshape(to);
}

Tensor Tensor::repeat(const Ints& repeats) const {
  Ints base = shape();
  if (base.size() < repeats.size()) base.insert(base.begin(), repeats.size() - base.size(), 1);
  if (base.size() != repeats.size())
    throw Failure("repeats " + shape_text(repeats) + " of a tensor of shape " + shape_text(base));
  Ints unsqueezed, expanded, to;
  for (size_t i = 0; i < base.size(); i++) {
    if (repeats[i] != 1) unsqueezed.push_back(1), expanded.push_back(repeats[i]);
    unsqueezed.push_back(base[i]), expanded.push_back(base[i]);
    to.push_back(repeats[i] * base[i]);
  }
  return reshape(unsqueezed).expand(expanded).reshape(to);
}

Tensor Tensor::repeat_interleave(int64_t repeats, int64_t dim) const {
  dim = resolve_dim(dim);
  Ints own = shape(), with = own, to = own;
  with.insert(with.begin() + dim + 1, 1);
  Ints wide = with;
  wide[size_t(dim) + 1] = repeats;
  to[size_t(dim)] *= repeats;
  return reshape(with).expand(wide).reshape(to);
}

Tensor Tensor::cat(const Tensors& rest, int64_t dim) const {
  dim = resolve_dim(dim);
  Tensors all{*this};
  all.insert(all.end(), rest.begin(), rest.end());
  return cat_all(all, dim);
}

Tensor Tensor::cat_all(const Tensors& tensors, int64_t dim) {
  if (tensors.empty()) throw Failure("a concatenation of no tensors");
  dim = tensors[0].resolve_dim(dim);
  int64_t total = 0;
  for (auto& t : tensors) {
    Ints a = t.shape(), b = tensors[0].shape();
    bool same = a.size() == b.size();
    for (size_t i = 0; same && i < a.size(); i++) same = int64_t(i) == dim || a[i] == b[i];
    if (!same || a.empty())
      throw Failure("tensors of shapes " + shape_text(b) + " and " + shape_text(a) + " cannot be joined at axis " +
                    std::to_string(dim));
    total += a[size_t(dim)];
  }
  Tensor out;
  int64_t at = 0;
  for (auto& t : tensors) {
    int64_t n = t.size(dim);
    Tensor padded = t.pad_axis(dim, at, total - at - n);
    out = out ? out + padded : padded;
    at += n;
  }
  return out;
}

Tensor Tensor::stack(const Tensors& tensors, int64_t dim) {
  Tensors raised;
  for (auto& t : tensors) raised.push_back(t.unsqueeze(dim));
  return cat_all(raised, dim);
}

Tensors Tensor::split(const Ints& sizes, int64_t dim) const {
  dim = resolve_dim(dim);
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) != size(dim)) {
    throw Failure("parts of sizes " + shape_text(sizes) + " do not make up an axis of " + std::to_string(size(dim)));
  }
  Tensors out;
  int64_t at = 0;
  for (int64_t s : sizes) {
    out.push_back(slice_axis(dim, {at, at + s, 1}));
    at += s;
  }
  return out;
}

Tensors Tensor::split_by_size(int64_t part, int64_t dim) const {
  int64_t total = size(dim);
  Ints sizes;
  for (int64_t i = 0; i < std::max<int64_t>(1, total); i += std::max<int64_t>(1, part))
    sizes.push_back(std::min(part, total - i));
  return split(sizes, dim);
}

Tensors Tensor::meshgrid(const Tensors& tensors) {
  if (tensors.size() == 1) return tensors;
  Tensors out;
  std::vector<Ints> shapes;
  for (size_t i = 0; i < tensors.size(); i++) {
    out.push_back(tensors[i].reshape(vector_shape(int64_t(tensors.size() - i), 0, -1)));
    shapes.push_back(out.back().shape());
  }
  Ints to = broadcast_shape(shapes);
  for (auto& t : out) t = t.broadcast_to(to);
  return out;
}

Tensor Tensor::diagonal() const {
  int64_t n = size(0);
  if (ndim() != 2 || n != size(1)) throw Failure("the diagonal of a tensor of shape " + shape_text(shape()));
  return flatten().pad_axis(0, 0, n).reshape({n, n + 1}).slice_axis(1, {0, 1, 1}).squeeze(1);
}

}  // namespace tgc
