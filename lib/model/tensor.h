// Tensor: builds UOps as tinygrad's Tensor does, with broadcasting and dtype promotion (tensor.py, mixin/math.py,
// mixin/movement.py). A default-constructed Tensor means None. Errors are thrown as Failure.
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

using Ints = std::vector<int64_t>;
using Padding = std::vector<std::pair<int64_t, int64_t>>;  // (before, after) per axis
using DimSpans = std::vector<std::optional<std::pair<int64_t, int64_t>>>;  // (begin, end) per axis; nullopt: whole axis
using Axes = std::optional<Ints>;
inline constexpr std::nullopt_t kAllAxes = std::nullopt;

class Tensor;
using Tensors = std::vector<Tensor>;

// Indices for getitem. Ellipsis stands for the axes without an index.
struct Slice {
  std::optional<int64_t> start = {}, stop = {};
  int64_t step = 1;
};
struct NewAxis {};
struct Ellipsis {};

class Tensor {
 public:
  using Index = std::variant<int64_t, Slice, NewAxis, Ellipsis, Tensor>;

  Tensor() = default;
  explicit Tensor(UOp uop) : uop_(uop) {}

  explicit operator bool() const { return bool(uop_); }
  UOp uop() const { return uop_; }
  Graph& graph() const { return uop_.graph(); }
  DType dtype() const { return uop_.dtype(); }
  Ints shape() const;
  int64_t size(int64_t dim) const;
  int64_t ndim() const;
  int64_t numel() const;
  bool is_floating_point() const { return dtypes::is_float(dtype()); }
  int64_t resolve_dim(int64_t dim, bool extra = false) const;

  // ---- creation, on the device of SharedTensorState
  static Tensor constant(Graph& graph, Const value, DType dtype);       // tinygrad's Tensor(value, dtype=...)
  static Tensor full(Graph& graph, const Ints& shape, Const value, DType dtype);
  static Tensor buffer(Graph& graph, const Ints& shape, DType dtype);   // tinygrad's Tensor.empty
  // Make one-dimensional buffers of `values`.
  static Tensor from_values(Graph& graph, const Ints& values, DType dtype = dtypes::int64);
  static Tensor from_values(Graph& graph, const std::vector<double>& values, DType dtype = dtypes::float32);
  static Tensor arange(Graph& graph, Const start, Const stop, Const step, DType dtype);
  static Tensor arange(Graph& graph, int64_t stop, DType dtype = dtypes::default_int) {
    return arange(graph, 0, stop, 1, dtype);
  }
  static Tensor linspace(Graph& graph, double start, double stop, int64_t steps);
  static Tensor eye(Graph& graph, int64_t n, int64_t m, DType dtype);
  Tensor full_like(Const value, std::optional<DType> dtype = {}) const;
  Tensor zeros_like(std::optional<DType> dtype = {}) const { return full_like(0, dtype); }
  Tensor ones_like(std::optional<DType> dtype = {}) const { return full_like(1, dtype); }

  Tensor cast(DType dtype) const;
  Tensor contiguous() const;

  Tensor reshape(Ints shape) const;  // one size may be -1: it is inferred
  Tensor expand(Ints shape) const;   // a size of -1 keeps the axis's size
  Tensor broadcast_to(const Ints& shape) const;
  Tensor permute(const Ints& order) const;
  Tensor transpose(int64_t dim0 = 1, int64_t dim1 = 0) const;
  Tensor flip(const Ints& axes) const;
  Tensor shrink(const DimSpans& bounds) const;
  Tensor shrink_to(const std::vector<std::optional<int64_t>>& shape) const;
  // `mode` is "constant" (pads with `value`), "reflect", "replicate" or "circular". A negative padding removes
  // elements, but is an error with "circular".
  Tensor pad(const Padding& padding, Const value = 0.0, std::string_view mode = "constant") const;
  // Pads the last axes; `padding` starts with the sizes before and after the last one.
  Tensor pad_flat(const Ints& padding, Const value = 0.0, std::string_view mode = "constant") const;
  Tensor pad_axis(int64_t dim, int64_t before, int64_t after, Const value = 0.0) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor unflatten(int64_t dim, const Ints& sizes) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor repeat(const Ints& repeats) const;
  Tensor repeat_interleave(int64_t repeats, int64_t dim) const;
  Tensor cat(const Tensors& rest, int64_t dim = 0) const;
  static Tensor cat_all(const Tensors& tensors, int64_t dim = 0);
  static Tensor stack(const Tensors& tensors, int64_t dim = 0);
  Tensors split(const Ints& sizes, int64_t dim = 0) const;
  Tensors split_by_size(int64_t size, int64_t dim = 0) const;
  static Tensors meshgrid(const Tensors& tensors);
  Tensor diagonal() const;
  Tensor pool(const Ints& kernel, const Ints& stride, const Ints& dilation) const;  // tinygrad's _pool

  Tensor getitem(const std::vector<Index>& indices) const;
  // Returns a copy in which `value` replaces the indexed elements, or is combined with them by `reduce` (sum, prod,
  // amax or amin). The indices must be whole slices and at least one tensor.
  Tensor setitem(const std::vector<Index>& indices, Tensor value, std::string_view reduce = "") const;
  Tensor select(int64_t i) const { return getitem({i}); }
  Tensor slice_axis(int64_t dim, Slice slice) const;
  Tensor gather(int64_t dim, Tensor index) const;
  Tensor scatter(int64_t dim, Tensor index, Tensor src) const;
  Tensor scatter_reduce(int64_t dim, Tensor index, Tensor src, std::string_view reduce) const;
  Tensor one_hot_along_dim(int64_t num_classes, int64_t dim = -1) const;
  std::pair<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;  // returns values and indices
  std::pair<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true) const;

  Tensor sum(Axes axes = kAllAxes, bool keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor prod(Axes axes = kAllAxes, bool keepdim = false) const;
  Tensor max(Axes axes = kAllAxes, bool keepdim = false) const;
  Tensor min(Axes axes = kAllAxes, bool keepdim = false) const;
  Tensor any(Axes axes = kAllAxes, bool keepdim = false) const;
  Tensor mean(Axes axes = kAllAxes, bool keepdim = false) const;
  Tensor var(Axes axes = kAllAxes, bool keepdim = false, int64_t correction = 1) const;
  Tensor std(Axes axes = kAllAxes, bool keepdim = false, int64_t correction = 1) const;
  Tensor argmax(int64_t axis, bool keepdim = false) const;
  Tensor softmax(int64_t axis = -1) const;
  Tensor log_softmax(int64_t axis = -1) const;
  Tensor cumsum(int64_t axis = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor tril(int64_t diagonal = 0) const;

  Tensor logical_not() const;
  Tensor bitwise_not() const;
  Tensor neg() const;
  Tensor exp() const;
  Tensor exp2() const;
  Tensor log() const;
  Tensor log2() const;
  Tensor sqrt() const;
  Tensor rsqrt() const { return sqrt().reciprocal(); }
  Tensor reciprocal() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tan() const;
  Tensor asin() const;
  Tensor acos() const;
  Tensor atan() const;
  Tensor sinh() const;
  Tensor cosh() const;
  Tensor tanh() const;
  Tensor asinh() const;
  Tensor acosh() const;
  Tensor atanh() const;
  Tensor erf() const;
  Tensor trunc() const;
  Tensor ceil() const;
  Tensor floor() const;
  Tensor round() const;  // ties go to even
  Tensor abs() const;
  Tensor sign() const;
  Tensor square() const;
  Tensor isnan() const;
  Tensor isinf(bool detect_positive = true, bool detect_negative = true) const;
  Tensor clamp(std::optional<Const> min, std::optional<Const> max) const;
  Tensor clamp(Tensor min, Tensor max) const;  // `min` or `max` may be None
  Tensor relu() const;
  Tensor sigmoid() const;
  Tensor hardswish() const;
  Tensor leaky_relu(double slope = 0.01) const;
  Tensor gelu() const;
  Tensor elu(double alpha = 1.0) const;
  Tensor celu(double alpha = 1.0) const;
  Tensor selu(double alpha = 1.67326, double gamma = 1.0507) const;
  Tensor softplus(double beta = 1.0) const;
  Tensor softsign() const;
  Tensor mish() const;

  Tensor add(Tensor b) const;
  Tensor sub(Tensor b) const;
  Tensor mul(Tensor b) const;
  Tensor idiv(Tensor b) const;   // truncates towards zero
  enum class Rounding : uint8_t { None, Trunc, Floor };
  Tensor div(Tensor b, Rounding rounding = Rounding::None) const;
  Tensor div(Const b, Rounding rounding = Rounding::None) const;
  Tensor mod(Tensor b) const;
  Tensor pow(Tensor b) const;
  Tensor pow(Const b) const;
  Tensor maximum(Tensor b) const;
  Tensor maximum(Const b) const;
  Tensor minimum(Tensor b) const;
  Tensor minimum(Const b) const;
  Tensor bitwise_and(Tensor b) const;
  Tensor bitwise_or(Tensor b) const;
  Tensor bitwise_xor(Tensor b) const;
  Tensor lt(Tensor b) const;
  Tensor gt(Tensor b) const { return b.lt(*this); }
  Tensor le(Tensor b) const { return gt(b).logical_not(); }
  Tensor ge(Tensor b) const { return lt(b).logical_not(); }
  Tensor ne(Tensor b) const;
  Tensor eq(Tensor b) const { return ne(b).logical_not(); }
  Tensor lt(Const b) const;
  Tensor gt(Const b) const;
  Tensor le(Const b) const { return gt(b).logical_not(); }
  Tensor ge(Const b) const { return lt(b).logical_not(); }
  Tensor ne(Const b) const;
  Tensor eq(Const b) const { return ne(b).logical_not(); }
  Tensor where(Tensor yes, Tensor no) const;  // this tensor is the condition
  Tensor where(Tensor yes, Const no) const;
  Tensor where(Const yes, Tensor no) const;
  Tensor where(Const yes, Const no) const;
  Tensor logaddexp(Tensor other) const;
  Tensor logaddexp(Const other) const;

  Tensor dot(Tensor w) const;
  Tensor matmul(Tensor w) const { return dot(w); }
  Tensor conv2d(Tensor weight, Tensor bias, int64_t groups, const Ints& stride, const Ints& dilation,
                const Ints& padding) const;
  Tensor conv_transpose2d(Tensor weight, Tensor bias, int64_t groups, const Ints& stride, const Ints& dilation,
                          const Ints& padding, const Ints& output_padding) const;
  Tensor avg_pool2d(const Ints& kernel, const Ints& stride, const Ints& dilation, const Ints& padding, bool ceil_mode,
                    bool count_include_pad) const;
  std::pair<Tensor, Tensor> max_pool2d(const Ints& kernel, const Ints& stride, const Ints& dilation,
                                       const Ints& padding, bool ceil_mode) const;
  Tensor max_unpool2d(Tensor indices, const Ints& output_size) const;
  Tensor layernorm(const Ints& axes, double eps) const;
  Tensor batchnorm(Tensor weight, Tensor bias, Tensor mean, Tensor invstd) const;
  static Tensor einsum(std::string_view formula, Tensors operands);

  // Returns the constant that a Python number becomes in an op with this tensor (tensor.py:_broadcasted).
  Tensor number(Const value) const;

 private:
  Tensor reduce(Op op, const Axes& axes, bool keepdim) const;
  Tensor inverse() const;
  Tensor prefix_sums(int64_t axis, bool include_initial = false) const;
  std::pair<Tensor, Tensor> pre_scatter(int64_t dim, Tensor index, Tensor src) const;

  UOp uop_;
};

// ---- operators, as in Python: / is true division, % the floored remainder. A Const operand becomes number(Const).
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator%(const Tensor& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
inline Tensor operator-(const Tensor& a) { return a.neg(); }

#define TGC_MIXED(op)                                                                          \
  inline Tensor operator op(const Tensor& a, Const b) { return a op a.number(b); }             \
  inline Tensor operator op(Const a, const Tensor& b) { return b.number(a) op b; }
TGC_MIXED(+) TGC_MIXED(-) TGC_MIXED(*) TGC_MIXED(/) TGC_MIXED(%) TGC_MIXED(&) TGC_MIXED(|) TGC_MIXED(^)
#undef TGC_MIXED

Ints broadcast_shape(const std::vector<Ints>& shapes);  // tensor.py:_broadcast_shape
Ints int_range(int64_t begin, int64_t end);             // returns the integers in [begin, end)
Ints concat_ints(std::initializer_list<Ints> parts);
Ints vector_shape(int64_t rank, int64_t axis, int64_t size);  // returns `rank` sizes: `size` at `axis`, else 1
// Adds padding after each axis so that the last window that begins inside is complete (tensor.py:_apply_ceil_mode).
// `pads`: before and after each axis, last axis first.
Ints ceil_mode_pads(const Tensor& x, Ints pads, const Ints& kernel, const Ints& stride, const Ints& dilation);
// Returns the value of a polynomial (helpers.py:polyN). `coefficients` starts with that of the highest power.
Tensor poly_n(Tensor x, std::initializer_list<double> coefficients);
int64_t product(std::span<const int64_t> sizes);  // throws Failure on overflow
int64_t ceildiv(int64_t a, int64_t b);

}  // namespace tgc
