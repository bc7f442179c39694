#include "passes/symbolic/symbolic.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

TEST_CASE("conditions and gated indices are simplified given their clauses") {
  RuleTest t(pm_simplify_valid()), drop(pm_drop_and_clauses());
  UOp x = t.var("x", 0, 100), y = t.var("y", 0, 100), inv = t.graph.invalid();
  t.check_rule("valid-given-earlier-clauses", x.lt(5) & x.lt(8), x.lt(5) & t.constant(dtypes::bool_, true));
  t.check_rule("valid-given-earlier-clauses", x.lt(5) & x.lt(5), x.lt(5));
  t.check_declines("valid-given-earlier-clauses", x.lt(5) & y.lt(8));
  UOp loaded = t.load(0, dtypes::int32);
  t.check_declines("valid-given-earlier-clauses", loaded.lt(5) & loaded.lt(5));
  t.check_rule("index-given-valid", x.lt(8).where(x % 8, inv), x.lt(8).where(x, inv));
  UOp r = drop.range(8), s = drop.range(4, 1), none = drop.graph.invalid();
  drop.check_rule("valid-drops-clauses", (r.lt(5) & s.lt(2)).where(r, none),
                  (drop.constant(dtypes::bool_, true) & r.lt(5)).where(r, none));
  drop.check_declines("valid-drops-clauses", r.lt(5).where(r, none));
  t.check_all_rules_fired();
}

TEST_CASE("a condition on a load moves to the load's index") {
  RuleTest t(pm_move_where_on_load());
  UOp r = t.range(8), s = t.range(4, 1), buffer = t.buffer(0, dtypes::float32), cond = r.lt(5), at = buffer.index(r);
  UOp yes = t.constant(dtypes::bool_, true);
  t.check_rule("where-on-load", cond.where(at, 0), yes.where(buffer.index(r.valid(yes & cond)), 0));
  UOp gated = buffer.index(r.valid(cond));
  t.check_rule("where-on-load", cond.where(gated, 0), yes.where(gated, 0));
  t.check_declines("where-on-load", s.lt(2).where(at, 0));
  UOp negated = cond.logical_not();
  t.check_rule("where-not-on-load", cond.where(0, at), yes.where(buffer.index(r.valid(yes & negated)), 0));
  UOp gated_so = buffer.index(r.valid(negated));
  t.check_rule("where-not-on-load", cond.where(0, gated_so), yes.where(gated_so, 0));
  t.check_all_rules_fired();
  t.check_declines("where-not-on-load", s.lt(2).where(0, at));
}

}  // namespace
}  // namespace tgc
