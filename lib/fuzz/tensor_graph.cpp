#include "lib/fuzz/generator.h"

#include <algorithm>
#include <array>

#include "lib/uop/facts.h"
#include "lib/uop/movement.h"
#include "passes/tensor/stages.h"

namespace tgc {
namespace {

constexpr int64_t kMaxElements = 2048;
constexpr int64_t kSizes[] = {1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16};
constexpr Scalar kScalars[] = {Scalar::Float32, Scalar::Float32, Scalar::Float32, Scalar::Int32, Scalar::Float16,
                               Scalar::UInt8,   Scalar::Bool,    Scalar::Int64};

class Tensors {
 public:
  Tensors(Graph& graph, RandomSource& chance) : g_(graph), c_(chance) {
    if (c_.one_in(3)) several_ = {"CPU:1", "CPU:2", "CPU:3", "CPU:4"}, several_.resize(2 + c_.random_below(3));
    if (c_.one_in(8)) file_ = "DISK:weights";
    if (c_.one_in(6)) size_ = g_.node(Op::BIND, dtypes::index, {g_.variable("i", 1, 8), index(3)});
  }

  UOp sink() {
    for (size_t n = 1 + c_.random_below(3); n > 0; n--) made_.push_back(leaf());
    for (size_t n = 3 + c_.random_below(8); n > 0; n--)
      if (UOp made = step(c_.one_in(2) ? made_.back() : c_.random_item(made_))) made_.push_back(made);
    outputs_.push_back(made_.back());
    if (c_.one_in(2)) outputs_.push_back(c_.random_item(made_));
    return g_.sink(outputs_);
  }

 private:
  Arg one_device() { return g_.str("CPU"); }
  Arg several_devices() {
    std::vector<Arg> names;
    for (const char* name : several_) names.push_back(g_.str(name));
    return g_.tuple(names);
  }
  bool is_on_many(UOp u) const { return device_of(u).is_tuple(); }

  UOp index(int64_t v) { return g_.constant(dtypes::index, v); }
  ShapeVec shape() {
    ShapeVec out;
    int64_t size = 1;
    for (size_t rank = 1 + c_.random_below(3); out.size() < rank;) {
      int64_t next = c_.random_item(kSizes);
      if (size * next > kMaxElements) next = 1;
      out.push_back(next), size *= next;
    }
    if (!several_.empty() && c_.one_in(2)) {  // an axis that the number of devices divides, and another axis
      if (out.size() == 1) out.push_back(3);
      out[c_.random_below(out.size())] = int64_t(2 * several_.size());
    }
    return out;
  }
  UOp buffer(DType dtype, const ShapeVec& shape, Arg device) {
    UOp unique = g_.node(Op::UNIQUE, dtypes::void_, {}, Arg(number_++));
    UOp flat = g_.node(Op::BUFFER, dtype, {unique, make_device_node(g_, device)}, prod(shape).arg());
    return c_.one_in(4) ? force_reshape(flat, shape) : reshape(flat, shape);
  }
  UOp number(DType d) {
    static constexpr double kFloats[] = {0.0, 1.0, -1.0, 0.5, 2.0};
    static constexpr int64_t kInts[] = {0, 1, 2, 3, 7};
    return dtypes::is_float(d)  ? g_.constant(d, c_.random_item(kFloats))
           : dtypes::is_bool(d) ? g_.constant(d, c_.one_in(2))
                                : g_.constant(d, c_.random_item(kInts));
  }
  UOp constant(DType d, const ShapeVec& shape, Arg device) {
    UOp on = make_device_node(g_, device), out = number(d);
    std::vector<UOp> src{on};
    if (c_.one_in(4)) src = {g_.node(Op::UNIQUE, dtypes::void_, {}, Arg(number_++)), on};
    return expand_const(out.with_src(src), shape);
  }
  UOp leaf() {
    DType d = dtypes::of(c_.random_item(kScalars));
    if (!file_.empty() && c_.one_in(2)) return from_file(d);
    if (c_.one_in(5)) return constant(d, shape(), several_.empty() || c_.one_in(4) ? one_device() : several_devices());
    UOp out = buffer(d, shape(), several_.empty() || c_.one_in(4) ? one_device() : several_devices());
    return is_on_many(out) && c_.one_in(2) ? sharded(out) : out;
  }

  UOp from_file(DType d) {
    UOp u = buffer(dtypes::uint8, ShapeVec{int64_t(64 * d.itemsize())}, g_.str(file_));
    int64_t begin = int64_t(c_.random_below(3)) * 8 * int64_t(d.itemsize());
    if (c_.one_in(2)) u = shrink(u, std::array{std::pair<Sint, Sint>(begin, begin + int64_t(32 * d.itemsize()))});
    u = u.bitcast(d);
    int64_t n = size_of(u).low_64_bits();
    if (c_.one_in(2)) u = contiguous(u);
    if (c_.one_in(2)) u = permuted(reshape(u, ShapeVec{4, n / 4}));
    if (c_.one_in(3)) u = flip(u, std::vector<bool>(shape_of(u).size(), true));
    if (c_.one_in(3)) u = contiguous(u);
    return g_.node(Op::COPY, u.dtype(), {u, make_device_node(g_, one_device())});
  }

  static UOp contiguous(UOp u) { return u.graph().node(Op::CONTIGUOUS, u.dtype(), u); }
  UOp permuted(UOp u) {
    std::vector<int64_t> order;
    for (size_t i = shape_of(u).size(); i-- > 0;) order.push_back(int64_t(i));
    if (order.size() > 2 && c_.one_in(2)) std::swap(order[0], order[1]);
    return permute(u, order);
  }
  static UOp flip(UOp u, const std::vector<bool>& axes) {
    auto flags = std::make_unique<bool[]>(axes.size());
    std::ranges::copy(axes, flags.get());
    return tgc::flip(u, std::span<const bool>(flags.get(), axes.size()));
  }
  size_t any_axis(UOp u) { return c_.random_below(shape_of(u).size()); }

  UOp step(UOp u) {
    if (shape_of(u).empty()) u = reshape(u, ShapeVec{1});
    if (prod(shape_of(u)).vmax() > Int(8 * kMaxElements)) return {};
    switch (c_.random_below(several_.empty() ? 11 : 17)) {
      case 0:
      case 1: return unary(u);
      case 2:
      case 3: return binary(u);
      case 4:
      case 5: return moved(u);
      case 6: return reduced(u);
      case 7: return kept(u);
      case 8: return assigned(u);
      case 9: return size_ && c_.one_in(2) ? shortened(u) : moved(u);
      case 10: return c_.one_in(2) ? as_image(u) : sum_in_outer_loop(u);
      case 11:
      case 12: return is_on_many(u) ? moved(u) : sharded(copied(u, several_devices()));
      case 13: return copied(u, is_on_many(u) && c_.one_in(2) ? one_device() : several_devices());
      case 14: return of_one_device(u);
      case 15: return c_.one_in(2) ? custom(u) : moved(u);
      default: return reduced_among_all(u);
    }
  }

  UOp unary(UOp u) {
    static constexpr Op kOps[] = {Op::EXP2, Op::SQRT, Op::RECIPROCAL, Op::SIN, Op::TRUNC, Op::LOG2};
    static constexpr Scalar kOthers[] = {Scalar::Float32, Scalar::Int32, Scalar::Float16, Scalar::UInt8};
    if (dtypes::is_float(u.dtype()) && !c_.one_in(3)) return u.alu(c_.random_item(kOps));
    DType d = dtypes::of(c_.random_item(kOthers));
    if (u.dtype().is(Scalar::Int32) && c_.one_in(3)) d = dtypes::float32;
    bool as_bits = d.itemsize() == u.dtype().itemsize() && !dtypes::is_bool(u.dtype()) && c_.one_in(2);
    return d == u.dtype() ? u.neg() : as_bits ? u.bitcast(d) : u.cast(d);
  }

  UOp binary(UOp u) {
    static constexpr Op kOps[] = {Op::ADD, Op::MUL, Op::MAX, Op::ADD};
    auto goes_with = [&](UOp v) {
      bool are_alike = v.dtype() == u.dtype() && device_of(v) == device_of(u);
      return are_alike && !(v == u) && is_same_shape(shape_of(v), shape_of(u));
    };
    std::vector<UOp> others;
    std::ranges::copy_if(made_, std::back_inserter(others), goes_with);
    ShapeVec shape(shape_of(u).begin(), shape_of(u).end());
    UOp v = !others.empty() && !c_.one_in(4) ? c_.random_item(others)
            : c_.one_in(2)                   ? buffer_or_number(u, shape)
                                             : constant(u.dtype(), shape, device_of(u));
    if (c_.one_in(8)) return u.lt(v).where(u, v);
    if (dtypes::is_bool(u.dtype())) return u.alu(c_.one_in(2) ? Op::AND : Op::XOR, v);
    return u.alu(c_.random_item(kOps), v);
  }
  UOp buffer_or_number(UOp like, const ShapeVec& shape) {
    bool is_fixed = std::ranges::all_of(shape, [](Sint s) { return s.is_int(); });
    return is_fixed && !axis_of(like) ? buffer(like.dtype(), shape, device_of(like))
                                      : constant(like.dtype(), shape, device_of(like));
  }

  UOp moved(UOp u) {
    ShapeVec shape(shape_of(u).begin(), shape_of(u).end());
    size_t axis = any_axis(u);
    auto own = axis_of(u);
    if (own && size_t(*own) == axis && !c_.one_in(8)) axis = (axis + 1) % shape.size();
    std::vector<std::pair<Sint, Sint>> pairs;
    switch (c_.random_below(7)) {
      case 0: return permuted(u);
      case 1: {
        std::vector<bool> axes(shape.size(), false);
        axes[axis] = true;
        return flip(u, axes);
      }
      case 2:
        for (size_t i = 0; i < shape.size(); i++) pairs.emplace_back(0, i == axis ? 1 : 0);
        if (c_.one_in(2)) pairs[axis].first = 2;
        return pad(u, pairs);
      case 3:
        for (Sint s : shape) pairs.emplace_back(0, s);
        if (shape[axis].is_int()) {
          int64_t n = shape[axis].as_int().low_64_bits(), begin = int64_t(c_.random_below(size_t(n) + 1));
          pairs[axis] = {c_.one_in(2) ? 0 : begin, c_.one_in(12) ? begin : n};
          if (c_.one_in(12)) pairs[axis] = {begin, begin};
          if (own && size_t(*own) == axis) {  // on the sharded axis, keep the part of one device
            int64_t part = n / int64_t(several_.size()), which = int64_t(c_.random_below(several_.size()));
            pairs[axis] = {part * which, part * (which + 1)};
          }
        }
        return shrink(u, pairs);
      case 4: {
        shape.insert(shape.begin() + ptrdiff_t(axis), Sint(1));
        u = reshape(u, shape);
        shape[axis] = int64_t(2 + c_.random_below(3));
        return expand(u, shape);
      }
      case 5: {
        if (!shape[axis].is_int() || shape[axis].as_int() < 2) return reshape(u, with_one_in_front(shape));
        int64_t n = shape[axis].as_int().low_64_bits(), by = n % 2 == 0 ? 2 : n;
        shape[axis] = n / by;
        shape.insert(shape.begin() + ptrdiff_t(axis), Sint(by));
        return reshape(u, shape);
      }
      default: return reshape(u, ShapeVec{prod(shape)});
    }
  }
  static ShapeVec with_one_in_front(ShapeVec shape) {
    shape.insert(shape.begin(), Sint(1));
    return shape;
  }

  UOp reduced(UOp u) {
    static constexpr Op kOps[] = {Op::ADD, Op::ADD, Op::MAX, Op::MUL};
    std::vector<int64_t> axes{int64_t(any_axis(u))};
    if (auto own = axis_of(u); own && c_.one_in(2)) axes = {*own};
    if (shape_of(u).size() > 1 && c_.one_in(3))
      for (axes.clear(); axes.size() < shape_of(u).size();) axes.push_back(int64_t(axes.size()));
    return reduce_axis(dtypes::is_bool(u.dtype()) ? u.cast(dtypes::int32) : u, c_.random_item(kOps), axes);
  }

  UOp kept(UOp u) {
    switch (c_.random_below(5)) {
      case 0: return g_.node(c_.one_in(2) ? Op::DETACH : Op::CONTIGUOUS_BACKWARD, u.dtype(), u);
      case 1: return copied(u, g_.str(c_.one_in(2) ? "CPU:1" : "CPU"));
      default: return contiguous(u);
    }
  }
  UOp copied(UOp u, Arg device) { return copy_to_device(u, device); }

  // Assigns the tensor to a buffer, sometimes to a contiguous copy of itself. Returns the empty UOp if the shape is not
  // fixed, or has no elements.
  UOp assigned(UOp u) {
    ShapeVec shape(shape_of(u).begin(), shape_of(u).end());
    bool is_fixed = std::ranges::all_of(shape, [](Sint s) { return s.is_int() && s.as_int() > Int(0); });
    if (!is_fixed) return {};
    if (c_.one_in(6)) return contiguous(u).assign(u);
    if (auto own = axis_of(u)) {
      shape[size_t(*own)] = floor_div(shape[size_t(*own)], Sint(int64_t(several_.size())));
      return multi(buffer(u.dtype(), shape, device_of(u)), *own).assign(u);
    }
    UOp target = buffer(u.dtype(), shape, device_of(u));
    if (c_.one_in(2)) {
      UOp own = target;
      if (shape.size() > 1 && shape[0] == shape.back()) own = permuted(own);
      if (is_same_shape(shape_of(own), shape_of(u))) u = dtypes::is_bool(u.dtype()) ? own & u : u + own;
    }
    return target.assign(u);
  }

  // Shortens an axis to n elements, where n is a variable. Returns the empty UOp for a short or symbolic axis.
  UOp shortened(UOp u) {
    size_t axis = any_axis(u);
    std::vector<std::pair<Sint, Sint>> pairs;
    for (Sint s : shape_of(u)) pairs.emplace_back(0, s);
    if (!shape_of(u)[axis].is_int() || shape_of(u)[axis].as_int() < Int(8)) return {};
    pairs[axis] = {0, size_};
    return shrink(u, pairs);
  }

  // If the tensor can be an image as of IMAGE=2, adds its square to the outputs. Returns the empty UOp.
  UOp as_image(UOp u) {
    Sint size = prod(shape_of(u));
    if (!u.dtype().is(Scalar::Float32) || !size.is_int()) return {};
    if (size.as_int() <= Int(0) || size.as_int().low_64_bits() % 4) return {};
    int64_t n = size.as_int().low_64_bits() / 4, height = n % 2 ? 1 : 2;
    DType image = dtypes::imagef(std::array<int64_t, 3>{c_.one_in(4) ? height + 1 : height, n / height, 4});
    UOp kept = contiguous(reshape(u, ShapeVec{height, n / height, 4}).cast(image));
    outputs_.push_back(kept * kept);
    return {};
  }

  // Sums over the first axis in a loop around whole kernels. Returns the empty UOp if that is not possible.
  UOp sum_in_outer_loop(UOp u) {
    Sint size = shape_of(u)[0];
    bool can = size.is_int() && size.as_int() > Int(1) && !axis_of(u) && dtypes::is_float(u.dtype());
    if (!can) return {};
    UOp turn = g_.range(int64_t(size.as_int().low_64_bits()), 100 + number_++, AxisType::OUTER);
    std::vector<std::pair<Sint, Sint>> pairs;
    for (Sint s : shape_of(u)) pairs.emplace_back(0, s);
    pairs[0] = {turn, Sint(turn) + 1};
    return shrink(u, pairs).reduce(turn, Op::ADD);
  }

  UOp sharded(UOp u) {
    Shape shape = shape_of(u);
    for (size_t axis = 0; axis < shape.size(); axis++)
      if (shape[axis].is_int() && shape[axis].as_int() > Int(0) &&
          shape[axis].as_int().low_64_bits() % int64_t(several_.size()) == 0)
        return multi(shard(u, int64_t(axis)), int64_t(axis));
    return u;
  }
  UOp of_one_device(UOp u) {
    if (!is_on_many(u)) return copied(u, g_.str("CPU:1"));
    if (axis_of(u)) return copied(u, one_device());
    UOp part = mselect(u, int64_t(c_.random_below(several_.size())));
    return c_.one_in(2) ? part : copied(part, one_device());
  }
  UOp custom(UOp u) {
    return u.after(g_.node(Op::CUSTOM_KERNEL, dtypes::void_, {u, contiguous(u)}));
  }
  UOp reduced_among_all(UOp u) {
    if (!is_on_many(u)) return sharded(copied(u, several_devices()));
    return allreduce(u, c_.one_in(2) ? Op::ADD : Op::MAX, make_device_node(g_, device_of(u)));
  }

  Graph& g_;
  RandomSource& c_;
  std::vector<const char*> several_;
  std::string file_;
  UOp size_;  // a variable that has a value (BIND), for shapes
  std::vector<UOp> made_, outputs_;
  int64_t number_ = 1;
};

}  // namespace

UOp tensor_graph(Graph& graph, RandomSource& chance) { return Tensors(graph, chance).sink(); }

}  // namespace tgc
