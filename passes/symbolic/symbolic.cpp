// Phase 2 of the symbolic rules, applied by simplify(): combines terms, folds comparisons and casts, uses bounds.
// Mirrors tinygrad uop/symbolic.py: lt_folding, canonicalize_simplex, commutative, symbolic.
#include "passes/symbolic/symbolic.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "lib/uop/uop.h"
#include "passes/symbolic/guards.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kIndexLike = dtypes::index_like, kBool{Scalar::Bool};

Const const_value(UOp c) { return value_of_const(c); }

bool differ(UOp x, UOp y) { return !(x == y); }
bool is_invalid(UOp x) { return x.is_invalid(); }
bool both_const(UOp a, UOp b) { return a.is_const() && b.is_const(); }
bool a_pair_is_const(UOp t, UOp tt, UOp f, UOp ff) { return both_const(t, tt) || both_const(f, ff); }
bool are_positive(UOp c0, UOp c1) { return int_of_const(c0) > 0 && int_of_const(c1) > 0; }
bool below_minus_one(UOp c) { return int_of_const(c) < -1; }
bool fits_int32(UOp u) { return !may_overflow(u, dtypes::int32); }
bool dtype_holds_values(UOp wide, UOp x) { return !may_overflow(x, wide.dtype()); }
bool out_of_order(UOp x, UOp y) { return tuplize_less(y, x); }

// Let r be the sum of the terms of x with factor 1, and d > 1 a common divisor of c and the factors of the other terms.
// If 0 <= r < d, r cannot change the result of the comparison: x < c -> (other terms / d) < c / d.
UOp lt_folding(UOp x, UOp bound) {
  const Int c = int_of_const(bound);
  Int low = 0, high = 0, divisor = c;
  std::vector<UOp> others;
  for (UOp u : split_uop(x, Op::ADD)) {
    if (Int f = const_factor(u); f == 1) {
      low += int_vmin(u);
      high += int_vmax(u);
    } else {
      divisor = gcd(divisor, f);
      others.push_back(u);
    }
  }
  if (others.empty() || divisor <= 1 || low < 0 || high >= divisor) return {};
  UOp quotient = divides(sum(others), divisor);
  if (!quotient) throw Failure("a common divisor does not divide its expression");
  return quotient.lt(floor_div(c, divisor));
}

// a0 * x0 + a1 * x1 + ... > 0 -> x0 + x1 + ... > 0, if every a is positive, and every x is irreducible and never
// negative
UOp canonicalize_simplex(UOp x) {
  std::vector<UOp> terms;
  bool changed = false;
  for (UOp u : split_uop(x, Op::ADD)) {
    if (u.is(Op::MUL) && u.src(1).is_const() && py_less(0, const_value(u.src(1)))) {
      changed = true;
      u = u.src(0);
    }
    if (!u.in(ops::Irreducible) || py_less(u.vmin(), 0)) return {};
    terms.push_back(u);
  }
  return changed ? sum(terms).lt(1).ne(true) : UOp();
}

UOp after_effects(UOp x) {
  constexpr OpSet kEffects{Op::RANGE, Op::STORE, Op::KERNEL, Op::BARRIER, Op::END, Op::UNROLL};
  std::vector<UOp> src{x.src(0)};
  for (UOp y : x.src().subspan(1)) {
    if (y.in(kEffects)) src.push_back(y);
    else src.insert(src.end(), y.src().begin(), y.src().end());
  }
  return x.with_src(src);
}

UOp vector_of_consts(UOp vec) {
  std::vector<Const> values;
  for (UOp x : vec.src()) values.push_back(const_value(x));
  return values.empty() ? UOp() : vec.graph().constant(vec.dtype(), values);
}

std::vector<Rule> rules_of_terms() {
  return {
      rule("or-not-self", x.of(kBool) | logical_not(x), const_like(x, true)),
      rule("add-same-term", x * c0 + x * c1, x * (c0 + c1)),
      rule("add-same-term-in-sum", (y + x * c0) + x * c1, y + x * (c0 + c1)),
      rule("add-scaled-self", x + x * c, x * (c + 1)),
      rule("add-scaled-self-in-sum", (y + x) + x * c, y + x * (c + 1)),
      rule("add-self-to-scaled-in-sum", (y + x * c) + x, y + x * (c + 1)),
      rule("add-self", x + x, x * 2),
      rule("add-self-in-sum", (y + x) + x, y + x * 2),
      rule("fdiv-fdiv", fdiv(fdiv(x, x2), x3), fdiv(x, x2 * x3), when<differ>(x2, x3)),
      rule("neg-sum", -1 * (x + c), (-x) + (-c)),
      rule("mul-distribute-const", c0 * (x.of(dtypes::index) + c), (c0 * x) + (c0 * c)),
      rule("where-not", where(logical_not(cond.of(kBool)), t, f), where(cond, f, t), unless<is_invalid>(f)),
      // (cond ? t : f) op (cond ? tt : ff) -> cond ? t op tt : f op ff, when t and tt, or f and ff, are constants
      rule("alu-of-wheres", node(ops::Binary, where(cond, t, f), where(cond, tt, ff)).as(alu_node),
           where(cond, alu(op_of(alu_node), t, tt), alu(op_of(alu_node), f, ff)), when<a_pair_is_const>(t, tt, f, ff)),
      rule("add-wheres-in-sum", (y + where(cond, t, f)) + where(cond, tt, ff),
           y + where(cond, t + tt, f + ff), when<a_pair_is_const>(t, tt, f, ff)),
      rule("alu-one-value", node(ops::ALU | OpSet{Op::DEFINE_VAR, Op::SPECIAL}).as(x), const_like(x, vmin(x)), when<has_one_value>(x)),
      rule("range-one-value", each(Op::RANGE, node(Op::CONST)).as(x), const_like(x, vmin(x)), when<has_one_value>(x)),
      rule("max-by-bounds", maximum(x, y), branch("first", x, when<never_less>(x, y)), branch("second", y, when<never_less>(y, x))),
  };
}

std::vector<Rule> rules_of_constants() {
  std::vector<Rule> rules;
  ops::Associative.for_each([&](Op op) {
    rules.push_back(rule("gather-consts", alu(op, alu(op, x, c1), c2), alu(op, x, alu(op, c1, c2))));
  });
  for (Rule r : {
           rule("lt-move-const", (c0 + x) < c1, x < (c1 - c0)),
           rule("div-div", (x / c1) / c2, x / (c1 * c2)),
           rule("lt-scaled", (c0.scalar() * x.of(dtypes::index)) < c1.scalar(), x < fold(ceil(true_div(c1, c0))), when<are_positive>(c0, c1)),
           rule("lt-scaled-negative", (c0.scalar() * x.of(dtypes::index)) < c1.scalar(),
                -x < fold(-floor(true_div(-c1, -c0))), when<below_minus_one>(c0), when<is_not_positive>(c1)),
           // x / d < c -> x < c * d, or x < c * d - (d - 1) when c <= 0, for d > 0, because the division truncates
           rule("lt-div", (x.of(dtypes::index) / cd.scalar()) < c.scalar(),
                branch("positive", x < fold(c * cd), when<is_positive>(cd), when<is_positive>(c)),
                branch("not-positive", x < fold(c * cd - (cd - 1)), when<is_positive>(cd))),
           rule("add-const-last", (x + c1) + y, (x + y) + c1),
           rule("mul-const-last", (x * c1) * y, (x * y) * c1),
           // a0 * x0 + ... + y < c -> (a0 / d) * x0 + ... < c / d, when d divides c and all ai, and 0 <= y < d
           rule("lt-fold-terms", x.of(dtypes::index) < c.scalar(), with<lt_folding>(x, c), when<is_positive>(c)),
           rule("lt-neg-neg", x.of(dtypes::index) * -1 < y * -1, y < x),
           rule("simplex-drops-factors", logical_not(x.of(dtypes::index) < 1), with<canonicalize_simplex>(x)),
           rule("range-mod-end", each(Op::RANGE, y).as(r) % y, r),
           rule("range-div-end", each(Op::RANGE, y).as(r) / y, const_like(r, 0)),
       })
    rules.push_back(r);
  return rules;
}

std::vector<Rule> rules_of_casts() {
  return {
      rule("cast-cast", cast(cast(x).as(a)).as(b), cast(x, dtype_of(b)), when<dtype_holds>(a, x)),
      // cast(cast(x, a), b) -> cast(x, b), if a can represent all values within the bounds of x
      rule("cast-cast-by-bounds", cast(cast(x.of(kIndexLike), kIndexLike).as(a)).as(b),
           cast(x, dtype_of(b)), when<dtype_holds_values>(a, x)),
      // x op y -> long(int(x) op int(y)), for int64 operands and a result that fit int32
      rule("long-to-int", node(ops::Binary, x.of(dtypes::int64), y.of(dtypes::int64)).as(u),
           cast(alu(op_of(u), cast(x, dtypes::int32), cast(y, dtypes::int32)), dtype_of(u)),
           when<fits_int32>(u), when<fits_int32>(x), when<fits_int32>(y)),
      rule("cast-of-index-sum", cast(x.of(dtypes::index) + c, dtypes::sints).as(u), cast(x, dtype_of(u)) + cast(c, dtype_of(u))),
      rule("after-effects", node(Op::AFTER).as(x), with<after_effects>(x)),
      rule("after-nothing", node(Op::AFTER, s), s),
      rule("vectorize-consts", each(Op::VECTORIZE, node(Op::CONST)).as(vec), with<vector_of_consts>(vec)),
  };
}

}  // namespace

const RuleSet& commutative() {
  static const RuleSet set("commutative", {
      // y + x -> x + y, if x comes before y in tinygrad's order of nodes; for indices only
      rule("commutative-order", node(ops::Commutative, y, x).of(dtypes::index).as(u), with_src(u, x, y), when<out_of_order>(y, x)),
  });
  return set;
}

const RuleSet& symbolic() {
  static const RuleSet terms("symbolic: terms", rules_of_terms());
  static const RuleSet constants("symbolic: constants", rules_of_constants());
  static const RuleSet casts("symbolic: casts", rules_of_casts());
  static const RuleSet set("symbolic", {&symbolic_simple(), &commutative(), &terms, &constants, &casts,
                                        &div_and_mod_symbolic(), &gep_pushing()});
  return set;
}

// UOp::simplify() is one rewrite by these rules (uop/ops.py: simplify).
[[maybe_unused]] static const bool kIsInstalled =
    install_simplifier([](UOp u) { return graph_rewrite(u, symbolic(), {.name = "simplify"}); });

}  // namespace tgc
