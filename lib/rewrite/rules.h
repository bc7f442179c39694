// Rules and rule sets (tinygrad's PatternMatcher, uop/ops.py). The forms of a rule:
//
//   left -> right, both algebra (pattern.h, right_side.h):
//     rule("add-zero", x + 0, x)
//   guarded: where `bool keeps(UOp, UOp)` says no, the rule declines:
//     rule("shr-drops-mask", (x & c1) >> c2, x >> c2, when<keeps>(c1, c2))
//   several foldings, each with its name: the first whose guards hold:
//     rule("or-const", x | c, branch("true", c, when<truthy>(c)), branch("false", x))
//   a function computes; the empty UOp declines:
//     rule("sink-flatten", node(Op::SINK).as(root), with<flatten_sink>(root))
//   it tells several foldings apart, and returns which it was (Taken):
//     rule("divmod-general", node(Op::MOD).as(d), with<fold_divmod>(d).branches({"cancel", "gcd"}))
//   its first parameter is the rewrite's context, here const Target&:
//     rule("fast-idiv", x / c, with<fast_idiv>(x, c))
//   a lambda, for what is too small for a name; listings show {...}:
//     rule("max", maximum(x, y), with(x, y, [](UOp x, UOp y) { ... }))
//
// Order is meaning: the rules of a set are tried in order, a rule's alternatives in tinygrad's permutation order. A
// rule whose guard says no, or whose function returns nothing, declines, and the next alternative is tried; one that
// returns the very node ends that rule, and the next rule is tried.
//
// Which form to take: algebra wherever a right side makes a fixed number of nodes, for that is what listings show,
// tests read and a prover can use. A guard is a question with a name that says what holds when the rule applies. A
// function is for right sides with loops over sources, and for those that read a context. A context comes in at rewrite
// time, never captured in a table.
#pragma once
#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/rewrite/right_side.h"

namespace tgc {

class Matcher;

using AnyFunction = void (*)();

// One of the things a rule may do, for listings. A rule that does one thing has one folding, without a name.
struct Folding {
  std::string_view name;
  const pat::PatNode* right;  // null: a lambda's
  std::vector<const pat::PatNode*> guards = {};
  std::span<const char* const> cases = {};  // the names of the foldings that a function tells apart
};

struct Rule {
  std::string_view name;
  std::string_view file;  // of the rule's line, and that line
  uint32_t line;
  const pat::PatNode* left;
  UOp (*call)(const Rule& rule, const Match& match);  // what the rule makes; the empty UOp declines
  AnyFunction function = nullptr;  // of a rule of lib/spec: the test
  const void* right = nullptr;     // the right side, of a type that `call` and `list` know
  std::vector<Folding> (*list)(const Rule& rule) = nullptr;
  bool may_decline = false;
  bool uses_ctx = false, changes_ctx = false;
  uint32_t id = 0;             // dense over all rules of the process, given when its set is made
  std::string_view set = {};  // the set that it was written in; so too
};

// The rule that applied to a node, and which of its foldings, null where it has but one.
struct Hit {
  const Rule* rule = nullptr;
  const char* branch = nullptr;
};

// What a rule makes of a match: every application of any rule passes here.
inline UOp apply_rule(const Rule& rule, const Match& match) { return rule.call(rule, match); }

// A rule's name and the line where it is written.
struct RuleName {
  RuleName(std::string_view text, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE())
      : text(text), file(file), line(line) {}
  RuleName(const char* text, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE())
      : text(text), file(file), line(line) {}
  std::string_view text;
  const char* file;
  uint32_t line;
};

namespace detail {

// The right sides of a rule as a tuple of branches.
template <pat::Expression R, class... Guards>
auto branches_of(R right, Guards...) { return std::tuple(pat::Branch<R, Guards...>{nullptr, right}); }
template <class R, class... Gs, class... More>
auto branches_of(pat::Branch<R, Gs...> first, More... more) { return std::tuple(first, more...); }

template <class... Branches>
UOp call_branches(const Rule& rule, const Match& m) {
  return std::apply([&](const Branches&... branch) {
    UOp out;
    (void)((branch.holds(m) && (m.branch = branch.name, out = branch.right.build(m))) || ...);
    return out;
  }, *static_cast<const std::tuple<Branches...>*>(rule.right));
}
template <class R>
std::span<const char* const> cases_of(const R& right) {
  if constexpr (requires { right.names; }) return right.names;
  else return {};
}
template <class... Branches>
std::vector<Folding> list_branches(const Rule& rule) {
  return std::apply(
      [&](const Branches&... branch) {
        return std::vector<Folding>{
            {branch.name ? branch.name : "", branch.right.node(), branch.guards(), cases_of(branch.right)}...};
      },
      *static_cast<const std::tuple<Branches...>*>(rule.right));
}

template <class R>
struct Calls {  // a right side that is no function
  static constexpr bool kMayDecline = false, kUsesCtx = false, kChangesCtx = false;
};
template <auto F, class... Es>
struct Calls<pat::With<F, Es...>> {
  static constexpr bool kMayDecline = true, kUsesCtx = pat::kTakesContext<F, Es...>;
  static constexpr bool kChangesCtx = [] {
    if constexpr (kUsesCtx) return !std::is_const_v<pat::ContextOf<F>>;
    else return false;
  }();
};

template <class... Branches>
Rule with_branches(RuleName name, const pat::PatNode* left, std::tuple<Branches...> branches) {
  using All = std::tuple<Branches...>;
  static_assert(std::is_trivially_destructible_v<All>);
  using Last = std::tuple_element_t<sizeof...(Branches) - 1, All>;
  return {.name = name.text,
          .file = name.file,
          .line = name.line,
          .left = left,
          .call = call_branches<Branches...>,
          .right = new (pat::keep(sizeof(All), alignof(All))) All(branches),
          .list = list_branches<Branches...>,
          .may_decline = Last::kGuarded || Calls<decltype(Last::right)>::kMayDecline,
          .uses_ctx = (Calls<decltype(Branches::right)>::kUsesCtx || ...),
          .changes_ctx = (Calls<decltype(Branches::right)>::kChangesCtx || ...)};
}

}  // namespace detail

// left -> right, when all guards hold; or left and its branches.
template <pat::PatLike L, class Right, class... More>
Rule rule(RuleName name, L left, Right right, More... more) {
  auto branches = detail::branches_of(right, more...);
  static_assert((pat::kBoundOf<Right, More...> & ~L::kBound) == 0,
                "the right side uses a name that the left side does not bind");
  return detail::with_branches(name, left.node(), branches);
}
// An ordered list of rules with the matcher made from it. Sets are made once, in static storage, and never change.
class RuleSet {
 public:
  RuleSet(std::string_view name, std::initializer_list<Rule> rules);
  RuleSet(std::string_view name, std::vector<Rule> rules);
  RuleSet(std::string_view name,
          std::initializer_list<const RuleSet*> parts);  // one after another; a rule keeps its identity
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

// What a right side is: algebra alone, a function with a name (or algebra that holds one), or a lambda.
enum class RightKind : uint8_t { Algebra, Function, Lambda };
RightKind right_kind(const Rule& rule);
std::string_view name_of(RightKind kind);
// The foldings of a rule: several, each with its name, or one without.
std::vector<Folding> foldings_of(const Rule& rule);
std::vector<std::string_view> branch_names(const Rule& rule);  // the names of several foldings, none of one
// A folding's right side, "{...}" for a lambda's; and its guards, "products_match(c1, c2, c3)", "" when it has none.
std::string right_text(const Folding& folding);
std::string guard_text(const Folding& folding);
// All of them in a line: "x", "x / ca when products_match(ca, c, cb)", "true: c when truthy(c) | false: x",
// "fold_divmod(d) [cancel | gcd]".
std::string right_text(const Rule& rule);

}  // namespace tgc
