// Rules and rule sets (tinygrad's PatternMatcher, uop/ops.py).
//
//   rule("add-zero", x + 0, x)                                           a right side that is algebra
//   rule("max-by-bounds", maximum(x, y), with(x, y, [](UOp x, UOp y) {   a right side that computes; the empty UOp declines
//     return ...;
//   }))
//   rule("add-control-flow", node(Op::RANGE).as(x), with_ctx<CfgContext>(x, [](CfgContext& ctx, UOp x) { ... }))
//
// Order is meaning: the rules of a set are tried in order, a rule's alternatives in tinygrad's permutation order. A right side that
// returns nothing declines, and the next alternative is tried; one that returns the very node ends that rule, and the next rule is tried.
#pragma once
#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/rewrite/pattern.h"

namespace tgc {

class Matcher;

// What an action sees: the node that matched, the names it bound, the context of this rewrite.
struct Match {
  UOp root;
  const UOp* captured;  // by capture id
  void* ctx;
  const char* ctx_type;  // identifies ctx's C++ type
};

using AnyFunction = void (*)();

struct Rule {
  std::string_view name;
  std::string_view file;  // of the rule's line, and that line
  uint32_t line;
  const pat::PatNode* left;
  const pat::PatNode* right;                             // a template; null when `call` computes
  UOp (*call)(const Rule& rule, const Match& match);     // runs `function` on the captures
  AnyFunction function;
  bool uses_ctx, changes_ctx;
  uint32_t id;  // dense over all rules of the process, given when its set is made
  std::string_view set = {};  // the set that it was written in; so too
};

namespace detail {

template <class T>
struct TypeKey {
  static constexpr char kKey = 0;
};
[[noreturn]] void wrong_context(const Rule& rule);

template <uint64_t Used>
struct Action {
  UOp (*call)(const Rule&, const Match&);
  AnyFunction function;
  bool uses_ctx = false, changes_ctx = false;
};

template <class T>
using UOpFor = UOp;

template <class... Cs>
UOp call_plain(const Rule& rule, const Match& m) {
  return reinterpret_cast<UOp (*)(UOpFor<Cs>...)>(rule.function)(m.captured[Cs::kId]...);
}
template <class Ctx, class... Cs>
UOp call_ctx(const Rule& rule, const Match& m) {
  if (m.ctx_type != &TypeKey<Ctx>::kKey && !(std::is_const_v<Ctx> && m.ctx_type == &TypeKey<std::remove_const_t<Ctx>>::kKey)) wrong_context(rule);
  return reinterpret_cast<UOp (*)(Ctx&, UOpFor<Cs>...)>(rule.function)(*static_cast<Ctx*>(m.ctx), m.captured[Cs::kId]...);
}
template <class... Cs>
constexpr uint64_t kUsed = (uint64_t(0) | ... | (uint64_t(1) << Cs::kId));

}  // namespace detail

// with(names..., function): the function gets the nodes that the names bound. It is a lambda without captures or a function pointer.
template <class A>
auto with(A, UOp (*fn)(UOp)) {
  return detail::Action<detail::kUsed<A>>{detail::call_plain<A>, reinterpret_cast<AnyFunction>(fn)};
}
template <class A, class B>
auto with(A, B, UOp (*fn)(UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B>>{detail::call_plain<A, B>, reinterpret_cast<AnyFunction>(fn)};
}
template <class A, class B, class C>
auto with(A, B, C, UOp (*fn)(UOp, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B, C>>{detail::call_plain<A, B, C>, reinterpret_cast<AnyFunction>(fn)};
}
template <class A, class B, class C, class D>
auto with(A, B, C, D, UOp (*fn)(UOp, UOp, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B, C, D>>{detail::call_plain<A, B, C, D>, reinterpret_cast<AnyFunction>(fn)};
}
template <class A, class B, class C, class D, class E>
auto with(A, B, C, D, E, UOp (*fn)(UOp, UOp, UOp, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B, C, D, E>>{detail::call_plain<A, B, C, D, E>, reinterpret_cast<AnyFunction>(fn)};
}
template <class A, class B, class C, class D, class E, class F>
auto with(A, B, C, D, E, F, UOp (*fn)(UOp, UOp, UOp, UOp, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B, C, D, E, F>>{detail::call_plain<A, B, C, D, E, F>, reinterpret_cast<AnyFunction>(fn)};
}
// with_ctx<Ctx>(names..., function): as with, and the function's first parameter is the rewrite's context. Of rules that take it const the
// rewriter may choose the order.
template <class Ctx, class A>
auto with_ctx(A, UOp (*fn)(Ctx&, UOp)) {
  return detail::Action<detail::kUsed<A>>{detail::call_ctx<Ctx, A>, reinterpret_cast<AnyFunction>(fn), true, !std::is_const_v<Ctx>};
}
template <class Ctx, class A, class B>
auto with_ctx(A, B, UOp (*fn)(Ctx&, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B>>{detail::call_ctx<Ctx, A, B>, reinterpret_cast<AnyFunction>(fn), true, !std::is_const_v<Ctx>};
}
template <class Ctx, class A, class B, class C>
auto with_ctx(A, B, C, UOp (*fn)(Ctx&, UOp, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B, C>>{detail::call_ctx<Ctx, A, B, C>, reinterpret_cast<AnyFunction>(fn), true, !std::is_const_v<Ctx>};
}
template <class Ctx, class A, class B, class C, class D>
auto with_ctx(A, B, C, D, UOp (*fn)(Ctx&, UOp, UOp, UOp, UOp)) {
  return detail::Action<detail::kUsed<A, B, C, D>>{detail::call_ctx<Ctx, A, B, C, D>, reinterpret_cast<AnyFunction>(fn), true, !std::is_const_v<Ctx>};
}

// The call of a rule whose right side is a template.
UOp call_template(const Rule& rule, const Match& match);

template <pat::PatLike L, uint64_t Used>
Rule rule(std::string_view name, L left, detail::Action<Used> action, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
  static_assert((Used & ~pat::kBound<L>) == 0, "the right side uses a name that the left side does not bind");
  return {name, file, line, pat::node_of(left), nullptr, action.call, action.function, action.uses_ctx, action.changes_ctx, 0};
}
template <pat::PatLike L, pat::PatLike R>
Rule rule(std::string_view name, L left, R right, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
  static_assert((pat::kBound<R> & ~pat::kBound<L>) == 0, "the right side uses a name that the left side does not bind");
  return {name, file, line, pat::node_of(left), pat::node_of(right), call_template, nullptr, false, false, 0};
}

// An ordered list of rules with the matcher made from it. Sets are made once, in static storage, and never change.
class RuleSet {
 public:
  RuleSet(std::string_view name, std::initializer_list<Rule> rules);
  RuleSet(std::string_view name, std::vector<Rule> rules);
  RuleSet(std::string_view name, std::initializer_list<const RuleSet*> parts);  // one after another; a rule keeps its identity
  RuleSet(std::string_view name, const std::vector<const RuleSet*>& parts);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;
  ~RuleSet();

  std::string_view name() const { return name_; }
  const std::vector<const Rule*>& rules() const { return rules_; }
  const Matcher& matcher() const {  // made when first asked for
    const Matcher* made = matcher_.load(std::memory_order_acquire);
    return made ? *made : make_matcher();
  }

 private:
  std::string_view name_;
  std::vector<std::unique_ptr<const Rule>> own_;
  std::vector<const Rule*> rules_;
  const Matcher& make_matcher() const;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Matcher> owned_;
  mutable std::atomic<const Matcher*> matcher_ = nullptr;
};

// How many rules have been made; Rule::id is below it. And the rule of an id; null when its set is gone.
uint32_t num_rules();
const Rule* rule_of(uint32_t id);

// The file of a rule or of a shortcut without the folders above the project: "passes/symbolic/simple.cpp".
std::string_view short_file(std::string_view file);
inline std::string_view short_file(const Rule& rule) { return short_file(rule.file); }
// "add-zero (passes/symbolic/simple.cpp:12)"
std::string describe(const Rule& rule);
// The right side as text: the template, or "{...}" when it computes.
std::string right_text(const Rule& rule);

}  // namespace tgc
