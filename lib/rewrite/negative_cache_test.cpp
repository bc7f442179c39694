#include "lib/rewrite/negative_cache.h"

#include <doctest/doctest.h>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {

using namespace pat;

int of_add, of_mul, of_context;

struct Limit {
  int most = 0;
};

// Returns a set that has enough rules for the rewriter to use the negative cache.
const RuleSet& add_set() {
  static const RuleSet add("add", {rule("add", node(Op::ADD).as(u), with(u, [](UOp) { return of_add++, UOp(); }))});
  static const RuleSet others("others", std::vector<Rule>(50, rule("sin", node(Op::SIN, x), x)));
  static const RuleSet set("add and others", {&add, &others});
  return set;
}
const RuleSet& more_set() {
  static const RuleSet more("more", {rule("mul", x * y, with(x, y, [](UOp, UOp y) { return of_mul++, y; }))});
  static const RuleSet set("add and more", {&add_set(), &more});
  return set;
}
const RuleSet& context_set() {
  static const RuleSet more(
      "context", {rule("context", node(Op::ADD).as(u), with_ctx<const Limit>(u, [](const Limit& limit, UOp u) {
                         return of_context++, limit.most > 0 ? u.src(0) : UOp();
                       }))});
  static const RuleSet set("add and context", {&add_set(), &more});
  return set;
}

}  // namespace

TEST_CASE("negative cache: a rule that declined a node is not tried on it again, in any rule set") {
  of_add = of_mul = 0;
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9), sum = a + b;
  CHECK(graph_rewrite(sum, add_set()) == sum);
  CHECK(graph_rewrite(sum, add_set()) == sum);
  CHECK(graph_rewrite(sum * a, more_set()) == a);
  CHECK(of_add == 1);
  CHECK(of_mul == 1);
  CHECK(graph_rewrite(a + sum, more_set()) == a + sum);  // the root a + sum is a new node: the rule is tried on it
  CHECK(of_add == 2);
  Graph other;  // nothing is cached for the nodes of another graph
  UOp v = other.variable("v", 0, 9);
  graph_rewrite(v + v, more_set());
  CHECK(of_add == 3);
}

TEST_CASE("negative cache: a rule that reads a context is tried again") {
  of_add = of_context = 0;
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9), sum = a + b;
  Limit none, one{1};
  CHECK(graph_rewrite(sum, context_set(), {.ctx = none}) == sum);
  CHECK(graph_rewrite(sum, context_set(), {.ctx = one}) == a);
  CHECK(of_add == 1);
  CHECK(of_context == 2);
}

TEST_CASE("negative cache: an observer disables it") {
  of_add = 0;
  Graph g;
  UOp a = g.variable("a", 0, 9), sum = a + a;
  graph_rewrite(sum, add_set());
  RewriteObserver observer;
  set_observer(g, &observer);
  graph_rewrite(sum, add_set());
  set_observer(g, nullptr);
  CHECK(of_add == 2);
}

TEST_CASE("negative cache: nodes below a gate are not recorded as tried") {
  of_add = 0;
  static const RuleSet gate("gate",
                            {rule("stop", node(Op::CAST).as(x), with(x, [](UOp) { return bottom_up_gate(); }))});
  Graph g;
  UOp a = g.variable("a", 0, 9), cast = (a + a).cast(dtypes::float32);
  graph_rewrite(cast, add_set(), {.bpm = &gate});
  CHECK(of_add == 0);
  graph_rewrite(cast, add_set());
  CHECK(of_add == 1);
}
