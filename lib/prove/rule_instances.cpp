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

bool has_op(Op op, DType d) {
  if (dtypes::is_float(d)) return !kIntegerOps.contains(op);
  if (dtypes::is_bool(d))
    return !kFloatOps.contains(op) && (!kIntegerOps.contains(op) || OpSet{Op::AND, Op::OR, Op::XOR}.contains(op)) &&
           op != Op::NEG && op != Op::SUB && op != Op::MULACC && op != Op::POW;
  return !kFloatOps.contains(op) || op == Op::TRUNC;
}

bool any_node(const PatNode* n, const std::function<bool(const PatNode*)>& test) {
  return n && (test(n) || std::ranges::any_of(n->children, [&](const PatNode* c) { return any_node(c, test); }));
}

bool is_constant(const PatNode* n) {
  return !n->ops.empty() && OpSet{Op::CONST, Op::VCONST}.contains_all(n->ops) && n->form.empty();
}

}  // namespace

bool has_constants(const Rule& rule) {
  return any_node(rule.left, [](const PatNode* n) { return is_constant(n) && !n->has_arg; });
}

bool takes_symbolic_constants(const Rule& rule) {
  if (right_kind(rule) != RightKind::Algebra) return false;
  for (const Folding& f : foldings_of(rule)) {
    if (!f.guards.empty() || !f.right) return false;
    bool needs_number = any_node(f.right, [](const PatNode* n) {
      if (n->form.empty() || n->form == "-" || n->form == "cast" || n->form == "dtype_of") return false;
      if (n->form != "const_like") return true;
      return any_node(n->children.back(), [](const PatNode* c) { return is_constant(c) && !c->has_arg; });
    });
    if (needs_number) return false;
  }
  return true;
}

size_t RuleInstances::pick(size_t n) {
  if (at_ == choices_.size()) choices_.emplace_back(0, n);
  return choices_[at_++].first;
}

Const RuleInstances::constant(DType d) {
  static constexpr int kValues[] = {3, -2, 1, 0, 4, -1, 7, 2};
  const bool is_bool = dtypes::is_bool(d);
  const int v = kValues[pick(is_bool ? 2 : std::size(kValues))];
  if (is_bool) return Const(v == 3);
  return dtypes::is_float(d) ? Const(double(v)) : Const(int64_t(v));
}

DType RuleInstances::pick_dtype(DTypeSet among) {
  std::vector<DType> all;
  for (DType d : kDTypes)
    if (among.empty() || among.contains(d)) all.push_back(d);
  return all.empty() ? dtypes::void_ : all[pick(all.size())];
}

UOp RuleInstances::variable(const Int& least, const Int& most) {
  return graph_->variable("v" + std::to_string(++leaves_), least, most);
}

// An unknown value: an index within 2**40, or any value of a fixed dtype, loaded from a memory of its own.
UOp RuleInstances::leaf(DType d) {
  if (d.is(Scalar::Index)) return variable(-Int::pow2(40), Int::pow2(40));
  int64_t n = ++leaves_;
  UOp at = graph_->range(Const(int64_t(64)), n, AxisType::LOOP);
  return graph_->node(Op::DEFINE_GLOBAL, d.ptr(64), {}, n).index_ptr(at).load();
}

UOp RuleInstances::build(const PatNode* n, std::optional<DType> want) {
  if (n->capture >= 0 && captured_[size_t(n->capture)]) {
    UOp u = captured_[size_t(n->capture)];
    return want && u.dtype() != *want ? UOp() : u;
  }
  auto bound = [&](UOp u) {
    if (n->capture >= 0) captured_[size_t(n->capture)] = u;
    return u;
  };
  if (want && !n->dtypes.empty() && !n->dtypes.contains(*want)) return {};
  if (n->alternatives) return bound(build(n->children[pick(n->children.size())], want));
  if (n->sources == PatNode::Sources::Each) return {};
  if (n->ops.empty()) return bound(leaf(want ? *want : pick_dtype(n->dtypes)));
  if (is_constant(n)) {
    DType d = want ? *want : pick_dtype(n->dtypes);
    if (n->has_arg) return n->arg.is_const() ? bound(graph_->constant(d, n->arg.to_const())) : UOp();
    if (symbolic_) return bound(leaf(d));
    const Const v = constant(d);
    if (!dtypes::is_float(d) && !dtypes::is_bool(d) && dtypes::is_unsigned(d) && v.as_int() < 0) return {};
    return bound(graph_->constant(d, v));
  }
  std::vector<Op> ops;
  n->ops.for_each([&](Op op) {
    if (ops::Elementwise.contains(op)) ops.push_back(op);
  });
  if (ops.empty()) return {};
  const Op op = ops[pick(ops.size())];
  const bool compares = ops::Comparison.contains(op);
  if (compares && want && *want != dtypes::bool_) return {};
  const bool casts = op == Op::CAST || op == Op::BITCAST;
  DType d = compares ? dtypes::bool_ : want ? *want : pick_dtype(n->dtypes);
  if (compares && !n->dtypes.empty() && !n->dtypes.contains(d)) return {};
  DType of_sources = compares || casts ? dtypes::void_ : d;  // void: not chosen yet
  if (!compares && !casts && op != Op::WHERE && !has_op(op, d)) return {};
  if (op == Op::THREEFRY && d != dtypes::uint64) return {};
  const size_t arity = casts || ops::Unary.contains(op) ? 1 : ops::Binary.contains(op) ? 2 : 3;
  if (!n->children.empty() && n->children.size() != arity) return {};
  std::vector<UOp> src;
  for (size_t i = 0; i < arity; i++) {
    std::optional<DType> need = of_sources;
    if (op == Op::WHERE && i == 0) need = dtypes::bool_;
    if (need == dtypes::void_) {
      // a source that is bound already, or says its dtype, decides; else it is chosen
      if (n->children.empty()) need = pick_dtype({});
      else need = std::nullopt;
    }
    UOp s = n->children.empty() ? leaf(*need) : build(n->children[i], need);
    if (!s || s.dtype() == dtypes::void_) return {};
    if (compares) of_sources = s.dtype();
    src.push_back(s);
  }
  if (op == Op::BITCAST && src[0].dtype().itemsize() != d.itemsize()) return {};
  return bound(graph_->node(op, d, src));
}

void RuleInstances::start(Graph& graph) {
  graph_ = &graph, at_ = 0, leaves_ = 0;
  captured_ = {};
}

std::optional<UOp> RuleInstances::next(Graph& graph) {
  if (done_) return std::nullopt;
  start(graph);
  UOp out = build_root();
  choices_.resize(at_);
  while (!choices_.empty() && ++choices_.back().first == choices_.back().second) choices_.pop_back();
  done_ = choices_.empty();
  return out;
}

}  // namespace tgc
