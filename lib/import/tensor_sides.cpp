#include <algorithm>
#include <set>

#include "lib/import/tensor_lowering.h"
#include "lib/text/repr.h"

namespace tgc::import {

namespace {

constexpr int64_t kMostElements = int64_t(1) << 22;
// Values of these ops may be any numbers of their dtype, so a rewrite above them must be right for all values.
constexpr OpSet kAnyValue{Op::REDUCE, Op::REDUCE_AXIS, Op::CONTIGUOUS, Op::AFTER, Op::COPY, Op::STAGE, Op::BUFFERIZE,
                          Op::ALLREDUCE, Op::MSTACK, Op::MSELECT};
constexpr OpSet kVoid{Op::STORE, Op::END, Op::CALL, Op::GROUP};

int64_t range_number(UOp range) {
  const Arg arg = range.arg();
  return arg.is_tuple() && arg.items().size() && arg[0].is_int() ? checked_integer(arg[0]) : 0;
}

}  // namespace

// Makes an input array for each common source of both sides whose op is in kAnyValue, unless the source has open loops,
// no shape, or a dtype that cannot be stored.
void TensorLowering::choose_inputs(UOp before, UOp after) {
  const auto own = toposort(before), other = toposort(after);
  UOpSet known(graph_);
  for (UOp u : own) known.insert(u);
  for (UOp u : other) {
    if (!known.contains(u) || u == before || u == after || !u.in(kAnyValue) || !facts_.has_shape(u)) continue;
    if (!can_be_stored(u.dtype()) || !facts_.loops_of_node(u).empty()) continue;
    value_arrays_[u] = new_memory(u.dtype(), product(facts_.shape(u)), facts_.num_devices(u));
    program_.memories[value_arrays_[u]].buffer = u;
  }
}

void TensorLowering::add_side(UOp side, const std::vector<UOp>& loops, int64_t devices) {
  current_node = side;
  const Sizes& shape = facts_.shape(side);
  // a weak number: the widest dtype of its kind
  DType dtype = side.dtype();
  if (!can_be_stored(dtype)) dtype = is_float_of_any_release(dtype) ? dtypes::float64 : dtypes::int64;
  Sizes dims;
  if (devices > 1) dims.push_back(devices);
  for (UOp r : loops) dims.push_back(facts_.integer_value(r.src(0)).value_or(0));
  dims.insert(dims.end(), shape.begin(), shape.end());
  if (product(dims) > kMostElements) throw Refusal{"it has too many elements"};
  const size_t memory = new_memory(dtype, product(dims), 1);
  std::vector<UOp> around;
  ElementPoint p;
  AxisIndices place;
  if (devices > 1) place.push_back(p.device = make_loop(devices, around));
  for (UOp r : loops) {
    UOp range = value(r, {});
    around.push_back(range);
    place.push_back(affine_math_.index(range, 0, std::max<int64_t>(dims[place.size()] - 1, 1)));
  }
  for (int64_t size : shape) {
    p.place.push_back(make_loop(size, around));
    place.push_back(p.place.back());
  }
  AffineExpr index;
  for (size_t axis = 0; axis < dims.size(); axis++)
    index = AffineMath::sum(AffineMath::scale_affine(index, dims[axis]), place[axis]);
  UOp x = value(side, p);
  if (!(side.dtype() == dtype)) x = graph_.node(Op::CAST, dtype, x);
  finish_kernel(graph_.node(Op::STORE, dtypes::void_, {address(memory, index, {}), x}), around);
  program_.outputs.push_back({memory, dims, {}});
}

TensorSidesProgram TensorLowering::lower_sides(UOp before, UOp after) {
  current_node = before;
  if (before.in({Op::PARAM, Op::BUFFER, Op::RANGE}) && after.op() == before.op())
    throw Refusal{"it is another name of a buffer or a loop"};
  if (before.in(kVoid) || after.in(kVoid)) {
    if (!before.in({Op::STORE, Op::END}) || !after.in({Op::STORE, Op::END})) throw Refusal{"it has no value"};
    auto ordered = [&](UOp u) {
      UOp store = u;
      while (store.is(Op::END)) store = store.src(0);
      UOp buffer = view_base(store.src(0));
      return is_memory(buffer) ? graph_.node(Op::AFTER, buffer.dtype(), {buffer, u}) : UOp();
    };
    UOp first = ordered(before), second = ordered(after);
    if (!first || !second || !(first.src(0) == second.src(0))) throw Refusal{"it stores to another buffer"};
    for (UOp u : toposort(before)) facts_.add_node(u);
    for (UOp u : toposort(after)) facts_.add_node(u);
    if (!facts_.loops_of_node(before).empty() || !facts_.loops_of_node(after).empty())
      throw Refusal{"its loops are open"};
    return lower_sides(first, second);
  }
  const std::vector<UOp> first = nodes_in_order(before);
  facts_.detect_op_forms(first);
  for (UOp u : first) facts_.add_node(u);
  for (UOp u : nodes_in_order(after)) facts_.add_node(u);
  if (!facts_.has_shape(before) || !facts_.has_shape(after)) throw Refusal{"it has no value"};
  choose_inputs(before, after);
  UOp both_sides = graph_.node(Op::GROUP, dtypes::void_, {before, after});
  std::vector<UOp> nodes;
  for (UOp u : toposort(both_sides, [&](UOp u) { return !value_arrays_.contains(u); }))
    if (!(u == both_sides)) nodes.push_back(u);
  // refuse a rewrite whose result reads a buffer that `before` does not read
  std::set<uint32_t> memories[2];
  for (int side : {0, 1})
    for (UOp u : toposort(side ? after : before, [&](UOp u) { return !value_arrays_.contains(u); }))
      if (is_memory(u)) memories[side].insert(u.id());
  for (UOp u : nodes)
    if (u.is(Op::AFTER))
      if (UOp buffer = view_base(u); is_memory(buffer)) memories[0].insert(buffer.id());
  if (!std::ranges::includes(memories[0], memories[1])) throw Refusal{"it reads another buffer"};
  TensorSidesProgram out;
  out.have_same_shapes = facts_.shape(before) == facts_.shape(after);
  for (UOp side : {before, after})
    for (UOp r : facts_.loops_of_node(side))
      if (!std::ranges::count(out.loops, r)) out.loops.push_back(r);
  std::ranges::stable_sort(out.loops, {}, range_number);
  UOpSet below_before(graph_);
  for (UOp u : first) below_before.insert(u);
  if (!out.have_same_shapes)  // refuse new reductions, copies and stored values, which may have other loops inside
    for (UOp u : nodes_in_order(after))
      if (u.in(kAnyValue - OpSet{Op::CONTIGUOUS, Op::AFTER}) && !below_before.contains(u))
        throw Refusal{"it computes elements at other places"};
  count_uses(nodes);
  for (UOp u : nodes)
    if (!(u == before) && !(u == after)) lower_node(u);
  for (UOp u : {before, after})
    if (u.in({Op::AFTER, Op::ASSIGN}) || (u.is(Op::BITCAST) && facts_.loops_of_node(u).empty())) lower_node(u);
  const int64_t devices = std::max(facts_.num_devices(before), facts_.num_devices(after));
  add_side(before, out.loops, devices);
  add_side(after, out.loops, devices);
  check_program();
  out.program = std::move(program_);
  return out;
}

}  // namespace tgc::import

namespace tgc {

Result<TensorSidesProgram> import_tensor_sides(UOp before, UOp after, const TensorVariables& variables) {
  return catch_failures([&]() -> TensorSidesProgram {
    import::TensorLowering lowering(before.graph(), variables);
    try {
      KnownOps known;
      TensorSidesProgram out = lowering.lower_sides(known.replace_nodes(before), known.replace_nodes(after));
      for (UOp& loop : out.loops) loop = known.original(loop);
      return out;
    } catch (const import::Refusal& refusal) {
      throw Failure(refusal.reason);
    }
  });
}

}  // namespace tgc
