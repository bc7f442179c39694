#include "lib/uop/movement.h"

#include <algorithm>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// Returns `sizes` as one node: a (vector) constant if all sizes are integers, else, or if there are none, a VECTORIZE.
UOp make_size_node(Graph& graph, std::span<const Sint> sizes) {
  DType dtype = dtypes::index.vec(int64_t(sizes.size()));
  if (sizes.empty()) return graph.node(Op::VECTORIZE, dtype);
  if (std::all_of(sizes.begin(), sizes.end(), [](Sint s) { return s.is_int(); })) {
    std::vector<Const> values;
    for (Sint s : sizes) values.push_back(s.as_int());
    return graph.constant(dtype, values);
  }
  std::vector<UOp> src;
  for (Sint s : sizes) src.push_back(s.is_int() ? graph.constant(dtypes::index, s.as_int()) : s.uop());
  return graph.node(Op::VECTORIZE, dtype, src);
}

UOp make_movement(UOp u, Op op, std::vector<UOp> sizes) {
  Graph& graph = u.graph();
  bool symbolic = std::any_of(sizes.begin(), sizes.end(), [](UOp s) { return s.is(Op::VECTORIZE) && s.num_src() > 0; });
  std::vector<UOp> src{u};
  if (symbolic) {
    UOp simple = graph.sink(sizes).simplify();
    src.insert(src.end(), simple.src().begin(), simple.src().end());
  } else {
    src.insert(src.end(), sizes.begin(), sizes.end());
  }
  UOp out = graph.node(op, u.dtype(), src);
  shape_of(out);  // throws Failure if the argument does not fit the operand
  return out;
}

}  // namespace

UOp make_shape_movement(UOp u, Op op, Shape sizes) { return make_movement(u, op, {make_size_node(u.graph(), sizes)}); }

UOp make_pairs_movement(UOp u, Op op, SintPairs pairs) {
  ShapeVec first, second;
  for (auto [a, b] : pairs) {
    first.push_back(a);
    second.push_back(b);
  }
  return make_movement(u, op, {make_size_node(u.graph(), first), make_size_node(u.graph(), second)});
}

namespace {
UOp skip_same_shape(UOp moved, UOp u) { return is_same_shape(shape_of(moved), shape_of(u)) ? u : moved; }
}  // namespace

UOp force_reshape(UOp u, Shape shape) { return make_shape_movement(u, Op::RESHAPE, shape); }

UOp reshape(UOp u, Shape shape) {
  if (py_ne(prod(shape_of(u)), prod(shape)))
    throw Failure("size mismatch, can't reshape " + str(shape_of(u)) + " -> " + str(shape));
  return skip_same_shape(force_reshape(u, shape), u);
}

UOp expand(UOp u, Shape shape) {
  Shape from = shape_of(u);
  if (is_same_shape(from, shape)) return u;
  size_t rank = std::max(from.size(), shape.size());
  ShapeVec aligned(rank - from.size(), Sint(1)), to(rank - shape.size(), Sint(1));
  aligned.insert(aligned.end(), from.begin(), from.end());
  to.insert(to.end(), shape.begin(), shape.end());
  for (size_t i = 0; i < rank; i++) {
    if (to[i] == Sint(-1)) to[i] = aligned[i];
    if (!(aligned[i] == to[i]) && !(aligned[i] == Sint(1)))
      throw Failure("cannot broadcast " + str(from) + " to " + str(shape));
  }
  if (is_same_shape(from, to)) return u;
  UOp reshaped = reshape(u, aligned);
  return skip_same_shape(make_shape_movement(reshaped, Op::EXPAND, to), reshaped);
}

UOp permute(UOp u, std::span<const int64_t> order) {
  auto rank = int64_t(shape_of(u).size());
  std::vector<Arg> resolved;
  bool identity = int64_t(order.size()) == rank;
  for (size_t i = 0; i < order.size(); i++) {
    int64_t axis = order[i] < 0 ? order[i] + rank : order[i];
    identity &= axis == int64_t(i);
    resolved.push_back(axis);
  }
  if (identity) return u;
  UOp out = u.graph().node(Op::PERMUTE, u.dtype(), u, u.graph().tuple(resolved));
  shape_of(out);
  return out;
}

UOp pad(UOp u, SintPairs amounts) { return skip_same_shape(make_pairs_movement(u, Op::PAD, amounts), u); }
UOp shrink(UOp u, SintPairs bounds) { return skip_same_shape(make_pairs_movement(u, Op::SHRINK, bounds), u); }

UOp flip(UOp u, std::span<const bool> axes) {
  if (std::none_of(axes.begin(), axes.end(), [](bool b) { return b; })) return u;
  std::vector<Arg> items(axes.begin(), axes.end());
  UOp out = u.graph().node(Op::FLIP, u.dtype(), u, u.graph().tuple(items));
  shape_of(out);
  return out;
}

UOp expand_const(UOp constant, Shape shape) {
  if (shape.empty()) return constant;
  return expand(reshape(constant, ShapeVec(shape.size(), Sint(1))), shape);
}

UOp reduce_axis(UOp u, Op op, std::span<const int64_t> axes) {
  Shape shape = shape_of(u);
  std::vector<int64_t> kept;
  for (int64_t a : axes) {
    if (a < 0 || size_t(a) >= shape.size()) throw Failure("reduce axis " + std::to_string(a) + " of " + str(shape));
    if (resolve_ne(shape[size_t(a)], 1)) kept.push_back(a);
  }
  if (kept.empty()) return u;
  std::sort(kept.begin(), kept.end());
  Graph& graph = u.graph();
  return graph.node(Op::REDUCE_AXIS, u.dtype(), u, graph.tuple({op, graph.ints(kept)}));
}

}  // namespace tgc
