// Right sides and guards of rules. A right side makes a node from the nodes that the pattern bound. Both are C++
// expressions, which are compiled for rewriting and printed in listings.
//
//   x, x + y, where(c, x, y)    make the nodes that the same expressions match in patterns (pattern.h); a literal
//                               becomes a constant with the dtype of the operand next to it
//   x - y, -x                   become x + -y and x * -1 (for a bool, x != true), as in UOps
//   fold(c1 * c2)               a number, computed from the values of constants; it becomes a constant with the dtype
//                               of the operand next to it. The operators are Python's on numbers, except that / and %
//                               truncate as in graphs; floor_div, floor_mod and true_div are Python's //, % and / of
//                               integers; ceil and floor return integers
//   fold<f>(x, c)               the number that the function f returns for these nodes
//   vmin(x), vmax(x)            numbers: the bounds of a node
//   count(x), num_src(x)        numbers: the element count of a node's dtype, and its number of sources
//   const_like(x, 0)            a constant with x's dtype, shape and device; its value is a number, such as a literal
//                               or fold(...), or that of a captured constant
//   cast(x, dtypes::int32)      a cast. The dtype may also be dtype_of(u), the dtype of u; element_dtype_of(u), the
//                               scalar dtype of u; or dtype_by<f>(u, x), the dtype that the function f returns
//   alu(op_of(u), x, y)         u's op applied to x and y; alu(Op::SUB, x, y) applies any fixed op
//   uop(op, dtype, x, y)        a node without arg, where op is an Op or op_of(u); noop() makes a NOOP
//   with_src(u, x, y)           u with other sources; with_dtype: with another dtype; replace(u, dtype, x, y): both
//   with_first_src(u, x)        u with another first source; with_first_src(u, x, dtype) also changes its dtype
//   broadcast(x, count(u))      a vector of that many elements, each of them x
//   with<f>(x, y)               the node that the function f returns, if no expression can make it. If f is the whole
//                               right side, f may return the empty UOp to decline, take the rewrite's context as its
//                               first parameter, and have branches (see rules.h)
//
//   when<f>(x, c), unless<f>(x, c)    guards: the rule applies if f returns true (false) for these nodes
//
// Functions are template arguments, so that listings can print their names and the compiler can inline them.
#pragma once
#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "lib/rewrite/pattern.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"

namespace tgc {

// The result of a function with several foldings (rules.h): the node, and the name of the folding that made it.
struct FoldingResult {
  UOp node;
  const char* branch = nullptr;
};
// lets the functions of a shortcut (shortcut.h) return a FoldingResult
inline std::span<UOp> as_span(FoldingResult& taken) { return {&taken.node, 1}; }

}  // namespace tgc

namespace tgc::pat {

inline constexpr std::string_view kLambdaText = "{...}";

template <auto F>
constexpr std::string_view function_name() {
  if (!std::is_pointer_v<decltype(F)>) return kLambdaText;
  // __PRETTY_FUNCTION__ ends in "[with auto F = tgc::{anonymous}::name; ...]" in GCC, in "[F = &tgc::name]" in Clang.
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("F = ") + 4);
  text = text.substr(0, text.find_first_of(";]<"));
  size_t colons = text.rfind("::");
  return colons == text.npos ? text.substr(text[0] == '&') : text.substr(colons + 2);
}
template <auto F>
inline constexpr std::string_view kFunctionName = function_name<F>();  // stored, so that it is computed at compile time

template <class... Es>
constexpr uint64_t kBoundCapturesOf = (uint64_t(0) | ... | Es::kBoundCaptures);

template <Expression E>
struct Fold : PatternExpr<Fold<E>> {
  [[no_unique_address]] E argument;
  explicit Fold(E argument) : argument(argument) {}
  static constexpr uint64_t kBoundCaptures = E::kBoundCaptures;
  static constexpr bool kIsPattern = false, kIsNumber = true;
  const PatNode* node() const { return make_listing_call("fold", {argument.node()}); }
  Const value(const PatternMatch& m) const { return argument.value(m); }
};
template <Expression E>
auto fold(E argument) { return Fold(argument); }

template <auto F, class... Names>
struct NumberOf : PatternExpr<NumberOf<F, Names...>> {
  static constexpr uint64_t kBoundCaptures = kBoundCapturesOf<Names...>;
  static constexpr bool kIsPattern = false, kIsNumber = true;
  const PatNode* node() const { return make_listing_call(kFunctionName<F>, {Names::node()...}); }
  Const value(const PatternMatch& m) const { return F(m.captured[Names::kCaptureId]...); }
};
template <auto F, class... Names>
auto fold(Names...) { return NumberOf<F, Names...>(); }

namespace fact {
inline Const vmin(UOp u) { return u.vmin(); }
inline Const vmax(UOp u) { return u.vmax(); }
inline Const num_src(UOp u) { return int64_t(u.num_src()); }
inline Const count(UOp u) { return int64_t(u.dtype().count()); }
}  // namespace fact
#define TGC_FACT(name)    \
  template <class Name> \
  auto name(Name) { return NumberOf<fact::name, Name>(); }
TGC_FACT(vmin)
TGC_FACT(vmax)
TGC_FACT(num_src)
TGC_FACT(count)
#undef TGC_FACT

template <auto F, Expression... Es>
struct NumberFunction : PatternExpr<NumberFunction<F, Es...>> {
  [[no_unique_address]] std::tuple<Es...> operands;
  explicit NumberFunction(Es... es) : operands(es...) {}
  static constexpr uint64_t kBoundCaptures = kBoundCapturesOf<Es...>;
  static constexpr bool kIsPattern = false, kIsNumber = true;
  const PatNode* node() const {
    return std::apply([](auto&... es) { return make_listing_call(kFunctionName<F>, {es.node()...}); }, operands);
  }
  Const value(const PatternMatch& m) const {
    return std::apply([&](auto&... es) { return F(es.value(m)...); }, operands);
  }
};
namespace number {
Const floor_div(Const a, Const b);
Const floor_mod(Const a, Const b);
Const true_div(Const a, Const b);
Const ceil(Const a);
Const floor(Const a);
}  // namespace number
#define TGC_NUMBER_BINARY(name)                                                  \
  template <ExprTerm A, ExprTerm B>                                                      \
    requires(Expression<A> || Expression<B>)                                     \
  auto name(A a, B b) { return NumberFunction<number::name, ExprOf<A>, ExprOf<B>>(to_expr(a), to_expr(b)); }
TGC_NUMBER_BINARY(floor_div)
TGC_NUMBER_BINARY(floor_mod)
TGC_NUMBER_BINARY(true_div)
#undef TGC_NUMBER_BINARY
template <Expression E>
auto ceil(E argument) { return NumberFunction<number::ceil, E>(argument); }
template <Expression E>
auto floor(E argument) { return NumberFunction<number::floor, E>(argument); }

struct LiteralDType {
  DType dtype;
  static constexpr uint64_t kBoundCaptures = 0;
  DType of(const PatternMatch&) const { return dtype; }
  const PatNode* node() const { return make_listing_word(dtype.repr()); }
};
template <class Name>
struct CaptureDType {
  static constexpr uint64_t kBoundCaptures = Name::kBoundCaptures;
  static DType of(const PatternMatch& m) { return m.captured[Name::kCaptureId].dtype(); }
  static const PatNode* node() { return make_listing_call("dtype_of", {Name::node()}); }
};
template <class Name>
struct CaptureElementDType {
  static constexpr uint64_t kBoundCaptures = Name::kBoundCaptures;
  static DType of(const PatternMatch& m) { return m.captured[Name::kCaptureId].dtype().scalar(); }
  static const PatNode* node() { return make_listing_call("element_dtype_of", {Name::node()}); }
};
template <auto F, class... Names>
struct ComputedDType {
  static constexpr uint64_t kBoundCaptures = kBoundCapturesOf<Names...>;
  static DType of(const PatternMatch& m) { return F(m.captured[Names::kCaptureId]...); }
  static const PatNode* node() { return make_listing_call(kFunctionName<F>, {Names::node()...}); }
};
template <class Name>
auto dtype_of(Name) { return CaptureDType<Name>(); }
template <class Name>
auto element_dtype_of(Name) { return CaptureElementDType<Name>(); }
template <auto F, class... Names>
auto dtype_by(Names...) { return ComputedDType<F, Names...>(); }
inline LiteralDType dtype_expr(DType d) { return {d}; }
template <class D>
D dtype_expr(D d) { return d; }
template <class D>
using DTypeExprOf = decltype(dtype_expr(std::declval<D>()));

template <class Name>
struct CaptureOp {
  static constexpr uint64_t kBoundCaptures = Name::kBoundCaptures;
  static constexpr bool kHasKnownOp = false;
  static Op op(const PatternMatch& m) { return m.captured[Name::kCaptureId].op(); }
  static const PatNode* listing_word() { return make_listing_call("op_of", {Name::node()}); }
  template <class... Operands>
  static const PatNode* node(Operands... operands) { return make_listing_call("alu", {listing_word(), operands...}); }
};
template <class Name>
auto op_of(Name) { return CaptureOp<Name>(); }
template <class Name, Expression A>
auto alu(CaptureOp<Name> op, A a) { return UnaryAlu(op, a); }
template <class Name, ExprTerm A, ExprTerm B>
auto alu(CaptureOp<Name> op, A a, B b) { return BinaryAlu(op, to_expr(a), to_expr(b)); }

template <class D>
auto operand_value(const D& dtype_or_op, const PatternMatch& m)
  requires(!Expression<D>)
{
  return dtype_or_op.of(m);
}
template <Expression E>
auto operand_value(const E& argument, const PatternMatch& m) {
  if constexpr (NumberExpr<E>) return argument.value(m);
  else return argument.build(m);
}

template <class F, class... Operands>
struct BuilderExpr : PatternExpr<BuilderExpr<F, Operands...>> {
  [[no_unique_address]] std::tuple<Operands...> operands;
  explicit BuilderExpr(Operands... operands) : operands(operands...) {}
  static constexpr uint64_t kBoundCaptures = kBoundCapturesOf<Operands...>;
  static constexpr bool kIsPattern = false;
  const PatNode* node() const {
    return std::apply([](auto&... operand) { return make_listing_call(F::kName, {operand.node()...}); }, operands);
  }
  UOp build(const PatternMatch& m) const {
    return std::apply(
        [&](auto&... operand) {
          return std::apply([](auto... v) { return F::make(v...); }, std::tuple{operand_value(operand, m)...});
        },
        operands);
  }
};
template <Expression E, class D>
struct Cast : PatternExpr<Cast<E, D>> {
  [[no_unique_address]] E argument;
  [[no_unique_address]] D to;
  Cast(E argument, D to) : argument(argument), to(to) {}
  static constexpr uint64_t kBoundCaptures = E::kBoundCaptures | D::kBoundCaptures;
  static constexpr bool kIsPattern = E::kIsPattern && std::same_as<D, LiteralDType>;
  const PatNode* node() const {
    if constexpr (kIsPattern) return cast(argument, DTypeSet{to.dtype.scalar_kind()}).node();
    else return make_listing_call("cast", {argument.node(), to.node()});
  }
  UOp build(const PatternMatch& m) const { return argument.build(m).cast(to.of(m)); }
};
template <Expression E, class D>
  requires(!std::same_as<D, DTypeSet>)
auto cast(E argument, D to) { return Cast<E, DTypeExprOf<D>>(argument, dtype_expr(to)); }

struct ConstLikeBuilder {
  static constexpr char kName[] = "const_like";
  static UOp make(UOp like, Const v) { return like.const_like(v); }
  static UOp make(UOp like, UOp constant) { return const_like_arg(like, constant.arg()); }
};
template <Expression E, ExprTerm V>
auto const_like(E like, V value) { return BuilderExpr<ConstLikeBuilder, E, ExprOf<V>>(like, to_expr(value)); }

struct WithSrcBuilder {
  static constexpr char kName[] = "with_src";
  template <class... Sources>
  static UOp make(UOp u, Sources... src) { return u.with_src({src...}); }
};
template <class Name, Expression... Es>
auto with_src(Name u, Es... src) { return BuilderExpr<WithSrcBuilder, Name, Es...>(u, src...); }

struct WithFirstSrcBuilder {
  static constexpr char kName[] = "with_first_src";
  static UOp make(UOp u, UOp first) { return make(u, first, u.dtype()); }
  static UOp make(UOp u, UOp first, DType dtype) {
    auto src = prepend(first, u.src().subspan(1));
    return u.replace({.dtype = dtype, .src = src});
  }
};
template <class Name, Expression E>
auto with_first_src(Name u, E first) { return BuilderExpr<WithFirstSrcBuilder, Name, E>(u, first); }
template <class Name, Expression E, class D>
auto with_first_src(Name u, E first, D dtype) {
  return BuilderExpr<WithFirstSrcBuilder, Name, E, DTypeExprOf<D>>(u, first, dtype_expr(dtype));
}

struct WithDTypeBuilder {
  static constexpr char kName[] = "with_dtype";
  static UOp make(UOp u, DType dtype) { return u.with_dtype(dtype); }
};
template <Expression E, class D>
auto with_dtype(E u, D dtype) { return BuilderExpr<WithDTypeBuilder, E, DTypeExprOf<D>>(u, dtype_expr(dtype)); }

struct ReplaceBuilder {
  static constexpr char kName[] = "replace";
  template <class... Sources>
  static UOp make(UOp u, DType dtype, Sources... src) {
    const UOp sources[] = {src...};
    return u.replace({.dtype = dtype, .src = std::span(sources)});
  }
};
template <class Name, class D, Expression... Es>
auto replace(Name u, D dtype, Es... src) {
  return BuilderExpr<ReplaceBuilder, Name, DTypeExprOf<D>, Es...>(u, dtype_expr(dtype), src...);
}

struct BroadcastBuilder {
  static constexpr char kName[] = "broadcast";
  static UOp make(UOp x, Const count) { return x.broadcast(int64_t(count.raw_bits())); }
};
template <Expression E, NumberExpr N>
auto broadcast(E x, N count) { return BuilderExpr<BroadcastBuilder, E, N>(x, count); }

struct TernaryAluBuilder {
  static constexpr char kName[] = "alu";
  static UOp make(Op op, UOp a, UOp b, UOp c) { return a.alu(op, b, c); }
};
struct LiteralOp {
  Op op;
  static constexpr uint64_t kBoundCaptures = 0;
  Op of(const PatternMatch&) const { return op; }
  const PatNode* node() const { return make_listing_word(name_of(op)); }
};
template <Expression A, Expression B, Expression C>
auto alu(Op op, A a, B b, C c) { return BuilderExpr<TernaryAluBuilder, LiteralOp, A, B, C>(LiteralOp{op}, a, b, c); }

template <class OpOf, class D, Expression... Es>
struct Uop : PatternExpr<Uop<OpOf, D, Es...>> {
  [[no_unique_address]] OpOf op_of;
  [[no_unique_address]] D dtype;
  [[no_unique_address]] std::tuple<Es...> sources;
  Uop(OpOf op_of, D dtype, Es... sources) : op_of(op_of), dtype(dtype), sources(sources...) {}
  static constexpr uint64_t kBoundCaptures = OpOf::kBoundCaptures | kBoundCapturesOf<D, Es...>;
  static constexpr bool kIsPattern = false;
  const PatNode* node() const {
    return std::apply(
        [&](auto&... es) { return make_listing_call("uop", {op_of.listing_word(), dtype.node(), es.node()...}); },
        sources);
  }
  UOp build(const PatternMatch& m) const {
    return std::apply([&](auto&... es) {
      std::array<UOp, sizeof...(Es)> built{es.build(m)...};
      return m.root.graph().node(op_of.op(m), dtype.of(m), UOpSpan(std::span<const UOp>(built)));
    }, sources);
  }
};
template <class D, Expression... Es>
auto uop(Op op, D dtype, Es... sources) {
  return Uop<RuntimeOp, DTypeExprOf<D>, Es...>(RuntimeOp{op}, dtype_expr(dtype), sources...);
}
template <class Name, class D, Expression... Es>
auto uop(CaptureOp<Name> op, D dtype, Es... sources) {
  return Uop<CaptureOp<Name>, DTypeExprOf<D>, Es...>(op, dtype_expr(dtype), sources...);
}
inline auto noop() { return uop(Op::NOOP, dtypes::void_); }

template <class R, class First, class... Rest>
First first_parameter(R (*)(First, Rest...));
template <auto F, class... Es>
constexpr bool kIsContextTaken =
    !std::invocable<decltype(F), decltype(std::declval<Es>().build(std::declval<PatternMatch>()))...>;
template <auto F>
using ContextOf = std::remove_reference_t<decltype(first_parameter(+F))>;
[[noreturn]] void throw_wrong_context(std::string_view function);

template <class Ctx>
Ctx& rule_context_of(const PatternMatch& m, std::string_view function) {
  if (m.ctx_type != type_key<Ctx>() && !(std::is_const_v<Ctx> && m.ctx_type == type_key<std::remove_const_t<Ctx>>()))
    throw_wrong_context(function);
  return *static_cast<Ctx*>(m.ctx);
}

template <auto F, Expression... Es>
struct With : PatternExpr<With<F, Es...>> {
  [[no_unique_address]] std::tuple<Es...> operands;
  std::span<const char* const> folding_names = {};
  explicit With(Es... es) : operands(es...) {}
  static constexpr uint64_t kBoundCaptures = kBoundCapturesOf<Es...>;
  static constexpr bool kIsPattern = false;
  const PatNode* node() const {
    if constexpr (!std::is_pointer_v<decltype(F)>)
      return make_pattern_node({.listing_name = kLambdaText, .is_function = true});
    else
      return std::apply([](auto&... es) { return make_listing_function(kFunctionName<F>, {es.node()...}); }, operands);
  }
  UOp build(const PatternMatch& m) const {
    return std::apply([&](auto&... es) {
      return std::apply([&](auto... nodes) {
        if constexpr (kIsContextTaken<F, Es...>) {
          using Ctx = ContextOf<F>;
          return record_branch(m, F(rule_context_of<Ctx>(m, kFunctionName<F>), nodes...));
        } else {
          return record_branch(m, F(nodes...));
        }
      }, std::tuple{es.build(m)...});
    }, operands);
  }
  // States the names of all foldings of the function, for listings. The function must return a FoldingResult.
  With branches(std::initializer_list<const char*> all) const {
    With out = *this;
    out.folding_names = copy_name_list(all);
    return out;
  }

 private:
  static UOp record_branch(const PatternMatch&, UOp out) { return out; }
  static UOp record_branch(const PatternMatch& m, FoldingResult out) { return m.branch = out.branch, out.node; }
};
template <auto F, Expression... Es>
auto with(Es... es) { return With<F, Es...>(es...); }
// with(x, y, lambda): the node that the lambda, the last argument, returns for the nodes that x and y matched.
template <class... Args>
  requires(sizeof...(Args) > 1)
auto with(Args... args) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    std::tuple all(args...);
    using Lambda = std::tuple_element_t<sizeof...(I), std::tuple<Args...>>;
    static_assert(std::is_empty_v<Lambda>, "a right side captures nothing: a context comes in when it runs");
    return With<Lambda{}, std::tuple_element_t<I, std::tuple<Args...>>...>(std::get<I>(all)...);
  }(std::make_index_sequence<sizeof...(Args) - 1>());
}
// Like with, for a lambda whose first parameter is a Ctx&, the rewrite's context. If no rule of a set can change the
// context (each takes a const reference), the rewriter may choose the order in which it rewrites the nodes.
template <class Ctx, class... Args>
auto with_ctx(Args... args) { return with(args...); }

template <bool kWanted, auto F, class... Names>
struct RuleGuard {
  static constexpr uint64_t kBoundCaptures = kBoundCapturesOf<Names...>;
  static bool holds(const PatternMatch& m) { return F(m.captured[Names::kCaptureId]...) == kWanted; }
  static const PatNode* node() {
    const PatNode* call = make_listing_call(kFunctionName<F>, {Names::node()...});
    return kWanted ? call : make_listing_call("not", {call});
  }
};
template <auto F, class... Names>
auto when(Names...) { return RuleGuard<true, F, Names...>(); }
template <auto F, class... Names>
auto unless(Names...) { return RuleGuard<false, F, Names...>(); }

template <Expression R, class... Guards>
struct RuleBranch {
  const char* name;
  [[no_unique_address]] R right;
  static constexpr uint64_t kBoundCaptures = R::kBoundCaptures | kBoundCapturesOf<Guards...>;
  static constexpr bool kHasGuards = sizeof...(Guards) > 0;
  static bool holds(const PatternMatch& m) { return (Guards::holds(m) && ...); }
  static std::vector<const PatNode*> guards() { return {Guards::node()...}; }
  static std::vector<bool (*)(const PatternMatch&)> guard_tests() { return {Guards::holds...}; }
};
template <Expression R, class... Guards>
auto branch(const char* name, R right, Guards...) { return RuleBranch<R, Guards...>{name, right}; }

}  // namespace tgc::pat
