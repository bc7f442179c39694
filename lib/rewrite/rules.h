// Rules and rule sets (tinygrad's PatternMatcher, uop/ops.py). Examples of rules:
//
//   the left side is a pattern (pattern.h), the right side an expression (right_side.h):
//     rule("add-zero", x + 0, x)
//   a guard: the rule declines if `bool keeps(UOp, UOp)` returns false:
//     rule("shr-drops-mask", (x & c1) >> c2, x >> c2, when<keeps>(c1, c2))
//   several named foldings; the first one whose guards hold applies:
//     rule("or-const", x | c, branch("true", c, when<truthy>(c)), branch("false", x))
//   a function makes the right side; it returns the empty UOp to decline:
//     rule("sink-flatten", node(Op::SINK).as(root), with<flatten_sink>(root))
//   a function with several named foldings returns a FoldingResult: the node and the folding's name:
//     rule("divmod-general", node(Op::MOD).as(d), with<fold_divmod>(d).branches({"cancel", "gcd"}))
//   a function whose first parameter is the rewrite's context, here const Target&:
//     rule("fast-idiv", x / c, with<fast_idiv>(x, c))
//   a lambda, for code too small to deserve a name; listings show {...}:
//     rule("max", maximum(x, y), with(x, y, [](UOp x, UOp y) { ... }))
//
// The rules of a set are tried in order, and the alternatives of a rule in tinygrad's permutation order. A rule
// declines if each of its foldings has a guard that fails or a function that returns the empty UOp; then the rule's
// next alternative is tried. If a right side makes the matched node itself, the rule's other alternatives are skipped
// and the next rule is tried.
//
// How to write a rule: use an expression if the right side makes a fixed number of nodes, because listings can print
// it and a prover can use it. Use a function if the right side loops over sources or reads the context. Name a guard
// after the condition that holds when the rule applies.
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
struct Rule;

using UntypedFunction = void (*)();

// A folding is one of a rule's alternative right sides. A rule with a single right side has one unnamed folding.
struct RuleFolding {
  std::string_view name;
  const pat::PatNode* right;  // the right side; null for a check of lib/spec, which has no right side
  std::vector<const pat::PatNode*> guards = {};
  std::span<const char* const> case_names = {};  // names of the foldings among which the right side's function chooses
  // The parts of `Rule::call`, for mutants of rules (lib/prove/mutants.h): whether each guard holds, and the result.
  std::vector<bool (*)(const PatternMatch&)> guard_tests = {};
  UOp (*build_result)(const Rule& rule, const PatternMatch& match) = nullptr;
};

struct Rule {
  std::string_view name;
  std::string_view file;
  uint32_t line;
  const pat::PatNode* left;
  UOp (*call)(const Rule& rule, const PatternMatch& match);  // returns the rule's result; the empty UOp to decline
  UntypedFunction function = nullptr;                     // the function that checks a node, in a rule of lib/spec
  const void* right = nullptr;                        // the right side; `call` and `list_foldings` know its C++ type
  std::vector<RuleFolding> (*list_foldings)(const Rule& rule) = nullptr;
  bool may_decline = false;  // true if the rule may decline a node that its pattern matches
  bool is_ctx_used = false, is_ctx_changed = false;
  uint32_t rule_id = 0;                 // index among all rules of the process, assigned when the rule's set is made
  std::string_view rule_set_name = {};
};

// The rule that applied to a node, and the name of its folding (null if the folding has no name).
struct RuleHit {
  const Rule* rule = nullptr;
  const char* branch = nullptr;
};

inline UOp apply_rule(const Rule& rule, const PatternMatch& match) { return rule.call(rule, match); }

// A rule's name, file and line; implicitly captures the caller's source location.
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

template <pat::Expression R, class... Guards>
auto branches_of(R right, Guards...) { return std::tuple(pat::RuleBranch<R, Guards...>{nullptr, right}); }
template <class R, class... Gs, class... More>
auto branches_of(pat::RuleBranch<R, Gs...> first, More... more) { return std::tuple(first, more...); }

template <class... Branches>
UOp call_branches(const Rule& rule, const PatternMatch& m) {
  return std::apply([&](const Branches&... branch) {
    UOp out;
    (void)((branch.holds(m) && (m.branch = branch.name, out = branch.right.build(m))) || ...);
    return out;
  }, *static_cast<const std::tuple<Branches...>*>(rule.right));
}
template <class R>
std::span<const char* const> case_names_of(const R& right) {
  if constexpr (requires { right.folding_names; }) return right.folding_names;
  else return {};
}
template <size_t I, class... Branches>
UOp build_branch(const Rule& rule, const PatternMatch& m) {
  auto& branch = std::get<I>(*static_cast<const std::tuple<Branches...>*>(rule.right));
  return m.branch = branch.name, branch.right.build(m);
}
template <class... Branches>
std::vector<RuleFolding> list_branches(const Rule& rule) {
  auto of = [](UOp (*build)(const Rule&, const PatternMatch&), const auto& branch) {
    return RuleFolding{branch.name ? branch.name : "", branch.right.node(), branch.guards(),
                       case_names_of(branch.right),    branch.guard_tests(),      build};
  };
  return [&]<size_t... I>(std::index_sequence<I...>) {
    auto& branches = *static_cast<const std::tuple<Branches...>*>(rule.right);
    return std::vector<RuleFolding>{of(build_branch<I, Branches...>, std::get<I>(branches))...};
  }(std::index_sequence_for<Branches...>());
}

template <class R>
struct CallTraits {  // the primary template is for a right side that is not a function
  static constexpr bool kMayDecline = false, kIsCtxUsed = false, kIsCtxChanged = false;
};
template <auto F, class... Es>
struct CallTraits<pat::With<F, Es...>> {
  static constexpr bool kMayDecline = true, kIsCtxUsed = pat::kIsContextTaken<F, Es...>;
  static constexpr bool kIsCtxChanged = [] {
    if constexpr (kIsCtxUsed) return !std::is_const_v<pat::ContextOf<F>>;
    else return false;
  }();
};

template <class... Branches>
Rule rule_with_branches(RuleName name, const pat::PatNode* left, std::tuple<Branches...> branches) {
  using BranchTuple = std::tuple<Branches...>;
  static_assert(std::is_trivially_destructible_v<BranchTuple>);
  using LastBranch = std::tuple_element_t<sizeof...(Branches) - 1, BranchTuple>;
  return {.name = name.text,
          .file = name.file,
          .line = name.line,
          .left = left,
          .call = call_branches<Branches...>,
          .right = new (pat::allocate_permanently(sizeof(BranchTuple), alignof(BranchTuple))) BranchTuple(branches),
          .list_foldings = list_branches<Branches...>,
          .may_decline = LastBranch::kHasGuards || CallTraits<decltype(LastBranch::right)>::kMayDecline,
          .is_ctx_used = (CallTraits<decltype(Branches::right)>::kIsCtxUsed || ...),
          .is_ctx_changed = (CallTraits<decltype(Branches::right)>::kIsCtxChanged || ...)};
}

}  // namespace detail

// Makes a rule. After `left` follow either the right side and any guards, or one or more branches.
template <pat::PatLike L, class Right, class... More>
Rule rule(RuleName name, L left, Right right, More... more) {
  auto branches = detail::branches_of(right, more...);
  static_assert((pat::kBoundCapturesOf<Right, More...> & ~L::kBoundCaptures) == 0,
                "the right side uses a name that the left side does not bind");
  return detail::rule_with_branches(name, left.node(), branches);
}
// An ordered list of rules and the matcher compiled from it. Sets never change.
class RuleSet {
 public:
  RuleSet(std::string_view name, std::initializer_list<Rule> rules);
  RuleSet(std::string_view name, std::vector<Rule> rules);
  // Makes a set of all rules of the sets `parts`, in order. The rules keep their ids, files and lines.
  RuleSet(std::string_view name, std::initializer_list<const RuleSet*> parts);
  RuleSet(std::string_view name, const std::vector<const RuleSet*>& parts);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;
  ~RuleSet();

  std::string_view name() const { return set_name_; }
  const std::vector<const Rule*>& rules() const { return all_rules_; }
  const Matcher& matcher() const {  // compiled on first use
    const Matcher* made = matcher_.load(std::memory_order_acquire);
    return made ? *made : make_matcher();
  }

 private:
  std::string_view set_name_;
  std::vector<std::unique_ptr<const Rule>> owned_rules_;
  std::vector<const Rule*> all_rules_;
  const Matcher& make_matcher() const;
  mutable std::once_flag matcher_once_;
  mutable std::unique_ptr<const Matcher> owned_matcher_;
  mutable std::atomic<const Matcher*> matcher_ = nullptr;
};

// num_rules() is greater than the id of every rule made so far. rule_of_id returns the rule with this id; null if there
// is none or if the rule's set was destroyed.
uint32_t num_rules();
const Rule* rule_of_id(uint32_t rule_id);

// Returns the part of `file` from passes/, renderers/ or lib/ on: "passes/symbolic/simple.cpp"; else `file`.
std::string_view short_file_name(std::string_view file);
inline std::string_view short_file_name(const Rule& rule) { return short_file_name(rule.file); }
// Returns the rule's name and source location: "add-zero (passes/symbolic/simple.cpp:12)".
std::string describe(const Rule& rule);

// Kind of a rule's right side: an expression without functions that make nodes, one with such a named function, or one
// with a lambda. A check of lib/spec counts as a lambda.
enum class RightSideKind : uint8_t { Algebra, Function, Lambda };
RightSideKind right_side_kind(const Rule& rule);
std::string_view name_of(RightSideKind kind);
// Returns the rule's foldings: several named ones, or a single unnamed one.
std::vector<RuleFolding> foldings_of(const Rule& rule);
// Returns the names of the rule's named foldings, and the names among which the functions of right sides choose.
std::vector<std::string_view> named_branches(const Rule& rule);
// Return as text the right side of a folding ("{...}" for a lambda), and its guards ("products_match(c1, c2)" or "").
std::string right_side_text(const RuleFolding& folding);
std::string guard_text(const RuleFolding& folding);
// Returns all foldings of the rule in one line, such as "x", "(x // ca) when products_match(ca, c, cb)", "true: c when
// truthy(c) | false: x" or "fold_divmod(d) [cancel | gcd]".
std::string right_side_text(const Rule& rule);

}  // namespace tgc
