#include "lib/rewrite/hits.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/rewrite/matcher.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

using namespace pat;

TEST_CASE("hits: hits and declines of a rule are recorded separately") {
  record_rule_events();
  const RuleSet set("hits of rules", {  // not static, so that each subcase has new rules without recorded events
      // the rule rewrites the NEG of a constant to the constant, returns the NEG of a variable unchanged, declines
      // other NEGs
      rule("drop-neg", node(Op::NEG, x).as(y), with(x, y, [](UOp x, UOp y) {
             return x.is_const() ? x : x.is(Op::DEFINE_VAR) ? y : UOp();
           })),
      rule("add-zero", x + 0, x),
  });
  Graph g;
  const Rule &guarded = *set.rules()[0], &algebra = *set.rules()[1];
  CHECK(is_guarded(guarded));
  CHECK(!is_guarded(algebra));
  auto try_on = [&](UOp u) {
    RuleHit hit;
    return set.matcher().rewrite(u, nullptr, nullptr, hit);
  };
  UOp v = g.variable("v", 0, 9), two = g.constant(dtypes::index, 2);
  set.matcher();
  auto tried = matcher_rules();
  CHECK(std::ranges::count(tried, guarded.rule_id, &Rule::rule_id) == 1);
  CHECK(!try_on(v + two));
  CHECK((!was_rule_hit(guarded) && !has_declined(guarded) && !was_rule_hit(algebra)));

  SUBCASE("the right side returns nothing") { CHECK(!try_on((v + two).alu(Op::NEG))); }
  SUBCASE("the right side returns the node itself") { CHECK(!try_on(v.alu(Op::NEG))); }
  CHECK(try_on(v + 0) == v);
  CHECK((was_rule_hit(algebra) && !has_declined(algebra)));
  CHECK(try_on(two.alu(Op::NEG)) == two);
  CHECK(was_rule_hit(guarded));
  CHECK(has_declined(guarded));
}

}  // namespace
}  // namespace tgc
