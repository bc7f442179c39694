#include <algorithm>

#include "lib/import/tensor_lowering.h"
#include "lib/text/repr.h"

namespace tgc::import {

namespace {

constexpr size_t kMostPairs = 2000;
constexpr int64_t kMostElements = int64_t(1) << 20;
constexpr OpSet kLeaves{Op::PARAM, Op::BUFFER, Op::AFTER, Op::MSTACK, Op::MSELECT};
constexpr OpSet kSamePlace = ops::ALU | OpSet{Op::FLOORDIV, Op::FLOORMOD, Op::CDIV, Op::CMOD, Op::RECIP, Op::CAST,
                                              Op::BITCAST, Op::CONTIGUOUS, Op::COPY, Op::DETACH, Op::NOOP,
                                              Op::CONTIGUOUS_BACKWARD};

std::vector<uint32_t> node_ids(UOpSpan nodes) {
  std::vector<uint32_t> out;
  for (UOp u : nodes) out.push_back(u.id());
  return out;
}

}  // namespace

// Returns the place in a value of `shape` that the ranges of an END, STAGE or REDUCE compute: a loop for each axis.
// With `skips_ones`, axes of size 1 have no loop. Returns nullopt if the loops do not fit the shape.
std::optional<TensorLowering::AxisIndices> TensorLowering::place_of_loops(std::span<const UOp> loops,
                                                                          const Sizes& shape, bool skips_ones) {
  AxisIndices out;
  size_t next = 0;
  for (int64_t size : shape) {
    if (size == 1 && skips_ones) {
      out.push_back({});
      continue;
    }
    if (next >= loops.size()) return std::nullopt;
    UOp loop = loops[next++];
    if (!loop.is(Op::RANGE)) {
      out.push_back({});
      continue;
    }
    if (facts_.integer_value(loop.src(0)) != size) return std::nullopt;
    out.push_back(affine_math_.index(value(loop, {}), 0, std::max<int64_t>(size - 1, 1)));
  }
  return next == loops.size() ? std::optional(out) : std::nullopt;
}

// Returns true if `stage` has the values of `u` and not those of another node. If that is not known, returns true, but
// throws Refusal for a movement op, whose source the STAGE may hold.
bool TensorLowering::stage_has_value(UOp u, UOp stage) const {
  auto it = stage_values_.find(node_ids(stage.src().subspan(1)));
  if (it != stage_values_.end() && it->second) return it->second == u;
  if (u.in(ops::Movement)) throw Refusal{"it is not known which value a STAGE holds"};
  return true;
}

// Appends to `ranged_pairs_` the pairs that compare `before` at the point `p` with `after`, those of sources first.
// `user` is the node whose rewrite is wrong if `after` loads another element of `before`. Returns false, without new
// pairs, if `after` is not made from `before`.
bool TensorLowering::pair_values(UOp before, const RangedPoint& p, UOp after, UOp user) {
  current_node = before;
  if (ranged_pairs_.size() > kMostPairs) throw Refusal{"it has too many values"};
  const size_t first = ranged_pairs_.size();
  auto use = [&] {
    ranged_pairs_.push_back({before, after, user, p, true});
    return true;
  };
  auto unpaired = [&] {
    ranged_pairs_.resize(first);
    return false;
  };
  if (before.is_const() || facts_.integer_value(before)) return before == after;
  UOp indexed = after.is(Op::INDEX) ? after.src(0) : UOp();
  if (before.in(kLeaves)) {
    if (!indexed || !(view_base(indexed) == view_base(before))) return unpaired();
    if (!(indexed == before)) {
      share_input(before, indexed);
      pair_stores(before, indexed);
    }
    return use();
  }
  if (indexed && indexed.is(Op::STAGE) && stage_has_value(before, indexed)) {
    auto place = place_of_loops(indexed.src().subspan(1), facts_.shape(before), false);
    if (!place) throw Refusal{"a part of its axes is stored"};
    if (share_input(before, indexed)) {
      RangedPoint inner;
      inner.place = *place;
      for (UOp r : indexed.src().subspan(1))
        if (r.is(Op::RANGE)) inner.loops.push_back(r);
      const size_t sources = ranged_pairs_.size();
      if (!pair_sources(before, inner, indexed.src(0))) ranged_pairs_.resize(sources);
    }
    return use();
  }
  return pair_sources(before, p, after) || unpaired();
}

bool TensorLowering::pair_sources(UOp before, const RangedPoint& p, UOp after) {
  auto own_pair = [&] {
    ranged_pairs_.push_back({before, after, before, p, false});
    return true;
  };
  if (before.is(Op::PAD)) {
    RangedPoint q = p;
    UOp condition;
    static_cast<ElementPoint&>(q) = source_point(before, p, condition);
    if (!after.is(Op::WHERE)) return false;
    pair_values(before.src(0), q, after.src(1), before);
    return own_pair();
  }
  if (before.in(ops::Movement)) {
    RangedPoint q = p;
    UOp condition;
    static_cast<ElementPoint&>(q) = source_point(before, p, condition);
    return pair_values(before.src(0), q, after, before);
  }
  if (before.in({Op::REDUCE, Op::REDUCE_AXIS})) {
    if (!after.is(Op::REDUCE)) return false;
    const auto axes = facts_.reduced_axes(before);
    Sizes sizes;
    for (int64_t axis : axes) sizes.push_back(facts_.shape(before.src(0))[size_t(axis)]);
    if (auto place = place_of_loops(after.src().subspan(1), sizes, false)) {
      RangedPoint q = p;
      if (facts_.drops_axes(before)) q.place.insert(q.place.begin(), axes.size(), AffineExpr());
      for (size_t i = 0; i < axes.size(); i++) q.place[size_t(axes[i])] = (*place)[i];
      for (UOp r : after.src().subspan(1))
        if (r.is(Op::RANGE)) q.loops.push_back(r);
      pair_values(before.src(0), q, after.src(0), before);
    }
    return own_pair();
  }
  if (before.is(Op::STACK)) {
    UOp rest = after;
    for (size_t i = 0; i < before.num_src(); i++) {
      const bool is_last = i + 1 == before.num_src();
      if (!is_last && !rest.is(Op::WHERE)) break;
      RangedPoint q = p;
      q.place.drop_first_items(1);
      q.valid = logical_and(p.valid, affine_math_.between_condition(p.place[0], int64_t(i), int64_t(i) + 1));
      pair_values(before.src(i), q, is_last ? rest : rest.src(1), before);
      if (!is_last) rest = rest.src(2);
    }
    return own_pair();
  }
  if (!before.in(kSamePlace) || after.op() != before.op() || after.num_src() != before.num_src() ||
      !(after.arg() == before.arg()))
    return false;
  for (size_t i = 0; i < before.num_src(); i++) {
    const Sizes& shape = facts_.shape(before.src(i));
    RangedPoint q = p;
    q.place.keep_last_items(shape.size());
    for (size_t axis = 0; axis < shape.size(); axis++)
      if (shape[axis] == 1) q.place[axis] = {};
    if (!pair_values(before.src(i), q, after.src(i), before)) return false;
  }
  return true;
}

// Makes an input array for `before` if it has none, and returns true then. `after` shares the array.
bool TensorLowering::share_input(UOp before, UOp after) {
  const bool is_new = !value_arrays_.contains(before);
  if (is_new) {
    if (!can_be_stored(before.dtype())) throw Refusal{"its dtype has no array"};
    value_arrays_[before] = new_memory(before.dtype(), product(facts_.shape(before)), 1);
    program_.memories[value_arrays_[before]].buffer = before;
  }
  value_arrays_[after] = value_arrays_[before];
  return is_new;
}

// Pairs the places of the targets of two stores, `before` and `after`, if these places can be compared.
void TensorLowering::pair_targets(UOp before, UOp after, const RangedPoint& p) {
  note_stage_of_target(after);
  if (!is_memory(view_base(before)) || !(view_base(before) == view_base(after))) return;
  try {
    UOp valid;
    index_in_buffer(before, p, valid), index_in_buffer(after, {}, valid);
    if (!valid) ranged_pairs_.push_back({before, after, before, p, false, true});
  } catch (const Refusal&) {  // only the stored values are compared then
  }
  current_kernel_ = {};
}

// Pairs the values that AFTERs below the two nodes store, and the places to which they store them.
void TensorLowering::pair_stores(UOp before, UOp after) {
  if (before == after || !paired_stores_.insert({before.id(), after.id()}).second) return;
  if (after.is(Op::END) && before.is(Op::STORE)) {
    UOp store = after.src(0);
    if (!store.is(Op::STORE)) return;
    auto place = place_of_loops(after.src().subspan(1), facts_.shape(before.src(0)), true);
    const Sizes& shape = facts_.shape(before.src(1));
    if (!place || !(shape == facts_.shape(before.src(0)))) throw Refusal{"its loops are not those of its axes"};
    RangedPoint p;
    p.place = *place;
    for (UOp r : after.src().subspan(1)) p.loops.push_back(r);
    pair_targets(before.src(0), store.src(0), p);
    pair_values(before.src(1), p, store.src(1), before);
    return;
  }
  if (before.op() != after.op() || before.num_src() != after.num_src()) return;
  if (!before.in({Op::SINK, Op::AFTER, Op::GROUP})) return;
  for (size_t i = 0; i < before.num_src(); i++) pair_stores(before.src(i), after.src(i));
}

void TensorLowering::add_pair(const RangedPair& pair) {
  std::vector<UOp> loops = pair.point.loops;
  for (UOp r : facts_.loops_of_node(pair.after))
    if (!std::ranges::count(loops, r)) loops.push_back(r);
  for (UOp side : {pair.before, pair.after}) {
    Sizes dims;
    for (UOp r : loops) dims.push_back(facts_.integer_value(r.src(0)).value_or(0));
    if (product(dims) > kMostElements) throw Refusal{"it has too many elements"};
    DType dtype = pair.compares_place ? dtypes::int64 : pair.before.dtype();
    if (!can_be_stored(dtype)) dtype = is_float_of_any_release(dtype) ? dtypes::float64 : dtypes::int64;
    const size_t memory = new_memory(dtype, product(dims), 1);
    std::vector<UOp> around;
    AffineExpr index;
    for (size_t i = 0; i < loops.size(); i++) {
      around.push_back(value(loops[i], {}));
      index = AffineMath::sum(AffineMath::scale_affine(index, dims[i]),
                              affine_math_.index(around.back(), 0, std::max<int64_t>(dims[i] - 1, 1)));
    }
    const bool is_before = side == pair.before;
    const ElementPoint p = is_before ? ElementPoint(pair.point) : ElementPoint{.valid = pair.point.valid};
    UOp x, valid;
    if (pair.compares_place) x = affine_math_.make_node(index_in_buffer(side, p, valid));
    else x = is_before && !pair.compares_use ? make_value(side, p) : value(side, p);
    if (pair.compares_place || !(side.dtype() == dtype)) x = graph_.node(Op::CAST, dtype, x);
    if (p.valid) x = graph_.node(Op::WHERE, dtype, {p.valid, x, graph_.node(Op::CONST, dtype, {}, 0)});
    finish_kernel(graph_.node(Op::STORE, dtypes::void_, {address(memory, index, {}), x}), around);
    program_.outputs.push_back({memory, dims, {}});
  }
}

TensorPairsProgram TensorLowering::lower_pairs(UOp before, UOp after, const std::vector<UOp>& stages) {
  for (UOp u : stages) {
    auto [it, is_new] = stage_values_.try_emplace(node_ids(u.src().subspan(1)), u.src(0));
    if (!is_new && !(it->second == u.src(0))) it->second = {};
  }
  facts_.detect_op_forms(nodes_in_order(before));
  for (UOp root : {before, after})
    for (UOp u : nodes_in_order(root)) {
      current_node = u;
      facts_.add_node(u);
      if (facts_.num_devices(u) > 1) throw Refusal{"it is on several devices"};
    }
  // pair_stores() compares separately what an AFTER stores
  for (UOp u : nodes_in_order(before))
    if (u.is(Op::AFTER) && facts_.has_shape(u) && is_memory(view_base(u))) share_input(u, u);
  current_kernel_ = {};
  pair_stores(before, after);
  TensorPairsProgram out;
  for (const RangedPair& pair : ranged_pairs_) {
    current_node = pair.before;
    add_pair(pair);
    out.culprits.push_back(pair.culprit);
  }
  check_program();
  out.program = std::move(program_);
  return out;
}

}  // namespace tgc::import

namespace tgc {

Result<TensorPairsProgram> import_tensor_pairs(UOp before, UOp after, const std::vector<UOp>& stages,
                                               const TensorVariables& variables) {
  return catch_failures([&]() -> TensorPairsProgram {
    import::TensorLowering lowering(before.graph(), variables);
    try {
      KnownOps known;
      std::vector<UOp> made;
      for (UOp stage : stages) made.push_back(known.replace_nodes(stage));
      TensorPairsProgram out = lowering.lower_pairs(known.replace_nodes(before), known.replace_nodes(after), made);
      for (UOp& culprit : out.culprits) culprit = known.original(culprit);
      return out;
    } catch (const import::Refusal& refusal) {
      throw Failure(refusal.reason);
    }
  });
}

}  // namespace tgc
