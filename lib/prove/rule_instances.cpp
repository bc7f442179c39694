#include "lib/prove/rule_instances.h"

#include <algorithm>
#include <functional>

namespace tgc {
namespace {

using pat::PatNode;

constexpr DType kDTypes[] = {dtypes::index, dtypes::int32,   dtypes::float32, dtypes::bool_,   dtypes::uint8,
                             dtypes::int64, dtypes::float16, dtypes::uint32,  dtypes::int8,    dtypes::uint64,
                             dtypes::int16, dtypes::uint16,  dtypes::float64, dtypes::bfloat16};
constexpr OpSet kIntegerOps{Op::IDIV, Op::MOD, Op::SHL, Op::SHR, Op::AND, Op::OR, Op::XOR, Op::THREEFRY};
constexpr OpSet kFloatOps{Op::EXP2, Op::LOG2, Op::SIN, Op::SQRT, Op::RECIPROCAL, Op::FDIV, Op::TRUNC};
constexpr OpSet kConstants{Op::CONST, Op::VCONST};

bool supports_op(Op op, DType d) {
  if (op == Op::THREEFRY) return d == dtypes::uint64;
  if (dtypes::is_float(d)) return !kIntegerOps.contains(op);
  if (dtypes::is_bool(d))
    return !kFloatOps.contains(op) && (!kIntegerOps.contains(op) || OpSet{Op::AND, Op::OR, Op::XOR}.contains(op)) &&
           op != Op::NEG && op != Op::SUB && op != Op::MULACC && op != Op::POW;
  return (!kFloatOps.contains(op) || op == Op::TRUNC) && op != Op::POW;
}

bool has_node_where(const PatNode* n, const std::function<bool(const PatNode*)>& test) {
  return n && (test(n) || std::ranges::any_of(n->children, [&](const PatNode* c) { return has_node_where(c, test); }));
}

bool is_constant(const PatNode* n) {
  return !n->ops.empty() && kConstants.contains_all(n->ops) && n->listing_name.empty();
}
bool is_invalid(const PatNode* n) { return is_constant(n) && n->has_arg && n->arg.is_invalid(); }

}  // namespace

bool has_values_only(const Rule& rule) {
  constexpr OpSet kValues = ops::Elementwise | kConstants | OpSet{Op::RANGE, Op::INDEX, Op::LOAD} | ops::Defines;
  return !has_node_where(rule.left, [&](const PatNode* n) {
    return !n->ops.empty() && !n->has_alternatives && !kValues.contains_all(n->ops) && !(n->ops == OpSet{Op::AFTER});
  });
}

RuleInstances::RuleInstances(const Rule& rule, bool is_symbolic, bool has_shapes)
    : rule_(rule), is_symbolic_(is_symbolic), has_shapes_(has_shapes) {
  for (const RuleFolding& f : foldings_of(rule))
    for (const PatNode* g : f.guards)
      if (g->listing_name.starts_with("is_power_of_two")) power_of_two_captures_.push_back(g->children[0]->capture);
}

size_t RuleInstances::pick_alternative(size_t n) {
  if (choice_index_ == choices_.size()) choices_.emplace_back(0, n);
  return choices_[choice_index_++].first;
}

DType RuleInstances::pick_dtype(DTypeSet among) {
  std::vector<DType> all;
  for (DType d : kDTypes)
    if (among.empty() || among.contains(d)) all.push_back(d);
  for (DType d : {dtypes::fp8e4m3, dtypes::fp8e5m2})  // only for patterns that do not accept float32
    if (among.contains(d) && !among.contains(dtypes::float32)) all.push_back(d);
  return all.empty() ? dtypes::void_ : all[pick_alternative(all.size())];
}

UOp RuleInstances::make_leaf(DType d) {
  if (has_shapes_) return make_shaped_leaf(d);
  if (d.is(Scalar::Index)) return make_variable(-Int::pow2(40), Int::pow2(40));
  return make_leaf_load(d, ++num_leaves_);
}

UOp RuleInstances::make_variable(const Int& least, const Int& most) {
  return graph_->variable("v" + std::to_string(++num_leaves_), least, most);
}

// Returns a load of the element p<n> of the memory data<n>. The index is no loop, because some rules decline nodes that
// depend on loops.
UOp RuleInstances::make_leaf_load(DType d, int64_t n) {
  UOp at = graph_->variable("p" + std::to_string(n), Const(int64_t(0)), Const(int64_t(63)));
  return graph_->node(Op::DEFINE_GLOBAL, d.ptr(64), {}, n).index_ptr(at).load();
}

// Returns a constant, or an expression of new values and of the variables i and j, which several names may contain.
UOp RuleInstances::make_shaped_leaf(DType d) {
  int64_t n = ++num_leaves_;
  auto variable = [&](int64_t least, int64_t most) {
    return graph_->variable("v" + std::to_string(n), Const(least), Const(most));
  };
  UOp i = graph_->variable("i", Const(int64_t(0)), Const(int64_t(9)));
  UOp j = graph_->variable("j", Const(int64_t(0)), Const(int64_t(3)));
  if (d.is(Scalar::Index)) {
    switch (pick_alternative(12)) {
      case 10: return variable(-7, -1);
      case 0: return graph_->variable("v" + std::to_string(n), -(Int::pow2(40)), Int::pow2(40));
      case 1: return i;
      case 2: return i * Const(4) + j;
      case 3: return graph_->constant(d, 4);
      case 4: return variable(-9, 0);
      case 5: return i * Const(6) + j * Const(2) + Const(5);
      case 6: return variable(1, 7);
      case 7: return graph_->constant(d, 3);
      case 8: return i % Const(4) + j * Const(8);
      case 9: return variable(-9, 9) + i * Const(3);
      default: return graph_->constant(d, 12);
    }
  }
  auto make_leaf_load = [&](DType t) { return this->make_leaf_load(t, n); };
  if (dtypes::is_bool(d)) {
    switch (pick_alternative(5)) {
      case 0: return make_leaf_load(d);
      case 1: return i.lt(5);
      case 2: return i.lt(2).logical_not();
      case 3: return (i * Const(4) + j).lt(7);
      default: return j.lt(2);
    }
  }
  if (!dtypes::is_int(d)) return make_leaf_load(d);
  switch (pick_alternative(7)) {
    case 5: return graph_->constant(d, 3);
    case 6: return graph_->constant(d, 99);
    case 0: return make_leaf_load(d);
    case 1: return make_leaf_load(d) + Const(100);
    case 2: return make_leaf_load(d) * Const(2);
    case 3: return make_leaf_load(d == dtypes::uint32 ? dtypes::int64 : dtypes::uint32).cast(d);
    default: return make_leaf_load(d) & Const(7);
  }
}

UOp RuleInstances::make_constant(const PatNode* n, std::optional<DType> want) {
  DType d = is_invalid(n) ? dtypes::index : want ? *want : pick_dtype(n->dtypes);
  if (is_invalid(n)) return want && *want != d ? UOp() : graph_->invalid();
  if (n->has_arg) {
    UOp c = n->arg.is_const() ? graph_->constant(d, n->arg.to_const()) : UOp();
    return c && c.is_const() && py_equal(c.arg().to_const(), n->arg.to_const()) ? c : UOp();
  }
  if (std::ranges::find(power_of_two_captures_, n->capture) != power_of_two_captures_.end()) {
    if (!dtypes::is_int(d) || d.is(Scalar::Index)) return {};
    return graph_->constant(d, Int::pow2(uint32_t(pick_alternative(size_t(d.bitsize() - !dtypes::is_unsigned(d))))));
  }
  if (is_symbolic_) return make_leaf(d);
  const Const v = make_number(d);
  if (!dtypes::is_bool(d) && !d.is(Scalar::Index) && !py_equal(truncate(v, d), v)) return {};
  return graph_->constant(d, v);
}

Const RuleInstances::make_number(DType d) {
  static constexpr int64_t kValues[] = {3, -2, 1, 0, 4, -1, 7, 2, 100, (int64_t(1) << 54) + 1};
  if (dtypes::is_bool(d)) return Const(pick_alternative(2) == 0);
  const int64_t v = kValues[pick_alternative(std::size(kValues))];
  return dtypes::is_float(d) ? Const(double(v)) : Const(v);
}

UOp RuleInstances::make_index(const PatNode* n, DType d, bool is_pointer) {
  if (n->children.size() < 2 || n->children.size() > 3 || d.is(Scalar::Index)) return {};
  UOp memory = graph_->node(Op::DEFINE_GLOBAL, d.ptr(64), {}, ++num_leaves_);
  if (n->children[0]->capture >= 0) captured_nodes_[size_t(n->children[0]->capture)] = memory;
  UOp at = build_pattern(n->children[1], dtypes::index), gate;
  if (n->children.size() > 2 && !(gate = build_pattern(n->children[2], dtypes::bool_))) return {};
  if (!at) return {};
  std::vector<UOp> src{memory, at};
  if (gate) src.push_back(gate);
  return graph_->node(Op::INDEX, is_pointer ? memory.dtype() : d, src);
}

UOp RuleInstances::make_load(const PatNode* n, std::optional<DType> want) {
  if (n->children.empty()) return {};
  const PatNode* place = n->children[0];
  while (place->has_alternatives) place = place->children[0];
  if (!(place->ops == OpSet{Op::INDEX})) return {};
  DType d = want ? *want : pick_dtype(n->dtypes);
  UOp pointer = make_index(place, d, true);
  if (!pointer) return {};
  if (n->sources != PatNode::Sources::Prefix || pointer.num_src() < 3 || pick_alternative(2) == 0)
    return pointer.load();
  return pointer.load(make_leaf(d), d);
}

UOp RuleInstances::make_range(const PatNode* n) {
  if (n->children.size() != 1) return {};
  const PatNode* size = n->children[0];
  UOp end = size->capture >= 0 ? captured_nodes_[size_t(size->capture)] : UOp();
  if (!end && is_constant(size)) end = graph_->constant(dtypes::index, int64_t(1 + 4 * pick_alternative(2)));
  if (!end) end = graph_->variable("n" + std::to_string(++num_leaves_), Const(int64_t(1)), Const(int64_t(1) << 20));
  if (size->capture >= 0) captured_nodes_[size_t(size->capture)] = end;
  return graph_->range(end, std::vector<Arg>{Arg(++num_leaves_), Arg(AxisType::LOOP)});
}

UOp RuleInstances::build_pattern(const PatNode* n, std::optional<DType> want) {
  if (n->capture >= 0 && captured_nodes_[size_t(n->capture)]) {
    UOp u = captured_nodes_[size_t(n->capture)];
    return want && u.dtype() != *want ? UOp() : u;
  }
  if (want && !n->dtypes.empty() && !n->dtypes.contains(*want)) return {};
  UOp out;
  if (n->has_alternatives) out = build_pattern(n->children[pick_alternative(n->children.size())], want);
  else if (n->ops.empty()) out = make_leaf(want ? *want : pick_dtype(n->dtypes));
  else if (is_constant(n)) out = make_constant(n, want);
  else if (n->ops == OpSet{Op::RANGE}) out = want && *want != dtypes::index ? UOp() : make_range(n);
  else if (n->ops == OpSet{Op::INDEX}) out = make_index(n, want ? *want : pick_dtype(n->dtypes), false);
  else if (n->ops == OpSet{Op::LOAD}) out = make_load(n, want);
  else {
    std::vector<Op> ops;
    n->ops.for_each([&](Op op) {
      if (ops::Elementwise.contains(op)) ops.push_back(op);
    });
    if (!ops.empty()) out = make_elementwise(n, ops[pick_alternative(ops.size())], want);
  }
  if (n->capture >= 0) captured_nodes_[size_t(n->capture)] = out;
  return out;
}

UOp RuleInstances::make_elementwise(const PatNode* n, Op op, std::optional<DType> want) {
  const bool compares = ops::Comparison.contains(op), casts = op == Op::CAST || op == Op::BITCAST;
  if (compares && want && *want != dtypes::bool_) return {};
  // if an operand is Invalid, the op must compute an index
  const bool on_invalid = has_node_where(n, [](const PatNode* c) { return is_invalid(c); }) && !casts;
  DTypeSet among = n->dtypes;
  if (among.empty() && !casts && !compares)
    for (size_t i = op == Op::WHERE; i < n->children.size() && among.empty(); i++) among = n->children[i]->dtypes;
  DType d = compares ? dtypes::bool_ : want ? *want : on_invalid ? dtypes::index : pick_dtype(among);
  if (compares && !n->dtypes.empty() && !n->dtypes.contains(d)) return {};
  DType of_sources = compares || casts ? dtypes::void_ : d;  // void if it is not chosen yet
  if (!compares && !casts && op != Op::WHERE && !on_invalid && !supports_op(op, d)) return {};
  const size_t arity = casts || ops::Unary.contains(op) ? 1 : ops::Binary.contains(op) ? 2 : 3;
  const bool is_each = n->sources == PatNode::Sources::Each;
  if (is_each ? arity != 1 || n->children.size() != 1 : !n->children.empty() && n->children.size() != arity) return {};
  std::vector<UOp> src(arity);
  // If the dtype is not chosen yet, build the source that decides it first: x in 0 < x.
  std::vector<size_t> order;
  for (size_t i = 0; i < arity; i++) order.push_back(i);
  if (of_sources == dtypes::void_ && arity == 2 && n->children.size() == 2 && is_constant(n->children[0]))
    std::swap(order[0], order[1]);
  for (size_t i : order) {
    std::optional<DType> need = of_sources;
    if (op == Op::WHERE && i == 0) need = dtypes::bool_;
    if (need == dtypes::void_) {
      // let the source decide the dtype
      if (n->children.empty()) need = pick_dtype({});
      else need = std::nullopt;
    }
    UOp s = n->children.empty() ? make_leaf(*need) : build_pattern(n->children[i], need);
    if (!s || s.dtype() == dtypes::void_) return {};
    if (compares) of_sources = s.dtype();
    src[i] = s;
  }
  if (casts && src[0].dtype() == d && !(n->ops.contains(Op::BITCAST))) return {};
  if (casts && d.is(Scalar::Index) && !dtypes::is_int(src[0].dtype())) return {};
  if (op == Op::BITCAST && (src[0].dtype().itemsize() != d.itemsize() || d.is(Scalar::Index))) return {};
  if (compares && !supports_op(op, src[0].dtype())) return {};
  return graph_->node(op, d, src);
}

void RuleInstances::start_instance(Graph& graph) {
  graph_ = &graph, choice_index_ = 0, num_leaves_ = 0;
  captured_nodes_ = {};
}

std::optional<UOp> RuleInstances::next_instance(Graph& graph) {
  if (is_done_) return std::nullopt;
  start_instance(graph);
  auto advance = [&] {
    choices_.resize(choice_index_);
    while (!choices_.empty() && ++choices_.back().first == choices_.back().second) choices_.pop_back();
    is_done_ = choices_.empty();
  };
  UOp out;
  try {
    out = build_root();
  } catch (const Failure&) {
    advance();
    return UOp();
  }
  advance();
  return out;
}

}  // namespace tgc
