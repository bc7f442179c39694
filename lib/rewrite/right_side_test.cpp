#include "lib/rewrite/right_side.h"

#include <doctest/doctest.h>

#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rules.h"
#include "lib/rewrite/stats.h"

namespace tgc {
namespace {

using namespace pat;

bool is_even(UOp c) { return c.arg().as_int().low_64_bits() % 2 == 0; }
bool never(UOp) { return false; }
Int twice(UOp c) { return c.arg().as_int() * 2; }
DType wider(UOp) { return dtypes::int64; }
UOp negated(UOp x) { return -x; }
UOp in_context(const int64_t& added, UOp x) { return x + Const(added); }
FoldingResult by_sign(UOp x, UOp c) {
  if (c.arg().as_int() > 0) return {x, "positive"};
  if (c.arg().as_int() < 0) return {-x, "negative"};
  return {};
}

// The result of a rule with the tested right side on v + c: the node that it makes, and the text and kind of its right
// side.
struct Tried {
  UOp made;
  std::string text, kind;
  RuleHit hit;
};
template <class... Right>
Tried on_sum(UOp u, ContextRef ctx, Right... right) {
  RuleSet set("test", {rule("sum", (x + c).as(root), right...)});
  Tried out{.text = right_side_text(*set.rules()[0]), .kind = std::string(name_of(right_side_kind(*set.rules()[0])))};
  out.made = set.matcher().rewrite(u, ctx.ptr(), ctx.type(), out.hit);
  return out;
}

struct Sum {
  Graph g;
  UOp v = g.variable("v", -9, 9, dtypes::int32), three = g.constant(dtypes::int32, 3), sum = v + three;
  void check(const Tried& tried, UOp made, std::string_view text, int line = __builtin_LINE()) {
    INFO("line " << line);
    CHECK(tried.made == made);
    CHECK(tried.text == text);
  }
};

}  // namespace

TEST_CASE("right sides: numbers are computed and become constants like the operand next to them") {
  Sum t;
  t.check(on_sum(t.sum, {}, x * fold(c * 2 + 1)), t.v * 7, "(x * fold(((c * 2) + 1)))");
  t.check(on_sum(t.sum, {}, fold(c - 5) + x), t.v.const_like(-2) + t.v, "(fold((c - 5)) + x)");
  t.check(on_sum(t.sum, {}, x - fold(c)), t.v + Const(-3), "(x - fold(c))");
  t.check(on_sum(t.sum, {}, x + fold(floor_div(-c, 2))), t.v + Const(-2), "(x + fold(floor_div(-c, 2)))");
  t.check(on_sum(t.sum, {}, x + fold(-c / 2)), t.v + Const(-1), "(x + fold((-c // 2)))");  // -3 / 2 truncates to -1
  t.check(on_sum(t.sum, {}, x + fold(floor_mod(-c, 2))), t.v + Const(1), "(x + fold(floor_mod(-c, 2)))");
  t.check(on_sum(t.sum, {}, x + fold(ceil(true_div(c, 2)))), t.v + Const(2), "(x + fold(ceil(true_div(c, 2))))");
  t.check(on_sum(t.sum, {}, x * fold<twice>(c)), t.v * 6, "(x * twice(c))");
  t.check(on_sum(t.sum, {}, const_like(x, vmax(x))), t.v.const_like(9), "const_like(x, vmax(x))");
}

TEST_CASE("right sides: algebra makes nodes and is listed") {
  Sum t;
  t.check(on_sum(t.sum, {}, const_like(x, 0)), t.v.const_like(0), "const_like(x, 0)");
  t.check(on_sum(t.sum, {}, const_like(x, c)), t.three, "const_like(x, c)");
  t.check(on_sum(t.sum, {}, cast(x, dtypes::float32)), t.v.cast(dtypes::float32), "cast(x, float)");
  t.check(on_sum(t.sum, {}, cast(x, dtype_by<wider>(x))), t.v.cast(dtypes::int64), "cast(x, wider(x))");
  t.check(on_sum(t.sum, {}, alu(op_of(root), c, x)), t.three + t.v, "alu(op_of(root), c, x)");
  t.check(on_sum(t.sum, {}, alu(Op::SUB, x, c)), t.v.alu(Op::SUB, t.three), "(x - c)");
  t.check(on_sum(t.sum, {}, alu(Op::NEG, x)), t.v.alu(Op::NEG), "NEG(x)");
  t.check(on_sum(t.sum, {}, -x), -t.v, "-x");
  t.check(on_sum(t.sum, {}, where(x < 0, 1, c)), t.v.lt(0).where(1, t.three), "WHERE((x < 0), 1, c)");
  t.check(on_sum(t.sum, {}, with_src(root, c, x)), t.three + t.v, "with_src(root, c, x)");
  t.check(on_sum(t.sum, {}, with_first_src(root, c)), t.three + t.three, "with_first_src(root, c)");
  t.check(on_sum(t.sum, {}, noop()), t.g.noop(), "uop(NOOP, dtypes.void)");
  t.check(on_sum(t.sum, {}, uop(Op::MAX, dtype_of(x), x, c)), t.v.maximum(t.three), "uop(MAX, dtype_of(x), x, c)");
  t.check(on_sum(t.sum, {}, broadcast(x, num_src(root))), t.v.broadcast(2), "broadcast(x, num_src(root))");
}

TEST_CASE("right sides: functions and lambdas work with and without a context") {
  Sum t;
  int64_t four = 4;
  auto function = on_sum(t.sum, {}, with<negated>(x));
  t.check(function, -t.v, "negated(x)");
  CHECK(function.kind == "function");
  t.check(on_sum(t.sum, four, with<in_context>(x)), t.v + Const(4), "in_context(x)");
  CHECK_THROWS_AS(on_sum(t.sum, {}, with<in_context>(x)), Failure);
  auto lambda = on_sum(t.sum, {}, with(x, c, [](UOp x, UOp c) { return c * x; }));
  t.check(lambda, t.three * t.v, "{...}");
  CHECK(lambda.kind == "lambda");
  t.check(on_sum(t.sum, four, with_ctx<int64_t>(x, [](int64_t& n, UOp x) { return x * Const(n); })), t.v * 4, "{...}");
  auto within = on_sum(t.sum, {}, with<negated>(x) * c);
  t.check(within, -t.v * t.three, "(negated(x) * c)");
  CHECK(within.kind == "function");
  CHECK(on_sum(t.sum, {}, x * c).kind == "algebra");
}

TEST_CASE("right sides: a rule declines if a guard is false") {
  Sum t;
  UOp even = t.v + Const(4);
  t.check(on_sum(t.sum, {}, x, when<is_even>(c)), UOp(), "x when is_even(c)");
  t.check(on_sum(even, {}, x, when<is_even>(c)), t.v, "x when is_even(c)");
  t.check(on_sum(even, {}, x, unless<is_even>(c)), UOp(), "x when not(is_even(c))");
  t.check(on_sum(even, {}, x, when<is_even>(c), when<never>(x)), UOp(), "x when is_even(c) and never(x)");
}

TEST_CASE("right sides: the first branch whose guards hold applies and is named") {
  Sum t;
  auto try_on = [&](UOp u) { return on_sum(u, {}, branch("even", x, when<is_even>(c)), branch("odd", c)); };
  auto odd = try_on(t.sum), even = try_on(t.v + Const(4));
  t.check(odd, t.three, "even: x when is_even(c) | odd: c");
  CHECK(std::string_view(odd.hit.branch) == "odd");
  CHECK(even.made == t.v);
  CHECK(std::string_view(even.hit.branch) == "even");
  CHECK(on_sum(t.sum, {}, x).hit.branch == nullptr);

  auto signs = [&](UOp u) { return on_sum(u, {}, with<by_sign>(x, c).branches({"positive", "negative"})); };
  auto negative = signs(t.v + Const(-3));
  t.check(negative, -t.v, "by_sign(x, c) [positive | negative]");
  CHECK(std::string_view(negative.hit.branch) == "negative");
  CHECK(!signs(t.v + Const(0)).made);
}

TEST_CASE("right sides: RuleStats counts hits per branch") {
  Sum t;
  static const RuleSet set("test", {rule("sum", x + c, branch("even", x, when<is_even>(c)), branch("odd", c))});
  RuleStats stats;
  RuleHit hit;
  for (int n : {1, 2, 4}) set.matcher().rewrite_watched(t.v + Const(n), nullptr, nullptr, hit, &stats, nullptr);
  const auto counted = stats.counters_by_rule()[set.rules()[0]->rule_id];
  CHECK(counted.num_hits == 3);
  CHECK(counted.branch_hit_counts == decltype(counted.branch_hit_counts){{"odd", 1}, {"even", 2}});
}

}  // namespace tgc
