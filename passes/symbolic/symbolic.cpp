// Phase 2 of the symbolic rules: combining terms, comparisons, bounds, casts; what simplify() applies.
// Mirrors tinygrad uop/symbolic.py: lt_folding, canonicalize_simplex, commutative, symbolic.
#include <cmath>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kIndexLike = dtypes::index_like, kBool{Scalar::Bool};

Const value(UOp constant) { return constant.arg().to_const(); }
Int int_value(UOp constant) { return constant.arg().as_int(); }

UOp const_if_one_value(UOp u) {
  if (u.in(ops::ALU) && dtypes::is_float(u.dtype())) return {};  // its bounds are those of the dtype
  const Bounds& b = u.bounds();
  return py_equal(b.min, b.max) ? u.const_like(b.min) : UOp();
}

bool both_const(UOp a, UOp b) { return a.is_const() && b.is_const(); }

UOp combine_wheres(UOp alu, UOp cond, UOp t, UOp f, UOp tt, UOp ff) {
  if (!both_const(t, tt) && !both_const(f, ff)) return {};
  return cond.where(t.alu(alu.op(), tt), f.alu(alu.op(), ff));
}

UOp add_wheres(UOp y, UOp cond, UOp t, UOp f, UOp tt, UOp ff) {
  return both_const(t, tt) || both_const(f, ff) ? y + cond.where(t + tt, f + ff) : UOp();
}

// Terms that cannot reach the common divisor of the others and of c do not matter.
UOp lt_folding(UOp x, Int c) {
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

// a0 * x0 + a1 * x1 + ... > 0 asks the same as x0 + x1 + ... > 0 when every a is positive and no x is negative: the latter sum.
UOp canonicalize_simplex(UOp x) {
  std::vector<UOp> terms;
  bool changed = false;
  for (UOp u : split_uop(x, Op::ADD)) {
    if (u.is(Op::MUL) && u.src(1).is_const() && py_less(0, value(u.src(1)))) {
      changed = true;
      u = u.src(0);
    }
    if (!u.in(ops::Irreducible) || py_less(u.vmin(), 0)) return {};
    terms.push_back(u);
  }
  return changed ? sum(terms) : UOp();
}

// c0 * x < c1 for positive constants; the quotient is Python's float division.
UOp lt_of_scaled(UOp x, UOp c0, UOp c1) {
  Int a = int_value(c0), b = int_value(c1);
  return a > 0 && b > 0 ? x.lt(Int::trunc(std::ceil(true_div(b, a)))) : UOp();
}

// c0 * x < c1 for c0 < -1 and c1 <= 0
UOp lt_of_negatively_scaled(UOp x, UOp c0, UOp c1) {
  Int a = int_value(c0), b = int_value(c1);
  return a < -1 && b <= 0 ? (-x).lt(-Int::trunc(std::floor(true_div(-b, -a)))) : UOp();
}

UOp lt_of_div(UOp x, UOp d, UOp c) {
  Int by = int_value(d), bound = int_value(c) * by;
  if (by <= 0) return {};
  return x.lt(int_value(c) > 0 ? bound : bound - (by - 1));
}

// a + b of int64 -> the same in int32, when nothing can overflow there.
UOp narrow_long(UOp u, UOp x, UOp y) {
  for (UOp v : {u, x, y})
    if (overflows(v, dtypes::int32)) return {};
  return x.cast(dtypes::int32).alu(u.op(), y.cast(dtypes::int32)).cast(u.dtype());
}

bool holds_all_of(DType dtype, UOp x) { return !overflows(x, dtype); }

// An AFTER waits for what has an effect; other nodes stand for their sources.
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
  for (UOp x : vec.src()) values.push_back(value(x));
  return values.empty() ? UOp() : vec.graph().constant(vec.dtype(), values);
}

std::vector<Rule> rules_of_terms() {
  return {
      // ---- boolean algebra
      // x | !x -> true
      rule("or-not-self", x.of(kBool) | logical_not(x), with(x, [](UOp x) { return x.const_like(true); })),
      // ---- combine terms
      // x * c0 + x * c1 -> x * (c0 + c1)
      rule("add-same-term", x * c0 + x * c1, x * (c0 + c1)),
      // (y + x * c0) + x * c1 -> y + x * (c0 + c1)
      rule("add-same-term-in-sum", (y + x * c0) + x * c1, y + x * (c0 + c1)),
      // x + x * c -> x * (c + 1)
      rule("add-scaled-self", x + x * c, x * (c + 1)),
      // (y + x) + x * c -> y + x * (c + 1)
      rule("add-scaled-self-in-sum", (y + x) + x * c, y + x * (c + 1)),
      // (y + x * c) + x -> y + x * (c + 1)
      rule("add-self-to-scaled-in-sum", (y + x * c) + x, y + x * (c + 1)),
      // x + x -> x * 2
      rule("add-self", x + x, x * 2),
      // (y + x) + x -> y + x * 2
      rule("add-self-in-sum", (y + x) + x, y + x * 2),
      // (x / x2) / x3 -> x / (x2 * x3), of floats
      rule("fdiv-fdiv", fdiv(fdiv(x, x2), x3), with(x, x2, x3, [](UOp x, UOp x2, UOp x3) { return x2 == x3 ? UOp() : fdiv(x, x2 * x3); })),
      // -1 * (x + c) -> -x + -c
      rule("neg-sum", -1 * (x + c), (-x) + (-c)),
      // c0 * (x + c) -> c0 * x + c0 * c
      rule("mul-distribute-const", c0 * (x.of(dtypes::index) + c), (c0 * x) + (c0 * c)),
      // ---- where
      // !cond ? t : f -> cond ? f : t
      rule("where-not", where(logical_not(cond.of(kBool)), t, f), with(cond, t, f, [](UOp cond, UOp t, UOp f) {
             return f.is_invalid() ? UOp() : cond.where(f, t);
           })),
      // (cond ? t : f) op (cond ? tt : ff) -> cond ? t op tt : f op ff, when that folds a pair of constants
      rule("alu-of-wheres", node(ops::Binary, where(cond, t, f), where(cond, tt, ff)).as(alu_node), with(alu_node, cond, t, f, tt, ff, combine_wheres)),
      // (y + (cond ? t : f)) + (cond ? tt : ff) -> y + (cond ? t + tt : f + ff), likewise
      rule("add-wheres-in-sum", (y + where(cond, t, f)) + where(cond, tt, ff), with(y, cond, t, f, tt, ff, add_wheres)),
      // ---- bounds
      // x -> c, when x has one value
      rule("alu-one-value", node(ops::ALU | OpSet{Op::DEFINE_VAR, Op::SPECIAL}).as(x), with(x, const_if_one_value)),
      rule("range-one-value", each(Op::RANGE, node(Op::CONST)).as(x), with(x, const_if_one_value)),
      // max(x, y) -> the one that is never less
      rule("max-by-bounds", maximum(x, y), with(x, y, [](UOp x, UOp y) {
             return py_less_equal(y.vmax(), x.vmin()) ? x : py_less_equal(x.vmax(), y.vmin()) ? y : UOp();
           })),
  };
}

std::vector<Rule> rules_of_constants() {
  std::vector<Rule> rules;
  ops::Associative.for_each([&](Op op) {
    // (x op c1) op c2 -> x op (c1 op c2)
    rules.push_back(rule("gather-consts", alu(op, alu(op, x, c1), c2).as(f), with(f, x, c1, c2, [](UOp f, UOp x, UOp c1, UOp c2) {
      return x.alu(f.op(), c1.alu(f.op(), c2));
    })));
  });
  for (Rule r : {
           // c0 + x < c1 -> x < c1 - c0
           rule("lt-move-const", (c0 + x) < c1, x < (c1 - c0)),
           // (x / c1) / c2 -> x / (c1 * c2)
           rule("div-div", (x / c1) / c2, x / (c1 * c2)),
           // ---- less than
           // c0 * x < c1 -> x < ceil(c1 / c0), when both are positive
           rule("lt-scaled", (c0.scalar() * x.of(dtypes::index)) < c1.scalar(), with(x, c0, c1, lt_of_scaled)),
           // c0 * x < c1 -> -x < -floor(-c1 / -c0), when c0 < -1 and c1 <= 0
           rule("lt-scaled-negative", (c0.scalar() * x.of(dtypes::index)) < c1.scalar(), with(x, c0, c1, lt_of_negatively_scaled)),
           // x / d < c -> x < c * d, or x < c * d - (d - 1) when c <= 0: the division truncates
           rule("lt-div", (x.of(dtypes::index) / cd.scalar()) < c.scalar(), with(x, cd, c, lt_of_div)),
           // ---- constants move to the end
           // (x + c1) + y -> (x + y) + c1
           rule("add-const-last", (x + c1) + y, (x + y) + c1),
           // (x * c1) * y -> (x * y) * c1
           rule("mul-const-last", (x * c1) * y, (x * y) * c1),
           // a0 * x0 + ... + y < c -> (a0 / d) * x0 + ... < c / d, when 0 <= y < d
           rule("lt-fold-terms", x.of(dtypes::index) < c.scalar(), with(x, c, [](UOp x, UOp c) { return int_value(c) > 0 ? lt_folding(x, int_value(c)) : UOp(); })),
           // -x < -y -> y < x
           rule("lt-neg-neg", x.of(dtypes::index) * -1 < y * -1, y < x),
           // !(a0 * x0 + ... < 1) -> !(x0 + ... < 1)
           rule("simplex-drops-factors", logical_not(x.of(dtypes::index) < 1), with(x, [](UOp x) {
                  UOp terms = canonicalize_simplex(x);
                  return terms ? terms.lt(1).ne(true) : UOp();
                })),
           // r % n -> r, r / n -> 0, for a range r below n
           rule("range-mod-end", each(Op::RANGE, y).as(r) % y, r),
           rule("range-div-end", each(Op::RANGE, y).as(r) / y, with(r, [](UOp r) { return r.const_like(0); })),
       })
    rules.push_back(r);
  return rules;
}

std::vector<Rule> rules_of_casts() {
  return {
      // cast(cast(x, a), b) -> cast(x, b), when a holds all values of x's dtype
      rule("cast-cast", cast(cast(x).as(a)).as(b), with(x, a, b, [](UOp x, UOp a, UOp b) {
             return can_lossless_cast(x.dtype(), a.dtype()) ? x.cast(b.dtype()) : UOp();
           })),
      // the same when a holds all values of x itself
      rule("cast-cast-by-bounds", cast(cast(x.of(kIndexLike), kIndexLike).as(a)).as(b), with(x, a, b, [](UOp x, UOp a, UOp b) {
             return holds_all_of(a.dtype(), x) ? x.cast(b.dtype()) : UOp();
           })),
      // x + y -> long(int(x) + int(y)), for longs that fit
      rule("long-to-int", node(ops::Binary, x.of(dtypes::int64), y.of(dtypes::int64)).as(u), with(u, x, y, narrow_long)),
      // int(x + c) -> int(x) + int(c), for an index x
      rule("cast-of-index-sum", cast(x.of(dtypes::index) + c, dtypes::sints).as(u), with(x, c, u, [](UOp x, UOp c, UOp u) {
             return x.cast(u.dtype()) + c.cast(u.dtype());
           })),
      // ---- order
      // after(x, y) -> after(x, sources of y), when y has no effect
      rule("after-effects", node(Op::AFTER).as(x), with(x, after_effects)),
      // after(x) -> x
      rule("after-nothing", node(Op::AFTER, s), s),
      // {c0, c1, ...} -> a constant vector
      rule("vectorize-consts", each(Op::VECTORIZE, node(Op::CONST)).as(vec), with(vec, vector_of_consts)),
  };
}

}  // namespace

const RuleSet& commutative() {
  static const RuleSet set("commutative", {
      // y + x -> x + y, in tinygrad's order of nodes; for indices alone
      rule("commutative-order", node(ops::Commutative).of(dtypes::index).as(x), with(x, [](UOp x) {
             return tuplize_less(x.src(1), x.src(0)) ? x.with_src({x.src(1), x.src(0)}) : UOp();
           })),
  });
  return set;
}

const RuleSet& symbolic() {
  static const RuleSet terms("symbolic: terms", rules_of_terms());
  static const RuleSet constants("symbolic: constants", rules_of_constants());
  static const RuleSet casts("symbolic: casts", rules_of_casts());
  static const RuleSet set("symbolic", {&symbolic_simple(), &commutative(), &terms, &constants, &casts, &div_and_mod_symbolic(), &gep_pushing()});
  return set;
}

}  // namespace tgc
