// Patterns, the left sides of rules (tinygrad's UPat, uop/ops.py), are C++ expressions. Right sides use the same
// expressions to make nodes; right_side.h has the expressions that only right sides may use.
//
//   x, y, z, ...         match any node and bind it; a name that occurs twice must match the same node
//   c, c0, c1, ...       match a CONST or VCONST; c.scalar() matches a CONST only
//   0, 1, -1.0, true     match, as operands, a CONST of that value
//   x + y, x < y, ...    match a node of this op; a commutative op matches in both orders, the written order first
//   node(Op::GEP, x)     matches a GEP with exactly these sources; node(op) matches the op with any sources
//   any_len(op, x)       matches a node of this op whose first sources match these patterns
//   leaf_node(op)        matches a node of this op without sources
//   each(op, x)          matches a node of this op whose sources all match x; at least one source if x is a name
//   p.as(g)              binds the node that p matched; p.of(dtypes::ints) restricts its dtype, p.arg(v) its arg
//   any_of(p, q), or_casted(p), or_after(p)    match one of several alternatives, which are tried in order
//
// Each pattern is an expression with its own C++ type, so the compiler knows which names it binds and how to build a
// node from it. A right side therefore costs as much as the same calls in a hand-written function. A right side that
// uses an unbound name, or an expression that can match but not build a node, does not compile.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "lib/dtype/dtype.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns a pointer that identifies the C++ type T at run time.
template <class T>
const char* type_key() {
  static constexpr char kTypeKey = 0;
  return &kTypeKey;
}

// A successful match, the input of a right side: the matched node, the captured nodes, and the rewrite's context.
struct PatternMatch {
  UOp root;
  const UOp* captured;
  void* ctx;
  const char* ctx_type;                 // type_key of the C++ type of *ctx
  mutable const char* branch = nullptr;  // name of the folding (rules.h) that applied, set by Rule::call
};

}  // namespace tgc

namespace tgc::pat {

// One node of a pattern. Pattern nodes are made with the rule tables and are never changed or freed.
struct PatNode {
  enum class Sources : uint8_t { Any, Exact, Prefix, Each };
  OpSet ops;                     // the ops that the node may have; if empty, the node may have any op
  DTypeSet dtypes;               // the dtypes that the node may have; if empty, the node may have any dtype
  Sources sources = Sources::Any;
  bool permute = false;          // true: the sources may match in any order
  bool has_alternatives = false;  // true: `children` are alternatives for this node, not patterns for its sources
  int8_t capture = -1;  // capture id, the number of the name that is bound to the node; -1 if no name is bound
  bool has_arg = false;
  bool has_arg_ints = false;
  Arg arg = {};
  std::span<const int64_t> arg_ints = {};
  std::span<const PatNode* const> children = {};
  bool has_early_reject = false;
  OpSet early_reject = {};       // ops that must occur among the sources, if stated explicitly (UPat's early_reject)
  // The word that listings print for this node, such as "fold" or the name of a function; only on right sides and in
  // guards. If `sources` is Any, the word is printed alone, else as word(children...); "-" is printed as an operator.
  std::string_view listing_name = {};
  bool is_function = false;      // `listing_name` names a C++ function that builds nodes
};

const PatNode* make_pattern_node(const PatNode& node, std::initializer_list<const PatNode*> children = {});
// Make a node for listings, not for matching, that is printed as name(operands...) or, by make_listing_word, as the
// word alone. make_listing_function also sets is_function.
const PatNode* make_listing_call(std::string_view name, std::initializer_list<const PatNode*> operands);
const PatNode* make_listing_function(std::string_view name, std::initializer_list<const PatNode*> operands);
const PatNode* make_listing_word(std::string_view word);
// Allocates memory that is never freed, for data that rule tables refer to. copy_name_list copies `names` into such
// memory.
void* allocate_permanently(size_t size, size_t align);
std::span<const char* const> copy_name_list(std::initializer_list<const char*> names);
const PatNode* make_alu(Op op, std::initializer_list<const PatNode*> operands);
const PatNode* make_const(Const value, DTypeSet dtypes);

// ---- expressions
//
// Every expression type has
//   kBoundCaptures   the bit set of the capture ids that the expression binds, or that a right side uses
//   kIsPattern       true if the expression may be part of a left side
//   node()           returns the pattern node, for matching and listings
// and, if it may be part of a right side, at least one of
//   build(m)   makes the expression's node
//   value(m)   returns a number; if kIsNumber is true, it becomes a constant with the dtype of the operand next to it
template <uint64_t Bound>
class Pat;

template <class Self>
struct PatternExpr {
  auto pat() const { return Pat<Self::kBoundCaptures>(self().node()); }
  template <class Capture>
  auto as(Capture name) const { return pat().as(name); }
  auto of(DTypeSet dtypes) const { return pat().of(dtypes); }
  auto of(DType scalar) const { return pat().of(scalar); }
  auto arg(Arg value) const { return pat().arg(value); }

  static constexpr bool kIsNumber = false;

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

template <class T>
concept Expression = std::derived_from<T, PatternExpr<T>>;
template <class T>
concept PatLike = Expression<T> && T::kIsPattern;
template <class T>
concept LiteralType = std::is_arithmetic_v<T>;
template <class T>
concept ExprTerm = Expression<T> || LiteralType<T>;
template <class T>
concept NumberExpr = Expression<T> && T::kIsNumber;
template <class T>
concept BuildableExpr = requires(const T& t, const PatternMatch& m) { { t.build(m) } -> std::same_as<UOp>; };

// A pattern that only left sides may use, such as any_of(p, q) or p.of(dtypes::ints): no node can be built from it.
template <uint64_t Bound>
class Pat : public PatternExpr<Pat<Bound>> {
 public:
  static constexpr uint64_t kBoundCaptures = Bound;
  static constexpr bool kIsPattern = true;
  explicit Pat(const PatNode* n) : node_(n) {}
  const PatNode* node() const { return node_; }

  template <class Capture>
  auto as(Capture) const {
    return with_change<Bound | Capture::kBoundCaptures>([](PatNode& n) { n.capture = Capture::kCaptureId; });
  }
  Pat of(DTypeSet dtypes) const { return with_change([&](PatNode& n) { n.dtypes = dtypes; }); }
  Pat of(DType scalar) const { return of(DTypeSet{scalar.scalar_kind()}); }
  Pat arg(Arg value) const { return with_change([&](PatNode& n) { n.has_arg = true, n.arg = value; }); }
  Pat arg_ints(std::span<const int64_t> values) const {
    return with_change([&](PatNode& n) { n.has_arg_ints = true, n.arg_ints = values; });
  }
  Pat early_reject(OpSet ops) const {
    return with_change([&](PatNode& n) { n.has_early_reject = true, n.early_reject = ops; });
  }

 private:
  template <uint64_t B = Bound, class Change>
  Pat<B> with_change(Change change) const {
    PatNode copy = *node_;
    change(copy);
    return Pat<B>(make_pattern_node(copy));
  }
  const PatNode* node_;
};

// A name, such as x, that a pattern binds to the matched node. If `Constant` is true, it matches CONST and VCONST only.
template <int Id, bool Constant = false>
struct Capture : PatternExpr<Capture<Id, Constant>> {
  static constexpr int kCaptureId = Id;
  static constexpr uint64_t kBoundCaptures = uint64_t(1) << Id;
  static constexpr bool kIsPattern = true;
  static const PatNode* node() {
    static const PatNode* const n = [] {
      PatNode node;
      if (Constant) node.ops = {Op::CONST, Op::VCONST};
      node.capture = Id;
      return make_pattern_node(node);
    }();
    return n;
  }
  auto scalar() const
    requires(Constant)
  {
    PatNode copy = *node();
    copy.ops = {Op::CONST};
    return Pat<kBoundCaptures>(make_pattern_node(copy));
  }
  UOp build(const PatternMatch& m) const { return m.captured[Id]; }
  Const value(const PatternMatch& m) const
    requires(Constant)
  {
    return m.captured[Id].arg().to_const();
  }
};

struct LiteralNumber : PatternExpr<LiteralNumber> {
  explicit LiteralNumber(Const v) : number(v) {}
  static constexpr uint64_t kBoundCaptures = 0;
  static constexpr bool kIsPattern = false;  // a number alone is not a pattern, but it can be an operand in one
  static constexpr bool kIsNumber = true;
  const PatNode* node() const { return make_const(number, {}); }
  Const value(const PatternMatch&) const { return number; }
  Const number;
};
template <LiteralType T>
LiteralNumber to_expr(T value) { return LiteralNumber(Const(value)); }
template <Expression T>
T to_expr(T e) { return e; }
template <class T>
using ExprOf = decltype(to_expr(std::declval<T>()));

// The names that patterns may bind; their order has no meaning. name_of_capture returns the text of a name.
#define TGC_CAPTURES(X)                                                                                                \
  X(x) X(x2) X(x3) X(y) X(z) X(a) X(b) X(d) X(e) X(f) X(g) X(i) X(l) X(m) X(n) X(p) X(q) X(r) X(s) X(t) X(u) X(v) X(w) \
  X(ff) X(tt) X(alt) X(alu_node) X(base) X(buf) X(cat) X(cond) X(cut) X(data) X(dev) X(end_) X(gate) X(idx) X(inv)     \
  X(lower) X(upper) X(red) X(root) X(val) X(vec) X(wmma)
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

template <PatLike T>
const PatNode* pattern_node_of(T p) { return p.node(); }

// The op of a UnaryAlu or BinaryAlu expression: in FixedOp, a template argument; in RuntimeOp, a member.
template <Op kOp>
struct FixedOp {
  static constexpr uint64_t kBoundCaptures = 0;
  static constexpr bool kHasKnownOp = true;
  static constexpr Op op(const PatternMatch&) { return kOp; }
  template <class... Operands>
  static const PatNode* node(Operands... operands) {
    // operator- builds x * -1 or x + -y, not a NEG or SUB, so this pattern node is only for printing, as "-"
    if constexpr (kOp == Op::NEG || kOp == Op::SUB) return make_listing_call("-", {operands...});
    else return make_alu(kOp, {operands...});
  }
};
struct RuntimeOp {
  static constexpr uint64_t kBoundCaptures = 0;
  static constexpr bool kHasKnownOp = true;
  Op fixed_op;
  Op op(const PatternMatch&) const { return fixed_op; }
  const PatNode* listing_word() const { return make_listing_word(name_of(fixed_op)); }
  template <class... Operands>
  const PatNode* node(Operands... operands) const { return make_alu(fixed_op, {operands...}); }
};

template <Expression E>
const PatNode* pattern_operand_like(const E& e, const PatNode* other) {
  if constexpr (std::same_as<E, LiteralNumber>) return make_const(e.number, other->dtypes);
  else return e.node();
}
// Builds the node of operand `e`; a number becomes a constant with the dtype of `other`.
template <Expression E>
UOp build_operand_like(const E& e, UOp other, const PatternMatch& m) {
  if constexpr (NumberExpr<E>) return other.const_like(e.value(m));
  else return e.build(m);
}
// Calls use(a, b) with the pattern nodes of the operands (call_with_nodes) or with the nodes built from them
// (call_with_uops). At most one operand may be a number.
template <Expression A, Expression B, class Use>
auto call_with_nodes(const A& a, const B& b, Use use) {
  static_assert(!NumberExpr<A> || !NumberExpr<B>, "an operand must be a node: a number alone has no dtype");
  if constexpr (NumberExpr<A>) {
    const PatNode* other = b.node();
    return use(pattern_operand_like(a, other), other);
  } else {
    const PatNode* other = a.node();
    return use(other, pattern_operand_like(b, other));
  }
}
template <Expression A, Expression B, class Use>
auto call_with_uops(const A& a, const B& b, const PatternMatch& m, Use use) {
  if constexpr (NumberExpr<A>) {
    UOp other = b.build(m);
    return use(build_operand_like(a, other, m), other);
  } else {
    UOp other = a.build(m);
    return use(other, build_operand_like(b, other, m));
  }
}
template <class... Es>
constexpr bool kAreAllPatterns = ((Es::kIsPattern || std::same_as<Es, LiteralNumber>) && ...);

// Compute `op` on numbers. fold_unary supports NEG and LOG2; fold_binary supports ADD, SUB, MUL, IDIV and MOD. IDIV and
// MOD take the numbers' integer parts and truncate toward zero, as in graphs. Throw a Failure for any other op.
Const fold_unary(Op op, Const a);
Const fold_binary(Op op, Const a, Const b);

template <class OpOf, Expression A>
struct UnaryAlu : PatternExpr<UnaryAlu<OpOf, A>> {
  [[no_unique_address]] OpOf op_of;
  [[no_unique_address]] A a;
  UnaryAlu(OpOf op_of, A a) : op_of(op_of), a(a) {}
  static constexpr uint64_t kBoundCaptures = OpOf::kBoundCaptures | A::kBoundCaptures;
  static constexpr bool kIsPattern = OpOf::kHasKnownOp && A::kIsPattern;
  const PatNode* node() const { return op_of.node(a.node()); }
  UOp build(const PatternMatch& m) const
    requires BuildableExpr<A>
  {
    UOp x = a.build(m);
    if constexpr (std::same_as<OpOf, FixedOp<Op::NEG>>) return -x;
    else return x.alu(op_of.op(m));
  }
  Const value(const PatternMatch& m) const { return fold_unary(op_of.op(m), a.value(m)); }
};

template <class OpOf, Expression A, Expression B>
struct BinaryAlu : PatternExpr<BinaryAlu<OpOf, A, B>> {
  [[no_unique_address]] OpOf op_of;
  [[no_unique_address]] A a;
  [[no_unique_address]] B b;
  BinaryAlu(OpOf op_of, A a, B b) : op_of(op_of), a(a), b(b) {}
  static constexpr uint64_t kBoundCaptures = OpOf::kBoundCaptures | A::kBoundCaptures | B::kBoundCaptures;
  static constexpr bool kIsPattern = OpOf::kHasKnownOp && kAreAllPatterns<A, B>;
  const PatNode* node() const {
    return call_with_nodes(a, b, [&](auto* x, auto* y) { return op_of.node(x, y); });
  }
  UOp build(const PatternMatch& m) const
    requires((BuildableExpr<A> || NumberExpr<A>) && (BuildableExpr<B> || NumberExpr<B>))
  {
    if constexpr (!std::same_as<OpOf, FixedOp<Op::SUB>>)
      return call_with_uops(a, b, m, [&](UOp x, UOp y) { return x.alu(op_of.op(m), y); });
    else if constexpr (NumberExpr<B>) return a.build(m) - b.value(m);  // node - number adds the negated number
    else return call_with_uops(a, b, m, [](UOp x, UOp y) { return x - y; });
  }
  Const value(const PatternMatch& m) const { return fold_binary(op_of.op(m), a.value(m), b.value(m)); }
};

#define TGC_PAT_BINARY(symbol, OP)                                \
  template <ExprTerm A, ExprTerm B>                                       \
    requires(Expression<A> || Expression<B>)                      \
  auto symbol(A a, B b) { return BinaryAlu(FixedOp<Op::OP>(), to_expr(a), to_expr(b)); }
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
TGC_PAT_BINARY(operator-, SUB)  // left sides must not use the binary or the unary operator-
#undef TGC_PAT_BINARY

#define TGC_PAT_UNARY(name, OP) \
  template <Expression A>       \
  auto name(A a) { return UnaryAlu(FixedOp<Op::OP>(), a); }
TGC_PAT_UNARY(reciprocal, RECIPROCAL)
TGC_PAT_UNARY(exp2, EXP2)
TGC_PAT_UNARY(log2, LOG2)
TGC_PAT_UNARY(sqrt, SQRT)
TGC_PAT_UNARY(trunc, TRUNC)
TGC_PAT_UNARY(operator-, NEG)
#undef TGC_PAT_UNARY

template <Expression A, ExprTerm B>
auto fdiv(A a, B b) {  // a * (1 / b); with a literal, only a pattern
  if constexpr (LiteralType<B>)
    return Pat<A::kBoundCaptures>(
        make_alu(Op::MUL, {a.node(), make_alu(Op::RECIPROCAL, {make_const(Const(b), a.node()->dtypes)})}));
  else return a * reciprocal(b);
}
template <Expression A>
auto logical_not(A a) { return a != true; }

template <Expression C, Expression Y, Expression N>
struct Where : PatternExpr<Where<C, Y, N>> {
  [[no_unique_address]] C cond;
  [[no_unique_address]] Y yes;
  [[no_unique_address]] N no;
  Where(C cond, Y yes, N no) : cond(cond), yes(yes), no(no) {}
  static constexpr uint64_t kBoundCaptures = C::kBoundCaptures | Y::kBoundCaptures | N::kBoundCaptures;
  static constexpr bool kIsPattern = kAreAllPatterns<C, Y, N>;
  const PatNode* node() const {
    return call_with_nodes(yes, no, [&](auto* y, auto* n) { return make_alu(Op::WHERE, {cond.node(), y, n}); });
  }
  UOp build(const PatternMatch& m) const
    requires(BuildableExpr<C> && (BuildableExpr<Y> || NumberExpr<Y>) && (BuildableExpr<N> || NumberExpr<N>))
  {
    UOp test = cond.build(m);
    return call_with_uops(yes, no, m, [&](UOp y, UOp n) { return test.where(y, n); });
  }
};
template <Expression C, ExprTerm Y, ExprTerm N>
  requires(Expression<Y> || Expression<N>)
auto where(C cond, Y yes, N no) { return Where(cond, to_expr(yes), to_expr(no)); }

template <PatLike T>
auto alu(OpSet ops, T a) { return UnaryAlu(RuntimeOp{ops.first()}, a); }
template <ExprTerm A, ExprTerm B>
  requires(Expression<A> || Expression<B>)
auto alu(Op op, A a, B b) { return BinaryAlu(RuntimeOp{op}, to_expr(a), to_expr(b)); }

inline Pat<0> anything() { return Pat<0>(make_pattern_node({})); }
inline Pat<0> node(OpSet ops) { return Pat<0>(make_pattern_node({.ops = ops})); }
inline Pat<0> leaf_node(OpSet ops) {
  return Pat<0>(make_pattern_node({.ops = ops, .sources = PatNode::Sources::Exact}));
}
template <PatLike... Ts>
  requires(sizeof...(Ts) > 0)
auto node(OpSet ops, Ts... sources) {
  return Pat<(Ts::kBoundCaptures | ...)>(
      make_pattern_node({.ops = ops, .sources = PatNode::Sources::Exact}, {pattern_node_of(sources)...}));
}
template <PatLike... Ts>
auto any_len(OpSet ops, Ts... first) {
  return Pat<(Ts::kBoundCaptures | ...)>(
      make_pattern_node({.ops = ops, .sources = PatNode::Sources::Prefix}, {pattern_node_of(first)...}));
}
template <PatLike T>
auto each(OpSet ops, T source) {
  return Pat<T::kBoundCaptures>(
      make_pattern_node({.ops = ops, .sources = PatNode::Sources::Each}, {pattern_node_of(source)}));
}
// Matches a cast to any dtype or, with `dtypes`, to one of these dtypes.
template <PatLike T>
auto cast(T a) { return node(Op::CAST, a); }
template <PatLike T>
auto cast(T a, DTypeSet dtypes) { return node(Op::CAST, a).of(dtypes); }
inline Pat<0> constant(Const value) { return Pat<0>(make_const(value, {})); }
inline Pat<0> constant(Const value, DType dtype) { return Pat<0>(make_const(value, DTypeSet{dtype.scalar_kind()})); }

template <PatLike A, PatLike... Ts>
auto any_of(A first, Ts... rest) {
  return Pat<(A::kBoundCaptures & ... & Ts::kBoundCaptures)>(
      make_pattern_node({.has_alternatives = true}, {pattern_node_of(first), pattern_node_of(rest)...}));
}
template <PatLike T>
auto or_casted(T p) { return any_of(p, cast(p)); }
template <PatLike T, class Name>
auto or_casted(T p, Name name) { return any_of(p.as(name), cast(p).as(name)); }
template <PatLike T>
auto or_after(T p) { return any_of(p, any_len(Op::AFTER, p)); }
template <PatLike T, class Name>
auto or_after(T p, Name name) { return any_of(p.as(name), any_len(Op::AFTER, p).as(name)); }

// Returns the pattern as text for listings, such as "((x + c0) < c1)".
std::string pattern_text(const PatNode& node);

}  // namespace tgc::pat
