#include "passes/symbolic/symbolic.h"

#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/symbolic/memoize.h"

namespace tgc {

using namespace pat;

std::optional<BoundClause> parse_valid(UOp v) {
  auto less_than_int = [](UOp u) { return u.is(Op::CMPLT) && dtypes::is_int(u.src(0).dtype()); };
  if (v.is(Op::CMPNE) && v.src(1).is_const() && py_equal(v.src(1).arg().to_const(), 1) && less_than_int(v.src(0)))
    return BoundClause{v.src(0).src(0), false, v.src(0).src(1).vmin().to_int()};
  if (less_than_int(v)) return BoundClause{v.src(0), true, v.src(1).vmax().to_int() - 1};
  return std::nullopt;
}

namespace {

struct BoundedExpression {
  UOp expr;
  std::optional<Int> lower, upper;
};

// Returns the bounds that the clauses state for each expression. A later clause overrides an earlier one.
std::vector<BoundedExpression> bounds_of_clauses(UOp valid) {
  std::vector<BoundedExpression> out;
  for (UOp clause : split_uop(valid, Op::AND)) {
    auto parsed = parse_valid(clause);
    if (!parsed) continue;
    auto it = std::find_if(out.begin(), out.end(), [&](auto& b) { return b.expr == parsed->expr; });
    if (it == out.end()) it = out.insert(out.end(), {parsed->expr, {}, {}});
    (parsed->is_upper ? it->upper : it->lower) = parsed->bound;
  }
  return out;
}

UOp fake_variable(UOp like, size_t i, Const min, Const max) {
  return like.graph().variable("fake" + std::to_string(i), min, max, like.dtype());
}

bool all_irreducible(const std::vector<UOp>& terms) {
  return std::all_of(terms.begin(), terms.end(), [](UOp t) { return t.in(ops::Irreducible); });
}

bool all_same(const std::vector<UOp>& uops) {
  return std::all_of(uops.begin(), uops.end(), [&](UOp u) { return u == uops[0]; });
}

Substitution invert_substitution(const Substitution& s) {
  Substitution out;
  for (auto [from, to] : s) out.emplace_back(to, from);
  return out;
}

// For each pair (from, to) in `candidate`, replaces `from` by `to` in `u`, simplifies, and replaces `to` by `from`. At
// least one of these replacements is valid, so if all results are equal, returns this result; else, or if a `from` does
// not occur in `u`, returns `u`. The two halves of an image index (a VECTORIZE of two) are compared separately.
UOp simplify_by_cases(UOp u, const Substitution& candidate) {
  std::vector<UOp> results;
  for (auto& pair : candidate) {
    UOp replaced = substitute(u, {pair});
    if (replaced == u) return u;
    results.push_back(replaced);
  }
  for (size_t i = 0; i < results.size(); i++)
    results[i] = substitute(results[i].simplify(), invert_substitution({candidate[i]})).simplify();
  if (all_same(results)) return results[0];
  if (!u.is(Op::VECTORIZE) || u.num_src() != 2) return u;
  for (size_t half : {size_t(0), size_t(1)}) {
    std::vector<UOp> parts;
    for (UOp r : results) {
      if (r.num_src() <= half) throw Failure("the index of an image is no longer a pair after simplification");
      parts.push_back(r.src(half));
    }
    if (!all_same(parts)) continue;
    std::vector<UOp> src(u.src().begin(), u.src().end());
    src[half] = parts[0];
    u = u.with_src(src);
  }
  return u;
}

UOp simplify_given_valid(UOp valid, UOp u, bool try_simplex) {
  Substitution all;
  size_t i = 0;
  for (auto& [expr, lower, upper] : bounds_of_clauses(valid)) {
    Const low = lower ? Const(*lower) : expr.vmin(), high = upper ? Const(*upper) : expr.vmax();
    all.emplace_back(expr, fake_variable(expr, i, low, high));
    if (try_simplex) {
      u = simplify_by_cases(u, {all.back()});
      if (expr.is(Op::ADD) && py_equal(low, 1))
        if (auto terms = split_uop(expr, Op::ADD); all_irreducible(terms)) {
          Substitution cases;
          for (UOp x : terms) cases.emplace_back(x, fake_variable(x, i, 1, x.vmax()));
          u = simplify_by_cases(u, cases);
        }
    }
    i++;
  }
  UOp replaced = substitute(u, all);
  return replaced == u ? u : substitute(replaced.simplify(), invert_substitution(all)).simplify();
}

struct GivenValidMemo {
  static inline const Shortcut kShortcut{"given-valid-once",
                                         "simplifying an expression again under a condition seen before"};
};
struct GivenValidByCasesMemo {
  static inline const Shortcut kShortcut{"given-valid-by-cases-once", "the same, clause by clause"};
};

}  // namespace

UOp uop_given_valid(UOp valid, UOp u, bool try_simplex) {
  auto simplify = [&] { return simplify_given_valid(valid, u, try_simplex); };  // memoized: stages repeat such calls
  uint64_t key = uint64_t(valid.id()) << 32 | u.id();
  return try_simplex ? memoize<GivenValidByCasesMemo>(u.graph(), key, simplify)
                     : memoize<GivenValidMemo>(u.graph(), key, simplify);
}

namespace {

// Drops repeated clauses of an AND, and simplifies each clause under the assumption that those before it hold.
FoldingResult simplify_valid(UOp valid) {
  if (op_in_backward_slice_with_self(valid, Op::INDEX)) return {};  // do not simplify a condition that reads memory
  std::vector<UOp> clauses = split_uop(valid, Op::AND);
  // put clauses whose expression occurs in other clauses first, because such clauses may simplify the other clauses
  std::vector<std::pair<int, UOp>> sorted;
  for (UOp v : clauses) {
    auto parsed = parse_valid(v);
    int priority = 0;
    if (parsed)
      for (UOp other : clauses) priority -= in_backward_slice_with_self(other, parsed->expr);
    sorted.emplace_back(priority, v);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::vector<UOp> out;
  bool repeats = false, simpler_ones = false;
  UOpSet seen(valid.graph());
  for (auto [priority, clause] : sorted) {
    if (!seen.insert(clause)) {
      repeats = true;
      continue;
    }
    UOp simpler = out.empty() ? clause : uop_given_valid(prod(out), clause);
    simpler_ones |= !(simpler == clause);
    out.push_back(simpler);
  }
  if (!repeats && !simpler_ones) return {};
  return {prod(out), simpler_ones ? "given-earlier-clauses" : "repeated-clause"};
}

bool has_index_division(UOp u) { return op_in_backward_slice_with_self(u, {Op::IDIV, Op::MOD}); }

UOp gated_given_valid(UOp cond, UOp x, UOp inv) {
  if (x.graph().settings().IMAGE > 0 && has_index_division(x)) return {};  // as in tinygrad, keep divisions with IMAGE
  return cond.where(uop_given_valid(cond, x, false), inv);
}

bool any_range_in(UOp clause, UOp x) {
  auto ranges = clause.ranges();
  return std::any_of(ranges.begin(), ranges.end(), [&](UOp r) { return is_inside_range(x, r); });
}
bool all_ranges_in(UOp clause, UOp x) {
  auto ranges = clause.ranges();
  return std::all_of(ranges.begin(), ranges.end(), [&](UOp r) { return is_inside_range(x, r); });
}

UOp and_of_clauses(Graph& graph, const std::vector<UOp>& clauses) {
  return prod(prepend(graph.constant(dtypes::bool_, true), clauses));
}

UOp drop_and_clauses(UOp cond, UOp x, UOp inv) {
  auto clauses = split_uop(cond, Op::AND);
  std::vector<UOp> keep;
  for (UOp c : clauses)
    if (any_range_in(c, x)) keep.push_back(c);
  return keep.size() == clauses.size() ? UOp() : and_of_clauses(x.graph(), keep).where(x, inv);
}

bool contains(const std::vector<UOp>& list, UOp u) { return std::find(list.begin(), list.end(), u) != list.end(); }

// Decides which clauses of a condition may move into the gate of the load at index x: those that depend only on ranges
// and loads that x depends on too.
class MovableClauses {
 public:
  MovableClauses(UOp cond, UOp x) : load_index_(x), other_loads_(x.graph()) {
    for (UOp u : toposort(cond)) {
      bool above = std::ranges::any_of(u.src(), [&](UOp s) { return other_loads_.contains(s); });
      if (above || (u.is(Op::INDEX) && !in_backward_slice_with_self(x, u))) other_loads_.insert(u);
    }
  }
  bool operator()(UOp clause) const { return all_ranges_in(clause, load_index_) && !other_loads_.contains(clause); }

 private:
  UOp load_index_;
  UOpSet other_loads_;  // loads that x does not depend on, and all users of them
};

FoldingResult where_on_load(UOp cond, UOp buf, UOp x) {
  UOp valid = x.get_valid();
  auto known = split_uop(valid, Op::AND);
  std::vector<UOp> remaining;
  UOp moved = valid;
  MovableClauses may_move(cond, x);
  bool removed = false, brought = false;
  for (UOp c : split_uop(cond, Op::AND)) {
    bool duplicate = contains(known, c);
    if (!duplicate && !may_move(c)) {
      remaining.push_back(c);
      continue;
    }
    if (!duplicate) moved = moved & c, brought = true;
    removed = true;
  }
  if (!removed) return {};
  return {and_of_clauses(x.graph(), remaining).where(buf.index(x.get_idx().valid(moved)), 0),
          brought ? "moved-clauses" : "known-clauses"};
}

auto gated_index() { return where(cond, x, node(Op::CONST).arg(Const::invalid()).as(inv)); }

}  // namespace

const RuleSet& pm_simplify_valid() {
  static const RuleSet set(
      "pm_simplify_valid",
      {
          rule("valid-given-earlier-clauses", node(Op::AND).as(v),
               with<simplify_valid>(v).branches({"given-earlier-clauses", "repeated-clause"})),
          // cond ? x : invalid -> cond ? y : invalid, where y is x simplified under the assumption cond
          rule("index-given-valid", gated_index(), with<gated_given_valid>(cond, x, inv)),
      });
  return set;
}

const RuleSet& pm_drop_and_clauses() {
  static const RuleSet set("pm_drop_and_clauses", {
      // a & b ? x : invalid -> a ? x : invalid, when b shares no range with x
      rule("valid-drops-clauses", gated_index(), with<drop_and_clauses>(cond, x, inv)),
  });
  return set;
}

const RuleSet& pm_move_where_on_load() {
  static const RuleSet set(
      "pm_move_where_on_load",
      {
          rule("where-on-load", where(cond, node(Op::INDEX, buf, x), 0),
               with<where_on_load>(cond, buf, x).branches({"moved-clauses", "known-clauses"})),
          rule("where-not-on-load", where(cond, 0, node(Op::INDEX, buf, x)),
               with<where_on_load>(logical_not(cond), buf, x).branches({"moved-clauses", "known-clauses"})),
      });
  return set;
}

}  // namespace tgc
