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

class TensorGraphMaker {
 public:
  TensorGraphMaker(Graph& graph, RandomSource& chance) : graph_(graph), random_(chance) {
    if (random_.one_in(3))
      device_names_ = {"CPU:1", "CPU:2", "CPU:3", "CPU:4"}, device_names_.resize(2 + random_.random_below(3));
    if (random_.one_in(8)) file_device_ = "DISK:weights";
    if (random_.one_in(6))
      variable_size_ = graph_.node(Op::BIND, dtypes::index, {graph_.variable("i", 1, 8), index(3)});
  }

  UOp make_sink() {
    for (size_t n = 1 + random_.random_below(3); n > 0; n--) tensors_.push_back(random_leaf());
    for (size_t n = 3 + random_.random_below(8); n > 0; n--)
      if (UOp made = apply_random_op(random_.one_in(2) ? tensors_.back() : random_.random_item(tensors_)))
        tensors_.push_back(made);
    outputs_.push_back(tensors_.back());
    if (random_.one_in(2)) outputs_.push_back(random_.random_item(tensors_));
    return graph_.sink(outputs_);
  }

 private:
  Arg one_device() { return graph_.str("CPU"); }
  Arg several_devices() {
    std::vector<Arg> names;
    for (const char* name : device_names_) names.push_back(graph_.str(name));
    return graph_.tuple(names);
  }
  bool is_on_many_devices(UOp u) const { return device_of(u).is_tuple(); }

  UOp index(int64_t v) { return graph_.constant(dtypes::index, v); }
  ShapeVec random_shape() {
    ShapeVec out;
    int64_t size = 1;
    for (size_t rank = 1 + random_.random_below(3); out.size() < rank;) {
      int64_t next = random_.random_item(kSizes);
      if (size * next > kMaxElements) next = 1;
      out.push_back(next), size *= next;
    }
    if (!device_names_.empty() && random_.one_in(2)) {  // an axis that the number of devices divides, and another axis
      if (out.size() == 1) out.push_back(3);
      out[random_.random_below(out.size())] = int64_t(2 * device_names_.size());
    }
    return out;
  }
  UOp new_buffer(DType dtype, const ShapeVec& shape, Arg device) {
    UOp unique = graph_.node(Op::UNIQUE, dtypes::void_, {}, Arg(next_unique_number_++));
    UOp flat = graph_.node(Op::BUFFER, dtype, {unique, make_device_node(graph_, device)}, prod(shape).arg());
    return random_.one_in(4) ? force_reshape(flat, shape) : reshape(flat, shape);
  }
  UOp number_const(DType d) {
    static constexpr double kFloats[] = {0.0, 1.0, -1.0, 0.5, 2.0};
    static constexpr int64_t kInts[] = {0, 1, 2, 3, 7};
    return dtypes::is_float(d)  ? graph_.constant(d, random_.random_item(kFloats))
           : dtypes::is_bool(d) ? graph_.constant(d, random_.one_in(2))
                                : graph_.constant(d, random_.random_item(kInts));
  }
  UOp new_constant(DType d, const ShapeVec& shape, Arg device) {
    UOp on = make_device_node(graph_, device), out = number_const(d);
    std::vector<UOp> src{on};
    if (random_.one_in(4)) src = {graph_.node(Op::UNIQUE, dtypes::void_, {}, Arg(next_unique_number_++)), on};
    return expand_const(out.with_src(src), shape);
  }
  UOp random_leaf() {
    DType d = dtypes::of(random_.random_item(kScalars));
    if (!file_device_.empty() && random_.one_in(2)) return load_from_file(d);
    if (random_.one_in(5))
      return new_constant(d, random_shape(),
                          device_names_.empty() || random_.one_in(4) ? one_device() : several_devices());
    UOp out =
        new_buffer(d, random_shape(), device_names_.empty() || random_.one_in(4) ? one_device() : several_devices());
    return is_on_many_devices(out) && random_.one_in(2) ? shard_tensor(out) : out;
  }

  UOp load_from_file(DType d) {
    UOp u = new_buffer(dtypes::uint8, ShapeVec{int64_t(64 * d.itemsize())}, graph_.str(file_device_));
    int64_t begin = int64_t(random_.random_below(3)) * 8 * int64_t(d.itemsize());
    if (random_.one_in(2)) u = shrink(u, std::array{std::pair<Sint, Sint>(begin, begin + int64_t(32 * d.itemsize()))});
    u = u.bitcast(d);
    int64_t n = size_of(u).low_64_bits();
    if (random_.one_in(2)) u = contiguous(u);
    if (random_.one_in(2)) u = permute_randomly(reshape(u, ShapeVec{4, n / 4}));
    if (random_.one_in(3)) u = flip(u, std::vector<bool>(shape_of(u).size(), true));
    if (random_.one_in(3)) u = contiguous(u);
    return graph_.node(Op::COPY, u.dtype(), {u, make_device_node(graph_, one_device())});
  }

  static UOp contiguous(UOp u) { return u.graph().node(Op::CONTIGUOUS, u.dtype(), u); }
  UOp permute_randomly(UOp u) {
    std::vector<int64_t> order;
    for (size_t i = shape_of(u).size(); i-- > 0;) order.push_back(int64_t(i));
    if (order.size() > 2 && random_.one_in(2)) std::swap(order[0], order[1]);
    return permute(u, order);
  }
  static UOp flip(UOp u, const std::vector<bool>& axes) {
    auto flags = std::make_unique<bool[]>(axes.size());
    std::ranges::copy(axes, flags.get());
    return tgc::flip(u, std::span<const bool>(flags.get(), axes.size()));
  }
  size_t random_axis(UOp u) { return random_.random_below(shape_of(u).size()); }

  UOp apply_random_op(UOp u) {
    if (shape_of(u).empty()) u = reshape(u, ShapeVec{1});
    if (prod(shape_of(u)).vmax() > Int(8 * kMaxElements)) return {};
    switch (random_.random_below(device_names_.empty() ? 11 : 17)) {
      case 0:
      case 1: return apply_unary(u);
      case 2:
      case 3: return apply_binary(u);
      case 4:
      case 5: return apply_movement(u);
      case 6: return apply_reduce(u);
      case 7: return apply_identity(u);
      case 8: return assign_to_buffer(u);
      case 9: return variable_size_ && random_.one_in(2) ? shrink_to_variable(u) : apply_movement(u);
      case 10: return random_.one_in(2) ? add_image_output(u) : sum_in_outer_loop(u);
      case 11:
      case 12: return is_on_many_devices(u) ? apply_movement(u) : shard_tensor(copy_to(u, several_devices()));
      case 13: return copy_to(u, is_on_many_devices(u) && random_.one_in(2) ? one_device() : several_devices());
      case 14: return place_on_one_device(u);
      case 15: return random_.one_in(2) ? apply_custom_kernel(u) : apply_movement(u);
      default: return allreduce_tensor(u);
    }
  }

  UOp apply_unary(UOp u) {
    static constexpr Op kOps[] = {Op::EXP2, Op::SQRT, Op::RECIPROCAL, Op::SIN, Op::TRUNC, Op::LOG2};
    static constexpr Scalar kOthers[] = {Scalar::Float32, Scalar::Int32, Scalar::Float16, Scalar::UInt8};
    if (dtypes::is_float(u.dtype()) && !random_.one_in(3)) return u.alu(random_.random_item(kOps));
    DType d = dtypes::of(random_.random_item(kOthers));
    if (u.dtype().is(Scalar::Int32) && random_.one_in(3)) d = dtypes::float32;
    bool as_bits = d.itemsize() == u.dtype().itemsize() && !dtypes::is_bool(u.dtype()) && random_.one_in(2);
    return d == u.dtype() ? u.neg() : as_bits ? u.bitcast(d) : u.cast(d);
  }

  UOp apply_binary(UOp u) {
    static constexpr Op kOps[] = {Op::ADD, Op::MUL, Op::MAX, Op::ADD};
    auto goes_with = [&](UOp v) {
      bool are_alike = v.dtype() == u.dtype() && device_of(v) == device_of(u);
      return are_alike && !(v == u) && is_same_shape(shape_of(v), shape_of(u));
    };
    std::vector<UOp> others;
    std::ranges::copy_if(tensors_, std::back_inserter(others), goes_with);
    ShapeVec shape(shape_of(u).begin(), shape_of(u).end());
    UOp v = !others.empty() && !random_.one_in(4) ? random_.random_item(others)
            : random_.one_in(2)                   ? buffer_or_number(u, shape)
                                             : new_constant(u.dtype(), shape, device_of(u));
    if (random_.one_in(8)) return u.lt(v).where(u, v);
    if (dtypes::is_bool(u.dtype())) return u.alu(random_.one_in(2) ? Op::AND : Op::XOR, v);
    return u.alu(random_.random_item(kOps), v);
  }
  UOp buffer_or_number(UOp like, const ShapeVec& shape) {
    bool is_fixed = std::ranges::all_of(shape, [](Sint s) { return s.is_int(); });
    return is_fixed && !axis_of(like) ? new_buffer(like.dtype(), shape, device_of(like))
                                      : new_constant(like.dtype(), shape, device_of(like));
  }

  UOp apply_movement(UOp u) {
    ShapeVec shape(shape_of(u).begin(), shape_of(u).end());
    size_t axis = random_axis(u);
    auto own = axis_of(u);
    if (own && size_t(*own) == axis && !random_.one_in(8)) axis = (axis + 1) % shape.size();
    std::vector<std::pair<Sint, Sint>> pairs;
    switch (random_.random_below(7)) {
      case 0: return permute_randomly(u);
      case 1: {
        std::vector<bool> axes(shape.size(), false);
        axes[axis] = true;
        return flip(u, axes);
      }
      case 2:
        for (size_t i = 0; i < shape.size(); i++) pairs.emplace_back(0, i == axis ? 1 : 0);
        if (random_.one_in(2)) pairs[axis].first = 2;
        return pad(u, pairs);
      case 3:
        for (Sint s : shape) pairs.emplace_back(0, s);
        if (shape[axis].is_int()) {
          int64_t n = shape[axis].as_int().low_64_bits(), begin = int64_t(random_.random_below(size_t(n) + 1));
          pairs[axis] = {random_.one_in(2) ? 0 : begin, random_.one_in(12) ? begin : n};
          if (random_.one_in(12)) pairs[axis] = {begin, begin};
          if (own && size_t(*own) == axis) {  // on the sharded axis, keep the part of one device
            int64_t part = n / int64_t(device_names_.size()),
                    which = int64_t(random_.random_below(device_names_.size()));
            pairs[axis] = {part * which, part * (which + 1)};
          }
        }
        return shrink(u, pairs);
      case 4: {
        shape.insert(shape.begin() + ptrdiff_t(axis), Sint(1));
        u = reshape(u, shape);
        shape[axis] = int64_t(2 + random_.random_below(3));
        return expand(u, shape);
      }
      case 5: {
        if (!shape[axis].is_int() || shape[axis].as_int() < 2) return reshape(u, prepend_one(shape));
        int64_t n = shape[axis].as_int().low_64_bits(), by = n % 2 == 0 ? 2 : n;
        shape[axis] = n / by;
        shape.insert(shape.begin() + ptrdiff_t(axis), Sint(by));
        return reshape(u, shape);
      }
      default: return reshape(u, ShapeVec{prod(shape)});
    }
  }
  static ShapeVec prepend_one(ShapeVec shape) {
    shape.insert(shape.begin(), Sint(1));
    return shape;
  }

  UOp apply_reduce(UOp u) {
    static constexpr Op kOps[] = {Op::ADD, Op::ADD, Op::MAX, Op::MUL};
    std::vector<int64_t> axes{int64_t(random_axis(u))};
    if (auto own = axis_of(u); own && random_.one_in(2)) axes = {*own};
    if (shape_of(u).size() > 1 && random_.one_in(3))
      for (axes.clear(); axes.size() < shape_of(u).size();) axes.push_back(int64_t(axes.size()));
    return reduce_axis(dtypes::is_bool(u.dtype()) ? u.cast(dtypes::int32) : u, random_.random_item(kOps), axes);
  }

  UOp apply_identity(UOp u) {
    switch (random_.random_below(5)) {
      case 0: return graph_.node(random_.one_in(2) ? Op::DETACH : Op::CONTIGUOUS_BACKWARD, u.dtype(), u);
      case 1: return copy_to(u, graph_.str(random_.one_in(2) ? "CPU:1" : "CPU"));
      default: return contiguous(u);
    }
  }
  UOp copy_to(UOp u, Arg device) { return copy_to_device(u, device); }

  // Assigns the tensor to a buffer, sometimes to a contiguous copy of itself. Returns the empty UOp if the shape is not
  // fixed, or has no elements.
  UOp assign_to_buffer(UOp u) {
    ShapeVec shape(shape_of(u).begin(), shape_of(u).end());
    bool is_fixed = std::ranges::all_of(shape, [](Sint s) { return s.is_int() && s.as_int() > Int(0); });
    if (!is_fixed) return {};
    if (random_.one_in(6)) return contiguous(u).assign(u);
    if (auto own = axis_of(u)) {
      shape[size_t(*own)] = floor_div(shape[size_t(*own)], Sint(int64_t(device_names_.size())));
      return multi(new_buffer(u.dtype(), shape, device_of(u)), *own).assign(u);
    }
    UOp target = new_buffer(u.dtype(), shape, device_of(u));
    if (random_.one_in(2)) {
      UOp own = target;
      if (shape.size() > 1 && shape[0] == shape.back()) own = permute_randomly(own);
      if (is_same_shape(shape_of(own), shape_of(u))) u = dtypes::is_bool(u.dtype()) ? own & u : u + own;
    }
    return target.assign(u);
  }

  // Shortens an axis to n elements, where n is a variable. Returns the empty UOp for a short or symbolic axis.
  UOp shrink_to_variable(UOp u) {
    size_t axis = random_axis(u);
    std::vector<std::pair<Sint, Sint>> pairs;
    for (Sint s : shape_of(u)) pairs.emplace_back(0, s);
    if (!shape_of(u)[axis].is_int() || shape_of(u)[axis].as_int() < Int(8)) return {};
    pairs[axis] = {0, variable_size_};
    return shrink(u, pairs);
  }

  // If the tensor can be an image as with IMAGE=2, adds its square to the outputs. Returns the empty UOp.
  UOp add_image_output(UOp u) {
    Sint size = prod(shape_of(u));
    if (!u.dtype().is(Scalar::Float32) || !size.is_int()) return {};
    if (size.as_int() <= Int(0) || size.as_int().low_64_bits() % 4) return {};
    int64_t n = size.as_int().low_64_bits() / 4, height = n % 2 ? 1 : 2;
    DType image = dtypes::imagef(std::array<int64_t, 3>{random_.one_in(4) ? height + 1 : height, n / height, 4});
    UOp kept = contiguous(reshape(u, ShapeVec{height, n / height, 4}).cast(image));
    outputs_.push_back(kept * kept);
    return {};
  }

  // Sums over the first axis in a loop around whole kernels. Returns the empty UOp if that is not possible.
  UOp sum_in_outer_loop(UOp u) {
    Sint size = shape_of(u)[0];
    bool can = size.is_int() && size.as_int() > Int(1) && !axis_of(u) && dtypes::is_float(u.dtype());
    if (!can) return {};
    UOp turn = graph_.range(int64_t(size.as_int().low_64_bits()), 100 + next_unique_number_++, AxisType::OUTER);
    std::vector<std::pair<Sint, Sint>> pairs;
    for (Sint s : shape_of(u)) pairs.emplace_back(0, s);
    pairs[0] = {turn, Sint(turn) + 1};
    return shrink(u, pairs).reduce(turn, Op::ADD);
  }

  UOp shard_tensor(UOp u) {
    Shape shape = shape_of(u);
    for (size_t axis = 0; axis < shape.size(); axis++)
      if (shape[axis].is_int() && shape[axis].as_int() > Int(0) &&
          shape[axis].as_int().low_64_bits() % int64_t(device_names_.size()) == 0)
        return multi(shard(u, int64_t(axis)), int64_t(axis));
    return u;
  }
  UOp place_on_one_device(UOp u) {
    if (!is_on_many_devices(u)) return copy_to(u, graph_.str("CPU:1"));
    if (axis_of(u)) return copy_to(u, one_device());
    UOp part = mselect(u, int64_t(random_.random_below(device_names_.size())));
    return random_.one_in(2) ? part : copy_to(part, one_device());
  }
  UOp apply_custom_kernel(UOp u) {
    return u.after(graph_.node(Op::CUSTOM_KERNEL, dtypes::void_, {u, contiguous(u)}));
  }
  UOp allreduce_tensor(UOp u) {
    if (!is_on_many_devices(u)) return shard_tensor(copy_to(u, several_devices()));
    return allreduce(u, random_.one_in(2) ? Op::ADD : Op::MAX, make_device_node(graph_, device_of(u)));
  }

  Graph& graph_;
  RandomSource& random_;
  std::vector<const char*> device_names_;
  std::string file_device_;
  UOp variable_size_;  // a variable that has a value (BIND), for shapes
  std::vector<UOp> tensors_, outputs_;
  int64_t next_unique_number_ = 1;
};

}  // namespace

UOp random_tensor_graph(Graph& graph, RandomSource& chance) { return TensorGraphMaker(graph, chance).make_sink(); }

}  // namespace tgc
