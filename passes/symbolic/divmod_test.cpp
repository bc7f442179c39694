#include "lib/rewrite/testing.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {
namespace {

TEST_CASE("each division and remainder rule applies and declines") {
  RuleTest t(div_and_mod_symbolic());
  UOp x = t.var("x", 0, 100), n = t.var("n", -10, 10), neg = t.var("neg", -10, 0), below = t.var("below", -9, -1),
      y = t.var("y", 1, 7);
  UOp five = t.constant(dtypes::index, 5);

  t.check_rule("div-of-div-plus-const", (x / 3 + 2) / 4,
               (x + t.constant(dtypes::index, 2) * t.constant(dtypes::index, 3)) /
              (t.constant(dtypes::index, 3) * t.constant(dtypes::index, 4)));
  t.check_declines("div-of-div-plus-const", (n / 3 + 2) / 4);
  t.check_rule("div-negative-denominator", x / below, -(x / -below));
  t.check_declines("div-negative-denominator", x / n);
  t.check_rule("div-negative-numerator", neg / y, -(-neg / y));
  t.check_declines("div-negative-numerator", n / y);
  t.check_rule("div-reduce-const", (x + 12) / 5, (x + 2) / 5 + 2);
  t.check_declines("div-reduce-const", (x + 4) / 5);
  t.check_declines("div-reduce-const", (n + 12) / 5);
  t.check_rule("div-reduce-const-negative", (neg + 12) / 5, -(-(Const(2) + neg - 4) / 5) + 2);
  t.check_declines("div-reduce-const-negative", (n + 12) / 5);
  t.check_rule("mod-negative-numerator", neg % y, -(-neg % y));
  t.check_declines("mod-negative-numerator", n % y);
  t.check_rule("mod-negative-denominator", x % below, x % -below);
  t.check_declines("mod-negative-denominator", x % n);

  UOp teens = t.var("teens", 10, 14);
  t.check_rule("divmod-general", teens / 5, teens.const_like(2));
  t.check_rule("divmod-general", teens % 5, teens - Const(2) * five);
  t.check_declines("divmod-general", x / 7);
  UOp z = t.var("z", 0, 2), two = t.var("two", 3, 4), u = t.var("u", 0, 40), v = t.var("v", 1, 8);
  t.check_branch("divmod-general", "cancel", teens / 5, teens.const_like(2));
  t.check_branch("divmod-general", "nested-mod", (x % 6 + z) % 3, (x + z) % 3);
  t.check_branch("divmod-general", "binary-numerator", (two * 5 + 1) % 7, two * -2 + 8);
  t.check_branch("divmod-general", "congruence", (x * 5 + z) / 5, x);
  t.check_branch("divmod-general", "gcd-with-remainder", (x * 4 + u * 6 + 1) % 8, (x * 2 + u * 3) % 4 * 2 + 1);
  t.check_branch("divmod-general", "nest-by-factor", (x * 6 + u) / 12, (x + u / 6) / 2);
  t.check_branch("divmod-general", "divide-by-gcd", (x * v + u * v) / (v * 2), (x + u) / 2);
  t.check_branch("divmod-general", "factor-remainder", (x * v + u) / v, x + u / v);
  t.check_all_rules_fired();
}

TEST_CASE("symbolic() folds division and remainder of sums") {
  RuleTest t(symbolic());
  UOp x = t.var("x", 0, 100), y = t.var("y", 0, 40), z = t.var("z", 0, 2), n = t.var("n", 1, 8),
      neg = t.var("neg", -10, 10);
  UOp two = t.var("two", 3, 4);
  t.check_rewrite((x % 6 + z) % 3, (x + z) % 3);
  t.check_rewrite((neg % 6 + z) % 3, (z + neg % 6) % 3);
  t.check_rewrite((two * 5 + 1) % 7, two * -2 + 8);
  t.check_rewrite((x * 5 + z) / 5, x);                                // the factor 5 is congruent to 0 modulo 5
  t.check_rewrite((x * 7 + z) % 5, (z + x * 2) % 5);
  t.check_rewrite((x * 4 + y * 6 + 1) % 8, (x * 2 + y * 3) % 4 * 2 + 1);  // 2 divides all terms except the constant
  t.check_rewrite((x * 6 + y) / 12, (x + y / 6) / 2);                 // 6 is a factor of the denominator 12
  t.check_rewrite((x * n + y * n) / (n * 2), (x + y) / 2);            // n is a common divisor that is not a constant
  t.check_rewrite((x * n + y) / n, x + y / n);                        // one summand is a multiple of the denominator
  t.check_rewrite((x * n + y) % n, y % n);
}

TEST_CASE("CORRECT_DIVMOD_FOLDING disables the congruence folding for a numerator that may be negative") {
  Settings correct;
  correct.CORRECT_DIVMOD_FOLDING = 1;
  RuleTest loose(symbolic()), strict(symbolic(), correct);
  auto x = [](RuleTest& t) { return t.var("x", -10, 10); };
  auto quotient = [&](RuleTest& t) { return (t.var("z", 0, 2) + x(t) * 5) / 5; };
  loose.check_rewrite(quotient(loose), x(loose));
  strict.check_rewrite(quotient(strict), quotient(strict));
}

}  // namespace
}  // namespace tgc
