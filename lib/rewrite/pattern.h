// Patterns: what a rule matches, written as algebra (tinygrad's UPat, uop/ops.py).
//
//   x, y, z, ...         match any node and bind it; the same name twice must be the same node
//   c, c0, c1, ...       match a constant, scalar or vector; c.scalar() a scalar constant alone
//   0, 1, -1.0, true     match a constant of that value
//   x + y, x < y, ...    match the op; commutative ops match either way round, first as written
//   node(Op::GEP, x)     matches an op with exactly these sources; any_len(op, x) these first, then any; node(op) any sources at all;
//                        leaf(op) none; each(op, x) any number, every one matching x
//   p.as(g)              binds the node that p matched      p.of(dtypes::ints)   restricts its dtype       p.arg(v)  its arg
//   any_of(p, q), or_casted(p), or_after(p)                  alternatives, tried in order
//
// Which names a pattern binds is part of its type: a rule whose right side uses another name does not compile.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "lib/dtype/dtype.h"
#include "lib/uop/uop.h"

namespace tgc::pat {

// One node of a pattern. Immutable, made while the rule tables load, never freed.
struct PatNode {
  enum class Sources : uint8_t { Any, Exact, Prefix, Each };
  OpSet ops;                     // empty: any op
  DTypeSet dtypes;               // empty: any dtype
  Sources sources = Sources::Any;
  bool permute = false;          // sources match in any order
  bool alternatives = false;     // children are alternatives for this very node
  int8_t capture = -1;
  bool has_arg = false;
  bool has_arg_ints = false;     // the arg is the tuple arg_ints
  Arg arg = {};
  std::span<const int64_t> arg_ints = {};
  std::span<const PatNode* const> children = {};
  bool has_early_reject = false;
  OpSet early_reject = {};       // ops that must be among the sources, when given explicitly
};

const PatNode* make(const PatNode& node, std::initializer_list<const PatNode*> children = {});
const PatNode* make_alu(Op op, std::initializer_list<const PatNode*> operands);
const PatNode* make_const(Const value, DTypeSet dtypes);

template <uint64_t Bound>
class Pat {
 public:
  explicit Pat(const PatNode* n) : n_(n) {}
  const PatNode* node() const { return n_; }

  template <class Capture>
  auto as(Capture) const {
    PatNode copy = *n_;
    copy.capture = Capture::kId;
    return Pat<Bound | uint64_t(1) << Capture::kId>(make(copy));
  }
  Pat of(DTypeSet dtypes) const {
    PatNode copy = *n_;
    copy.dtypes = dtypes;
    return Pat(make(copy));
  }
  Pat of(DType scalar) const { return of(DTypeSet{scalar.scalar_kind()}); }
  Pat arg(Arg value) const {
    PatNode copy = *n_;
    copy.has_arg = true;
    copy.arg = value;
    return Pat(make(copy));
  }
  Pat arg_ints(std::span<const int64_t> values) const;
  Pat early_reject(OpSet ops) const {
    PatNode copy = *n_;
    copy.has_early_reject = true;
    copy.early_reject = ops;
    return Pat(make(copy));
  }

 private:
  const PatNode* n_;
};

template <uint64_t Bound>
Pat<Bound> Pat<Bound>::arg_ints(std::span<const int64_t> values) const {
  PatNode copy = *n_;
  copy.has_arg_ints = true;
  copy.arg_ints = values;
  return Pat(make(copy));
}

// A name. `Constant` names match CONST and VCONST alone.
template <int Id, bool Constant = false>
struct Capture {
  static constexpr int kId = Id;
  using P = Pat<uint64_t(1) << Id>;
  static const PatNode* node() {
    static const PatNode* const n = [] {
      PatNode node;
      if (Constant) node.ops = {Op::CONST, Op::VCONST};
      node.capture = Id;
      return make(node);
    }();
    return n;
  }
  operator P() const { return P(node()); }
  P pat() const { return *this; }
  P of(DTypeSet dtypes) const { return pat().of(dtypes); }
  P of(DType scalar) const { return pat().of(scalar); }
  P arg(Arg value) const { return pat().arg(value); }
  P scalar() const
    requires(Constant)
  {
    PatNode copy = *node();
    copy.ops = {Op::CONST};
    return P(make(copy));
  }
};

// The names. Their order is no matter; `name_of_capture` prints them.
#define TGC_CAPTURES(X)                                                                                                          \
  X(x) X(x2) X(x3) X(y) X(z) X(a) X(b) X(d) X(e) X(f) X(g) X(i) X(l) X(m) X(n) X(p) X(q) X(r) X(s) X(t) X(u) X(v) X(w) X(ff) X(tt) \
  X(alt) X(alu_node) X(base) X(buf) X(cat) X(cond) X(cut) X(data) X(dev) X(end_) X(gate) X(idx) X(inv) X(lower) X(upper) X(red) X(root) X(val) \
  X(vec) X(wmma)
#define TGC_CONST_CAPTURES(X) X(c) X(c0) X(c1) X(c2) X(c3) X(ca) X(cb) X(cd)

enum CaptureId : int {
#define X(name) kCapture_##name,
  TGC_CAPTURES(X) TGC_CONST_CAPTURES(X)
#undef X
      kNumCaptures
};
static_assert(kNumCaptures <= 64);
std::string_view name_of_capture(int id);

#define X(name) inline constexpr Capture<kCapture_##name> name{};
TGC_CAPTURES(X)
#undef X
#define X(name) inline constexpr Capture<kCapture_##name, true> name{};
TGC_CONST_CAPTURES(X)
#undef X

// ---- what may stand for a pattern: a Pat, a name, a literal
template <class T>
struct BoundOf;
template <uint64_t B>
struct BoundOf<Pat<B>> : std::integral_constant<uint64_t, B> {};
template <int Id, bool C>
struct BoundOf<Capture<Id, C>> : std::integral_constant<uint64_t, uint64_t(1) << Id> {};

template <class T>
concept PatLike = requires { BoundOf<T>::value; };
template <class T>
concept Literal = std::is_arithmetic_v<T>;
template <class T>
concept Term = PatLike<T> || Literal<T>;

template <class T>
constexpr uint64_t kBound = 0;
template <PatLike T>
constexpr uint64_t kBound<T> = BoundOf<T>::value;

template <uint64_t B>
const PatNode* node_of(Pat<B> p) { return p.node(); }
template <int Id, bool C>
const PatNode* node_of(Capture<Id, C> cap) { return cap.node(); }

// A literal beside `other` takes its dtypes, as tinygrad's ufix makes it.
template <PatLike T>
const PatNode* node_beside(T term, const PatNode*) { return node_of(term); }
template <Literal T>
const PatNode* node_beside(T value, const PatNode* other) { return make_const(Const(value), other->dtypes); }
template <Term A, Term B>
const PatNode* binary(Op op, A a, B b) {
  static_assert(PatLike<A> || PatLike<B>, "a pattern needs a name");
  if constexpr (PatLike<A>) return make_alu(op, {node_of(a), node_beside(b, node_of(a))});
  else return make_alu(op, {node_beside(a, node_of(b)), node_of(b)});
}

#define TGC_PAT_BINARY(symbol, OP)                          \
  template <Term A, Term B>                                 \
    requires(PatLike<A> || PatLike<B>)                      \
  Pat<kBound<A> | kBound<B>> symbol(A a, B b) {             \
    return Pat<kBound<A> | kBound<B>>(binary(Op::OP, a, b)); \
  }
TGC_PAT_BINARY(operator+, ADD)
TGC_PAT_BINARY(operator*, MUL)
TGC_PAT_BINARY(operator/, IDIV)
TGC_PAT_BINARY(operator%, MOD)
TGC_PAT_BINARY(operator&, AND)
TGC_PAT_BINARY(operator|, OR)
TGC_PAT_BINARY(operator^, XOR)
TGC_PAT_BINARY(operator<<, SHL)
TGC_PAT_BINARY(operator>>, SHR)
TGC_PAT_BINARY(operator<, CMPLT)
TGC_PAT_BINARY(operator!=, CMPNE)
TGC_PAT_BINARY(maximum, MAX)
TGC_PAT_BINARY(pow, POW)

#define TGC_PAT_UNARY(name, OP)                                  \
  template <PatLike A>                                           \
  Pat<kBound<A>> name(A a) {                                     \
    return Pat<kBound<A>>(make_alu(Op::OP, {node_of(a)}));       \
  }
TGC_PAT_UNARY(reciprocal, RECIPROCAL)
TGC_PAT_UNARY(exp2, EXP2)
TGC_PAT_UNARY(log2, LOG2)
TGC_PAT_UNARY(sqrt, SQRT)
TGC_PAT_UNARY(trunc, TRUNC)

template <PatLike A, Term B>
auto fdiv(A a, B b) {  // a * 1/b
  return Pat<kBound<A> | kBound<B>>(make_alu(Op::MUL, {node_of(a), make_alu(Op::RECIPROCAL, {node_beside(b, node_of(a))})}));
}
template <PatLike A>
auto logical_not(A a) { return a != true; }
// On right sides alone: x.neg() and x - y as UOps have them.
TGC_PAT_UNARY(operator-, NEG)
TGC_PAT_BINARY(operator-, SUB)
#undef TGC_PAT_BINARY
#undef TGC_PAT_UNARY

// cond ? yes : no
template <PatLike C, Term Y, Term N>
  requires(PatLike<Y> || PatLike<N>)
auto where(C cond, Y yes, N no) {
  constexpr uint64_t bound = kBound<C> | kBound<Y> | kBound<N>;
  if constexpr (PatLike<Y>) return Pat<bound>(make_alu(Op::WHERE, {node_of(cond), node_of(yes), node_beside(no, node_of(yes))}));
  else return Pat<bound>(make_alu(Op::WHERE, {node_of(cond), node_beside(yes, node_of(no)), node_of(no)}));
}

// ---- ops by name
inline Pat<0> anything() { return Pat<0>(make({})); }
inline Pat<0> node(OpSet ops) { return Pat<0>(make({.ops = ops})); }
inline Pat<0> leaf(OpSet ops) { return Pat<0>(make({.ops = ops, .sources = PatNode::Sources::Exact})); }
template <PatLike... Ts>
  requires(sizeof...(Ts) > 0)
auto node(OpSet ops, Ts... sources) {
  return Pat<(kBound<Ts> | ...)>(make({.ops = ops, .sources = PatNode::Sources::Exact}, {node_of(sources)...}));
}
template <PatLike... Ts>
auto any_len(OpSet ops, Ts... first) {
  return Pat<(kBound<Ts> | ...)>(make({.ops = ops, .sources = PatNode::Sources::Prefix}, {node_of(first)...}));
}
template <PatLike T>
auto each(OpSet ops, T source) {
  return Pat<kBound<T>>(make({.ops = ops, .sources = PatNode::Sources::Each}, {node_of(source)}));
}
template <PatLike T>
auto alu(OpSet ops, T a) { return Pat<kBound<T>>(make_alu(ops.first(), {node_of(a)})); }
template <PatLike A, PatLike B>
auto alu(Op op, A a, B b) { return Pat<kBound<A> | kBound<B>>(make_alu(op, {node_of(a), node_of(b)})); }
template <PatLike T>
auto cast(T a) { return node(Op::CAST, a); }
template <PatLike T, class D>
auto cast(T a, D dtypes) { return node(Op::CAST, a).of(dtypes); }
inline Pat<0> constant(Const value) { return Pat<0>(make_const(value, {})); }
inline Pat<0> constant(Const value, DType dtype) { return Pat<0>(make_const(value, DTypeSet{dtype.scalar_kind()})); }

template <PatLike A, PatLike... Ts>
auto any_of(A first, Ts... rest) {
  return Pat<(kBound<A> & ... & kBound<Ts>)>(make({.alternatives = true}, {node_of(first), node_of(rest)...}));
}
template <PatLike T>
auto or_casted(T p) { return any_of(p, cast(p)); }
template <PatLike T, class Name>
auto or_casted(T p, Name name) { return any_of(Pat<kBound<T>>(p).as(name), cast(p).as(name)); }
template <PatLike T>
auto or_after(T p) { return any_of(p, any_len(Op::AFTER, p)); }
template <PatLike T, class Name>
auto or_after(T p, Name name) { return any_of(Pat<kBound<T>>(p).as(name), any_len(Op::AFTER, p).as(name)); }

// The pattern as text, "(x + c0) < c1"; for listings.
std::string to_text(const PatNode& node);

}  // namespace tgc::pat
