// Makes the value of a tensor graph's node at one point. Movement ops change the point, reductions become loops.
#include <algorithm>

#include "lib/import/tensor_lowering.h"
#include "lib/support/deadline.h"
#include "lib/uop/exec_alu.h"

namespace tgc::import {

namespace {
constexpr OpSet kFloorOps{Op::FLOORDIV, Op::FLOORMOD, Op::CDIV, Op::CMOD, Op::RECIP};
constexpr int64_t kMostAffineSteps = 1 << 24;
constexpr OpSet kMoving = ops::Movement | OpSet{Op::UNSHARD, Op::MULTI};
constexpr OpSet kStages{Op::STAGE, Op::BUFFERIZE};
constexpr OpSet kSame{Op::DETACH, Op::CONTIGUOUS_BACKWARD};
}  // namespace

UOp TensorLowering::value(UOp u, const ElementPoint& p) {
  std::vector<uint32_t> key{u.id(), affine_math_.make_node(p.device).id(), p.valid ? p.valid.id() : UINT32_MAX};
  for (const AffineExpr& a : p.place) key.push_back(affine_math_.make_node(a).id());
  if (auto it = current_kernel_.known_scalars.find(key); it != current_kernel_.known_scalars.end()) return it->second;
  throw_if_late();
  const UOp outer = current_node;
  current_node = u;
  UOp made;
  if (auto it = value_arrays_.find(u); it != value_arrays_.end()) made = address(it->second, flat_index(u, p), p.valid);
  else made = make_value(u, p);
  current_node = outer;
  current_kernel_.known_scalars.emplace(std::move(key), made);
  return made;
}

TensorLowering::ElementPoint TensorLowering::source_point(UOp u, const ElementPoint& p, UOp& condition) {
  const Sizes& from = facts_.shape(u.src(0));
  ElementPoint out = p;
  switch (u.op()) {
    case Op::RESHAPE: out.place = place_before_reshape(p.place, facts_.shape(u), from); break;
    case Op::EXPAND:
      if (facts_.expands_front_axes()) out.place.keep_last_items(from.size());
      else
        for (size_t axis = 0; axis < from.size(); axis++)
          if (from[axis] == 1) out.place[axis] = {};
      break;
    case Op::PERMUTE:
      for (size_t axis = 0; axis < from.size(); axis++)
        out.place[import::axis(checked_integer(tuple_item(u.arg(), axis)), from.size())] = p.place[axis];
      break;
    case Op::FLIP:
      for (size_t axis = 0; axis < from.size(); axis++) {
        const Arg flag = tuple_item(u.arg(), axis);
        const bool flips = flag.kind() == Arg::Kind::Bool && flag.as_bool();
        if (flips)
          out.place[axis] = AffineMath::add_number(AffineMath::scale_affine(p.place[axis], -1), from[axis] - 1);
      }
      break;
    case Op::SHRINK: case Op::PAD: {
      const auto offsets = facts_.index_offsets(u);
      for (size_t axis = 0; axis < from.size(); axis++) {
        const int64_t wider = std::max(from[axis], facts_.shape(u)[axis]);
        AffineExpr offset = affine_value(offsets.at(axis), {.device = p.device}, wider);
        if (u.is(Op::PAD)) offset = AffineMath::scale_affine(offset, -1);
        AffineExpr moved = AffineMath::sum(p.place[axis], offset);
        if (u.is(Op::PAD)) condition = logical_and(condition, affine_math_.between_condition(moved, 0, from[axis]));
        if (u.is(Op::PAD) && padded_axes_) padded_axes_->emplace_back(moved, from[axis]);
        out.place[axis] = AffineMath::narrow_bounds(std::move(moved), from[axis]);
      }
      out.valid = logical_and(p.valid, condition);
      break;
    }
    default: {  // UNSHARD and MULTI
      const size_t axis =
          import::axis(checked_integer(u.arg().is_int() ? u.arg() : tuple_item(u.arg(), 0)), from.size());
      out.device = affine_math_.quotient(p.place[axis], from[axis]);
      out.place[axis] = affine_math_.remainder(p.place[axis], from[axis]);
    }
  }
  return out;
}

// Splits the axes of both sides into the smallest groups with equal numbers of elements, so that few divisions are
// needed.
TensorLowering::AxisIndices TensorLowering::place_before_reshape(const AxisIndices& place, const Sizes& to,
                                                                 const Sizes& from) {
  AxisIndices out(from.size());
  if (product(from) == 0) return out;
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    const size_t first = j;
    AffineExpr index;
    int64_t outer = 1, inner = 1;
    do {
      if (i < to.size() && (outer <= inner || j == from.size())) {
        index = AffineMath::sum(AffineMath::scale_affine(index, to[i]), place[i]);
        outer = checked_mul(outer, to[i++]);
      } else {
        inner = checked_mul(inner, from[j++]);
      }
    } while (outer != inner && (i < to.size() || j < from.size()));
    for (size_t axis = j; axis-- > first;) {
      out[axis] =
          axis == first ? AffineMath::narrow_bounds(index, from[axis]) : affine_math_.remainder(index, from[axis]);
      if (axis > first) index = affine_math_.quotient(index, from[axis]);
    }
  }
  return out;
}

AffineExpr TensorLowering::affine_value(UOp u, const ElementPoint& p, int64_t size) {
  if (++num_affine_steps_ > kMostAffineSteps) throw Refusal{"its indices are too large"};
  if (auto n = facts_.integer_value(u)) return AffineExpr::number(*n);
  if (is_device_number(u)) return p.device;
  if (u.is(Op::ADD)) return AffineMath::sum(affine_value(u.src(0), p, size), affine_value(u.src(1), p, size));
  if (u.is(Op::MUL))
    for (size_t i : {0, 1})
      if (auto n = facts_.integer_value(u.src(i)))
        return AffineMath::scale_affine(affine_value(u.src(1 - i), p, size), *n);
  if (u.is(Op::RANGE))
    if (auto n = facts_.integer_value(u.src(0)))
      return affine_math_.index(value(u, p), 0, std::max<int64_t>(*n - 1, 0));
  return affine_math_.index(value(u, p), 0, std::max<int64_t>(size - 1, 1));
}

AffineExpr TensorLowering::flat_index(UOp u, const ElementPoint& p) {
  const Sizes& shape = facts_.shape(u);
  AffineExpr index = facts_.num_devices(u) > 1 ? p.device : AffineExpr();
  for (size_t axis = 0; axis < shape.size(); axis++)
    index = AffineMath::sum(AffineMath::scale_affine(index, shape[axis]), p.place[axis]);
  return index;
}

UOp TensorLowering::value_of_operands(UOp u, const ElementPoint& p) {
  std::vector<UOp> src;
  for (UOp s : u.src()) {
    const Sizes& shape = facts_.shape(s);
    ElementPoint q = p;
    q.place.keep_last_items(shape.size());
    for (size_t axis = 0; axis < shape.size(); axis++)
      if (shape[axis] == 1) q.place[axis] = {};
    src.push_back(value(s, q));
  }
  return graph_.node(u.op(), u.dtype(), src, u.arg());
}

// Computes a sum of equal numbers, of which a PAD makes some 0, as number * count without a loop: tinygrad writes
// arange(n) as n such sums of n numbers. Returns the empty UOp for other reductions and for short sums. `p` is the
// point of the source.
UOp TensorLowering::sum_of_equal_numbers(UOp u, const ElementPoint& p, const std::vector<int64_t>& axes) {
  constexpr int64_t kMinSummands = 64;
  const Sizes& from = facts_.shape(u.src(0));
  int64_t n = 1;
  for (int64_t axis : axes) n *= from[size_t(axis)];
  if (u.num_src() != 1 || axes.size() != 1 || n < kMinSummands || facts_.reduced_op(u) != Op::ADD) return {};
  ElementPoint q = p;
  std::vector<UOp> loops;
  q.place[size_t(axes[0])] = make_loop(n, loops);
  std::vector<std::pair<AffineExpr, int64_t>> bounds;
  UOp x = u.src(0), ignored;
  padded_axes_ = &bounds;
  for (; x.in(ops::Movement); x = x.src(0)) q = source_point(x, q, ignored);
  padded_axes_ = nullptr;
  if (!x.is_const() || x.is_invalid()) return {};
  auto less = [&](const AffineExpr& a, UOp b) { return affine_math_.make_node(a).alu(Op::CMPLT, b); };
  UOp condition, begin = graph_.constant(dtypes::index, 0), end = graph_.constant(dtypes::index, n);
  for (auto& [index, size] : bounds) {
    int64_t factor = 0;
    for (auto& [node, f] : index.terms)
      if (node == loops[0]) factor = f;
      else if (std::ranges::count(toposort(node), loops[0])) return {};
    if (factor < -1 || factor > 1) return {};
    if (factor == 0) {
      condition = logical_and(condition, affine_math_.between_condition(index, 0, size));
      continue;
    }
    // restrict begin..end to the iterations with 0 <= rest + factor * loop < size
    const AffineExpr rest =
        AffineMath::sum(index, AffineMath::scale_affine(affine_math_.index(loops[0], 0, n - 1), -factor));
    const AffineExpr first = factor > 0 ? AffineMath::scale_affine(rest, -1) : AffineMath::add_number(rest, 1 - size);
    const AffineExpr last = AffineMath::add_number(first, size);
    begin = less(first, begin).where(begin, affine_math_.make_node(first));
    end = less(last, end).where(affine_math_.make_node(last), end);
  }
  UOp difference = end.alu(Op::ADD, begin.alu(Op::MUL, graph_.constant(dtypes::index, -1)));
  UOp count = begin.alu(Op::CMPLT, end).where(difference, graph_.constant(dtypes::index, 0));
  UOp number = graph_.node(Op::CAST, u.dtype(), count);
  UOp sum = number.alu(Op::MUL, value(x, q));
  if (!condition) return sum;
  return condition.where(sum, graph_.node(Op::CONST, u.dtype(), {}, 0));
}

UOp TensorLowering::value_of_reduce(UOp u, const ElementPoint& p) {
  const auto axes = facts_.reduced_axes(u);
  const Sizes& from = facts_.shape(u.src(0));
  ElementPoint q = p;
  if (facts_.drops_axes(u)) q.place.insert(q.place.begin(), axes.size(), AffineExpr());
  std::vector<UOp> loops;
  for (int64_t axis : axes)
    if (from[size_t(axis)] == 0) {
      return graph_.constant(u.dtype(), identity_element(facts_.reduced_op(u), u.dtype()));
    }
  if (UOp count = sum_of_equal_numbers(u, q, axes)) return count;
  for (int64_t axis : axes) q.place[size_t(axis)] = make_loop(from[size_t(axis)], loops);
  for (UOp s : sources_from(u, 1)) {
    if (auto n = facts_.integer_value(s.is(Op::RANGE) ? s.src(0) : s); n && !s.is(Op::RANGE)) continue;
    loops.push_back(value(s, {}));
  }
  UOp x = value(u.src(0), q);
  return loops.empty() ? x : graph_.node(Op::REDUCE, u.dtype(), prepend(x, loops), facts_.reduced_op(u));
}

UOp TensorLowering::choose_value(UOp u, const AffineExpr& index, const CheckedList<UOp>& values) {
  UOp out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    UOp here = affine_math_.make_node(index).alu(Op::CMPLT, graph_.constant(dtypes::index, int64_t(i) + 1));
    out = graph_.node(Op::WHERE, u.dtype(), {here, values[i], out});
  }
  return out;
}

UOp TensorLowering::value_of_index(UOp u, const ElementPoint& p) {
  const Sizes& from = facts_.shape(u.src(0));
  ElementPoint q{.device = p.device, .valid = p.valid};
  size_t next = 0;
  for (size_t i = 1; i < u.num_src(); i++) {
    const size_t rank = facts_.shape(u.src(i)).size();
    q.place.push_back(affine_value(u.src(i), {p.place.subrange(next, rank), p.device, p.valid}, from[i - 1]));
    next += rank;
  }
  q.place.append(p.place.subrange(next, p.place.size() - next));
  return value(u.src(0), q);
}

UOp TensorLowering::make_value(UOp u, const ElementPoint& p) {
  if (auto n = u.is_const() ? std::nullopt : facts_.integer_value(u)) return graph_.node(Op::CONST, u.dtype(), {}, *n);
  if (u.in(kMoving)) {
    UOp condition;
    UOp x = value(u.src(0), source_point(u, p, condition));
    if (!condition) return x;
    return graph_.node(Op::WHERE, u.dtype(), {condition, x, graph_.node(Op::CONST, u.dtype(), {}, 0)});
  }
  if (is_device_number(u)) return affine_math_.make_node(p.device);
  if (is_memory(u)) return address(memory_of_buffer(u), flat_index(u, p), p.valid);
  if (u.in(ops::ALU | kFloorOps | OpSet{Op::CAST})) return value_of_operands(u, p);
  switch (u.op()) {
    case Op::CONST:
      if (u.is_invalid() && invalid_number_ && can_be_stored(u.dtype().scalar())) {
        program_.has_invalid = true;
        return graph_.constant(u.dtype().scalar(), int64_t(*invalid_number_));
      }
      return graph_.node(Op::CONST, u.dtype().scalar(), {}, u.arg());
    case Op::AFTER: case Op::ASSIGN:
      if (invalid_number_ && invalid_states_.contains(u)) {
        program_.has_invalid = true;
        return graph_.constant(u.dtype().base(), int64_t(*invalid_number_));
      }
      if (auto it = buffer_memories_.find(u); it != buffer_memories_.end()) {
        UOp valid = p.valid;
        const AffineExpr index = index_in_buffer(u.src(0), p, valid);
        return address(array_as_dtype(it->second, u.dtype().base()), index, valid);
      }
      return value(u.src(0), p);
    case Op::BITCAST: {
      if (u.dtype().itemsize() == u.src(0).dtype().itemsize()) return value_of_operands(u, p);
      throw Refusal{"it is a bitcast to a dtype of another size of a value that is not stored"};
    }
    case Op::REDUCE: case Op::REDUCE_AXIS: return value_of_reduce(u, p);
    case Op::STACK: {
      CheckedList<UOp> values;
      ElementPoint q = p;
      q.place.drop_first_items(1);
      if (p.place[0].is_number()) return value(u.src(size_t(p.place[0].constant)), q);
      for (UOp s : u.src()) values.push_back(value(s, q));
      return choose_value(u, p.place[0], values);
    }
    case Op::MSTACK: {
      if (p.device.is_number()) return value(u.src(size_t(p.device.constant)), p);
      CheckedList<UOp> values;
      for (UOp s : u.src()) values.push_back(value(s, p));
      return choose_value(u, p.device, values);
    }
    case Op::MSELECT: {
      ElementPoint q = p;
      q.device = AffineExpr::number(int64_t(axis(checked_integer(u.arg()), size_t(facts_.num_devices(u.src(0))))));
      return value(u.src(0), q);
    }
    case Op::ALLREDUCE: {
      UOp sum;
      ElementPoint q = p;
      for (int64_t d = 0; d < facts_.num_devices(u.src(0)); d++) {
        q.device = AffineExpr::number(d);
        UOp x = value(u.src(0), q);
        sum = sum ? graph_.node(facts_.reduced_op(u), u.dtype(), {sum, x}) : x;
      }
      return sum;
    }
    case Op::COPY: {
      ElementPoint q = p;
      if (facts_.num_devices(u) == 1) q.device = {};  // a value on several devices is copied from the first one
      return value(u.src(0), q);
    }
    case Op::CONTIGUOUS: case Op::CONTIGUOUS_BACKWARD: case Op::DETACH: case Op::NOOP: case Op::LOAD:
      if (u.num_src() > 1 && u.is(Op::LOAD)) break;
      return value(u.src(0), p);
    case Op::INDEX: return value_of_index(u, p);
    case Op::RANGE: {
      auto size = facts_.integer_value(u.src(0));
      if (!size) throw Refusal{"its size is not known"};
      return graph_.node(Op::RANGE, dtypes::index, graph_.constant(dtypes::index, *size), u.arg());
    }
    default: break;
  }
  throw Refusal{u.is(Op::OTHER) ? unknown_op_reason(u) : "it has no value in a tensor graph that can be computed"};
}

// If the source of the CONTIGUOUS `u` is a contiguous part of a buffer on one device, `u` is no copy, and a store to it
// changes the buffer (0.14: tensor.py:pm_early_transform_tensor_graph).
void TensorLowering::note_view(UOp u) {
  UOp below = u.src(0);
  const bool is_after = below.is(Op::AFTER);
  if (is_after) below = below.src(0);
  while (below.in(is_after ? kSame | OpSet{Op::RESHAPE} : kMoving | kSame | OpSet{Op::BITCAST}) && below.num_src())
    below = below.src(0);
  if (!is_memory(below) || facts_.num_devices(u) > 1) return;
  ElementPoint p;
  std::vector<UOp> loops;
  for (int64_t size : facts_.shape(u)) p.place.push_back(make_loop(size, loops));
  UOp valid;
  const AffineExpr place = index_in_buffer(u.src(0), p, valid);
  const AffineExpr distance = AffineMath::sum(place, AffineMath::scale_affine(flat_index(u, p), -1));
  if (!valid && distance.is_number()) buffer_views_.insert(u);
  current_kernel_ = {};
}

UOp TensorLowering::view_base(UOp target) const {
  constexpr OpSet kBelow = kMoving | OpSet{Op::AFTER, Op::INDEX, Op::ASSIGN, Op::MSELECT, Op::NOOP};
  UOp expanded;
  while ((target.in(kBelow | kSame | OpSet{Op::BITCAST}) || buffer_views_.contains(target)) && target.num_src()) {
    if (target.is(Op::BITCAST) && !is_memory(view_base(target.src(0)))) break;
    if (target.is(Op::EXPAND) && !expanded) expanded = target;
    target = target.src(0);
  }
  return expanded && !is_memory(target) ? expanded : target;  // a store to an EXPAND of a value needs all its elements
}

// A store to a STAGE of a buffer changes the buffer, because a scheduler removes such a STAGE
// (schedule/rangeify.py:remove_bufferize). Other reads of the STAGE have the content before the store.
void TensorLowering::note_stage_of_target(UOp target) {
  while (target.in(kMoving | OpSet{Op::INDEX, Op::NOOP}) && target.num_src()) target = target.src(0);
  if (target.in(kStages) && is_memory(view_base(target.src(0)))) buffer_views_.insert(target);
}

// Returns the index into the buffer below `stage` for the point `p` of the STAGE. Indices of `p` replace the ranges.
AffineExpr TensorLowering::index_in_stage(UOp stage, const ElementPoint& p) {
  const auto ranges = sources_from(stage, 1);
  UOp condition;
  ElementPoint q{
      .place = p.place.subrange(ranges.size(), p.place.size() - ranges.size()), .device = p.device, .valid = p.valid};
  const AffineExpr held = index_in_buffer(stage.src(0), q, condition);
  if (condition) throw Refusal{"it stores to a part of a STAGE"};
  std::unordered_map<UOp, AffineExpr> indices;
  for (size_t i = 0; i < ranges.size(); i++)
    if (ranges[i].is(Op::RANGE)) indices[value(ranges[i], {})] = p.place[i];
  AffineExpr out = AffineExpr::number(held.constant);
  for (auto& [node, factor] : held.terms) {
    auto index = indices.find(node);
    const bool is_loop_of_stage = std::ranges::any_of(toposort(node), [&](UOp u) { return indices.contains(u); });
    if (index == indices.end() && is_loop_of_stage) throw Refusal{"it stores to a STAGE whose places are not linear"};
    const int64_t size = std::max<int64_t>(held.max_value - held.min_value, 1);
    const AffineExpr term = index == indices.end() ? affine_math_.index(node, 0, size) : index->second;
    out = AffineMath::sum(out, AffineMath::scale_affine(term, factor));
  }
  return out;
}

// Counts the index in elements of the dtype of `target`. Adds the condition that the element exists to `valid`.
AffineExpr TensorLowering::index_in_buffer(UOp target, const ElementPoint& p, UOp& valid) {
  if (target.is(Op::BITCAST) && is_memory(view_base(target))) {
    const int64_t from = target.src(0).dtype().base().itemsize(), to = target.dtype().base().itemsize();
    ElementPoint q = p;
    if (from == to || p.place.empty()) return index_in_buffer(target.src(0), q, valid);
    if (from > to) {  // the BITCAST splits each element
      q.place.back() = affine_math_.quotient(p.place.back(), from / to);
      const AffineExpr first = AffineMath::scale_affine(index_in_buffer(target.src(0), q, valid), from / to);
      return AffineMath::sum(first, affine_math_.remainder(p.place.back(), from / to));
    }
    q.place.back() = AffineMath::scale_affine(p.place.back(), to / from);
    const AffineExpr first = index_in_buffer(target.src(0), q, valid), rest = affine_math_.remainder(first, to / from);
    if (!rest.is_number() || rest.constant) throw Refusal{"it is a part of a buffer that is not aligned to its dtype"};
    return affine_math_.quotient(first, to / from);
  }
  if (buffer_views_.contains(target) && target.in(kStages)) return index_in_stage(target, p);
  if (buffer_views_.contains(target) || (target.in(kSame) && is_memory(view_base(target))))
    return index_in_buffer(target.src(0), p, valid);
  if (is_memory(target) || value_arrays_.contains(target)) return flat_index(target, p);
  if (target.in(kSame | OpSet{Op::AFTER, Op::ASSIGN, Op::NOOP})) return index_in_buffer(target.src(0), p, valid);
  if (target.is(Op::INDEX)) {
    ElementPoint q{.device = p.device, .valid = p.valid};
    size_t next = 0;
    const Sizes& from = facts_.shape(target.src(0));
    for (size_t i = 1; i < target.num_src(); i++) {
      const size_t rank = facts_.shape(target.src(i)).size();
      q.place.push_back(affine_value(target.src(i), {p.place.subrange(next, rank), p.device, p.valid}, from[i - 1]));
      next += rank;
    }
    q.place.append(p.place.subrange(next, p.place.size() - next));
    return index_in_buffer(target.src(0), q, valid);
  }
  if (target.is(Op::MSELECT)) {
    ElementPoint q = p;
    q.device =
        AffineExpr::number(int64_t(axis(checked_integer(target.arg()), size_t(facts_.num_devices(target.src(0))))));
    return index_in_buffer(target.src(0), q, valid);
  }
  if (!target.in(kMoving)) throw Refusal{"it is ordered after a store to no buffer"};
  UOp condition;
  ElementPoint q = source_point(target, p, condition);
  valid = logical_and(valid, condition);
  return index_in_buffer(target.src(0), q, valid);
}

}  // namespace tgc::import
