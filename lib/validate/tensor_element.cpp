#include "lib/validate/tensor_element.h"

#include <algorithm>
#include <utility>

#include "lib/uop/facts.h"

namespace tgc {
namespace {

constexpr int64_t kFirstAxis = 1 << 22;         // number of the axis of the first added loop
constexpr int64_t kFirstMemory = 2'000'000;     // number of the first added DEFINE_GLOBAL
constexpr int64_t kMostElements = 1 << 16;      // most elements of an added memory
constexpr int kMostLevels = 200;                // most levels of an expression
constexpr int kMostWork = 4000;                 // most nodes of both sides
constexpr OpSet kIdentityOps = {Op::CONTIGUOUS, Op::CONTIGUOUS_BACKWARD, Op::DETACH, Op::COPY};

UOp zero_like(UOp u) { return u.graph().constant(u.dtype(), Const(int64_t(0))); }

Shape shape_or_empty(UOp u) {
  auto shape = shape_or_none(u);
  return shape ? *shape : Shape();
}

bool is_size_one(Sint size) { return size.is_int() && size.as_int() == Int(1); }

}  // namespace

RewriteSides TensorElementExpr::make_element_sides(UOp before, UOp after) {
  if (before == after || before.dtype().is(Scalar::Void) || before.dtype().is(Scalar::Index)) return {before, after};
  auto both = catch_failures([&]() -> RewriteSides {
    Shape shape = shape_or_empty(before);
    if (shape.size() != shape_or_empty(after).size()) return {};
    Position place = make_position(shape);
    num_work_steps_ = 0, is_too_large_ = false;
    RewriteSides out{element_expr(before, place), element_expr(after, place)};
    // if the expressions are too large, retry with the node `before` as a memory from which `after` may load
    if (is_too_large_) {
      auto all = std::exchange(known_elements_, {});
      whole_node_ = without_tags(before), num_work_steps_ = 0, is_too_large_ = false;
      out = {element_expr(before, place), element_expr(after, place)};
      whole_node_ = UOp(), known_elements_ = std::move(all);
    }
    return out.before && out.after && !is_too_large_ ? out : RewriteSides{};
  });
  if (!both || !both->before) return {before, after};
  return std::ranges::includes(memories_in(both->before), memories_in(both->after)) ? *both : RewriteSides{};
}

bool TensorElementExpr::are_equal_except_places(UOp before, UOp after) {
  bool is_padded = before.is(Op::PAD) && after.is(Op::WHERE) && after.src(2).is_const() &&
                   after.src(2).arg() == zero_like(after).arg();
  return node_without_places(before) == node_without_places(is_padded ? after.src(1) : after);
}

UOp TensorElementExpr::make_range(UOp size, int64_t number) {
  const Arg arg[] = {kFirstAxis + number, AxisType::LOOP};
  return graph_.range(size, arg);
}

// Returns the position of an element in new loops, which tensors of equal shape share.
TensorElementExpr::Position TensorElementExpr::make_position(Shape shape) {
  Position out;
  for (Sint size : shape)
    out.push_back(is_size_one(size) ? graph_.constant(dtypes::index, Const(int64_t(0)))
                               : make_range(to_uop(size, graph_), int64_t(out.size())));
  return out;
}

UOp TensorElementExpr::flat_index(Shape shape, const Position& place) {
  UOp out;
  for (size_t i = 0; i < shape.size(); i++)
    if (!is_size_one(shape[i])) out = out ? out * to_uop(shape[i], graph_) + place[i] : place[i];
  return out ? out : graph_.constant(dtypes::index, Const(int64_t(0)));
}

UOp TensorElementExpr::element_expr(UOp u, const Position& place) {
  std::vector<uint32_t> key{u.id()};
  for (UOp index : place) key.push_back(index.id());
  if (auto it = known_elements_.find(key); it != known_elements_.end()) return it->second;
  if (whole_node_ && without_tags(u) == whole_node_) return make_memory_load(u, place);
  is_too_large_ |= recursion_depth_ >= kMostLevels || num_work_steps_++ >= kMostWork;
  if (is_too_large_) return {};
  recursion_depth_++;
  UOp out = make_element(u, place);
  recursion_depth_--;
  return is_too_large_ ? UOp() : known_elements_[std::move(key)] = out;
}

// Returns `u` with its sources at the position `place`. A source without a shape is the same at every position.
UOp TensorElementExpr::element_in_loops(UOp u, const Position& place) {
  std::vector<UOp> src;
  for (UOp s : u.src()) {
    Shape shape = shape_or_empty(s);
    if (!shape.empty() && shape.size() != place.size()) return make_memory_load(u, place);
    src.push_back(element_expr(s, shape.empty() ? Position() : place));
    if (!src.back()) return {};
  }
  return graph_.node(u.op(), u.dtype(), src, u.arg());
}

UOp TensorElementExpr::make_element(UOp u, const Position& place) {
  if (u.in(ops::Movement)) return element_of_movement(u, place);
  if (u.in(kIdentityOps)) return element_expr(u.src(0), place);
  if (u.in(ops::ALU) || u.is(Op::CAST)) return element_in_loops(u, place);
  switch (u.op()) {
    case Op::CONST: return graph_.node(Op::CONST, u.dtype(), {}, u.arg());
    case Op::BITCAST:
      if (u.dtype().itemsize() == u.src(0).dtype().itemsize()) return element_in_loops(u, place);
      break;
    case Op::REDUCE_AXIS: return element_of_reduce(u, place);
    case Op::BUFFERIZE: {
      UOp value = element_expr(u.src(0), {});
      if (!value || place.size() + 1 != u.num_src()) return {};
      Substitution loops;
      for (size_t i = 0; i < place.size(); i++)
        if (!solve_for_loops(loops, u.src(i + 1), place[i])) return {};
      return substitute(value, loops);
    }
    case Op::INDEX: {
      auto shape = u.src(0).dtype().is_ptr() ? std::nullopt : shape_or_none(u.src(0));
      if (!shape || shape->size() + 1 != u.num_src() || !place.empty()) break;
      Position inner;
      for (UOp s : u.src().subspan(1)) inner.push_back(element_expr(s, {}));
      return std::ranges::all_of(inner, [](UOp i) { return bool(i); }) ? element_expr(u.src(0), inner) : UOp();
    }
    case Op::RANGE:
    case Op::REDUCE:
    case Op::BIND:
    case Op::DEFINE_VAR:
      if (place.empty()) return element_in_loops(u, place);
      break;
    default: break;
  }
  return make_memory_load(u, place);
}

// Solves index == value for the loops in `index`, and adds each loop with its value to `to`. Returns false if it
// cannot.
bool TensorElementExpr::solve_for_loops(Substitution& to, UOp index, UOp value) {
  if (index.is(Op::RANGE)) {
    to.emplace_back(element_expr(index, {}), value);
    return !is_too_large_;
  }
  std::vector<std::pair<Int, UOp>> loops;
  for (UOp loop : ranges_of(index)) {
    Substitution at_one;
    for (UOp other : ranges_of(index)) at_one.emplace_back(other, other.const_like(Const(int64_t(other == loop))));
    loops.emplace_back(substitute(index, at_one).vmax().to_int(), loop);
  }
  std::ranges::sort(loops, {}, &std::pair<Int, UOp>::first);
  Int inside = 1;
  for (size_t i = 0; i < loops.size(); i++) {
    auto [step, loop] = loops[i];
    if (step != inside) return false;
    inside = inside * (loop.vmax().to_int() + Int(1));
    bool is_last = i + 1 == loops.size();
    to.emplace_back(element_expr(loop, {}), is_last ? value : value % loop.src(0));
    if (!is_last) value = value / loop.src(0);
  }
  return !is_too_large_;
}

UOp TensorElementExpr::element_of_movement(UOp u, const Position& place) {
  UOp from = u.src(0);
  Position inner(shape_of(from).size());
  switch (u.op()) {
    case Op::RESHAPE: return element_of_reshape(u, place);
    case Op::PAD: return element_of_pad(u, place);
    case Op::EXPAND:
      for (size_t i = 0; i < inner.size(); i++)
        inner[i] = is_size_one(shape_of(from)[i]) ? zero_like(place[i]) : place[i];
      break;
    case Op::PERMUTE:
      for (size_t i = 0; i < inner.size(); i++) inner[size_t(u.arg()[i].small_int())] = place[i];
      break;
    case Op::SHRINK: {
      auto pairs = marg_pairs(u);
      for (size_t i = 0; i < inner.size(); i++) inner[i] = place[i] + to_uop(pairs[i].first, graph_);
      break;
    }
    case Op::FLIP:
      for (size_t i = 0; i < inner.size(); i++) {
        bool flips = u.arg()[i].to_const().to_int() != Int(0);
        inner[i] = flips ? to_uop(shape_of(from)[i], graph_) - Const(int64_t(1)) - place[i] : place[i];
      }
      break;
    default: return {};
  }
  return element_expr(from, inner);
}

UOp TensorElementExpr::element_of_reshape(UOp u, const Position& place) {
  Shape to = shape_of(u), from = shape_of(u.src(0));
  UOp rest = flat_index(to, place);
  Position inner(from.size());
  size_t first = 0;
  while (first < from.size() && is_size_one(from[first])) first++;
  for (size_t i = from.size(); i-- > 0;) {
    UOp size = to_uop(from[i], graph_);
    inner[i] = is_size_one(from[i]) ? zero_like(rest) : i == first ? rest : rest % size;
    if (!is_size_one(from[i]) && i != first) rest = rest / size;
  }
  return element_expr(u.src(0), inner);
}

UOp TensorElementExpr::element_of_pad(UOp u, const Position& place) {
  Shape from = shape_of(u.src(0));
  auto pairs = marg_pairs(u);
  Position inner;
  UOp valid;
  for (size_t i = 0; i < from.size(); i++) {
    UOp before = to_uop(pairs[i].first, graph_), index = place[i] - before;
    inner.push_back(index);
    if (pairs[i].first == Sint(0) && pairs[i].second == Sint(0)) continue;
    UOp is_there = index.ge(zero_like(index)).alu(Op::AND, index.lt(to_uop(from[i], graph_)));
    valid = valid ? valid.alu(Op::AND, is_there) : is_there;
  }
  UOp value = element_expr(u.src(0), inner);
  return value && valid ? valid.where(value, zero_like(value)) : value;
}

UOp TensorElementExpr::element_of_reduce(UOp u, const Position& place) {
  Shape from = shape_of(u.src(0));
  Position inner = place;
  std::vector<UOp> src{UOp()};
  for (Arg axis : u.arg()[1].items()) {
    size_t i = size_t(axis.small_int());
    inner[i] = zero_like(place[i]);
    if (is_size_one(from[i])) continue;
    inner[i] = make_range(to_uop(from[i], graph_), 1000 + num_loops_++);
    src.push_back(inner[i]);
  }
  src[0] = element_expr(u.src(0), inner);
  if (!src[0] || src.size() == 1) return src[0];
  return graph_.node(Op::REDUCE, u.dtype(), src, u.arg()[0]);
}

UOp TensorElementExpr::make_memory_load(UOp u, const Position& place) {
  auto shape = shape_or_none(u);
  if (!shape || shape->size() != place.size() || !u.dtype().is_value() || u.dtype().is(Scalar::Index)) return {};
  UOp& define = memories_[without_tags(u)];
  if (!define) {
    Int size = size_of(u);
    int64_t elements = size < Int(kMostElements) ? std::max<int64_t>(1, size.low_64_bits()) : kMostElements;
    int64_t number = kFirstMemory + int64_t(memories_.size());
    define = graph_.node(Op::DEFINE_GLOBAL, u.dtype().ptr(elements), {}, Arg(number));
  }
  return define.index(flat_index(*shape, place));
}

// Returns the node without tags, and without the indices at which it reads its sources.
UOp TensorElementExpr::node_without_places(UOp root) {
  constexpr OpSet kPlaced = ops::Movement | kIdentityOps | OpSet{Op::INDEX, Op::BUFFERIZE, Op::END};
  for (UOp u : toposort(root)) {
    if (placeless_nodes_.contains(u)) continue;
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(placeless_nodes_.at(s));
    bool is_reduction = u.in({Op::REDUCE_AXIS, Op::REDUCE});
    if (u.in({Op::CONST, Op::DEFINE_VAR})) src.clear();
    if (is_reduction) src.resize(1);
    if (u.is(Op::ASSIGN)) src.resize(2);  // drop the third source: the target again
    Arg arg = u.is(Op::REDUCE_AXIS) ? u.arg()[0] : u.arg();
    placeless_nodes_[u] = u.in(kPlaced) ? src[0] : graph_.node(is_reduction ? Op::REDUCE : u.op(), u.dtype(), src, arg);
  }
  return placeless_nodes_.at(root);
}

std::vector<uint32_t> TensorElementExpr::memories_in(UOp expression) {
  std::vector<uint32_t> out;
  for (UOp u : toposort(expression))
    if (u.is(Op::DEFINE_GLOBAL)) out.push_back(u.id());
  std::ranges::sort(out);
  return out;
}

UOp TensorElementExpr::without_tags(UOp root) {
  if (auto it = untagged_nodes_.find(root); it != untagged_nodes_.end()) return it->second;
  for (UOp u : toposort(root)) {
    if (untagged_nodes_.contains(u)) continue;
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(untagged_nodes_.at(s));
    untagged_nodes_[u] = graph_.node(u.op(), u.dtype(), src, u.arg());
  }
  return untagged_nodes_.at(root);
}

}  // namespace tgc
