#include <doctest/doctest.h>

#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/stats.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {

using namespace pat;

std::string hit(const RuleSet& set, UOp u, UOp* made = nullptr) {
  RuleHit hit;
  UOp out = set.matcher().rewrite(u, nullptr, nullptr, hit);
  if (made) *made = out;
  return out ? std::string(hit.rule->name) : "";
}

struct Terms {
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9), v = g.variable("v", 0, 9, dtypes::int32.vec(4));
  UOp two = g.constant(dtypes::index, 2), zero = g.constant(dtypes::index, 0), f = g.constant(dtypes::float32, 1.0);
};

}  // namespace

TEST_CASE("matcher: may_apply decides from the ops of a graph") {
  static const RuleSet set("test",
                           {rule("zero", x + 0, x), rule("of-max", node(Op::EXP2, any_of(maximum(x, y), x * y)), x)});
  auto may_apply = [](OpSet ops) { return set.matcher().may_apply(ops); };
  CHECK(may_apply({Op::ADD, Op::CONST}));
  CHECK_FALSE(may_apply({Op::ADD, Op::MUL}));
  CHECK_FALSE(may_apply({Op::CONST, Op::MUL, Op::MAX}));
  CHECK(may_apply({Op::EXP2, Op::MUL}));
}

TEST_CASE("matcher: the first rule in order wins") {
  static const RuleSet set("test", {rule("first", x + y, x), rule("second", x + y, y), rule("other", x * y, y)});
  Terms t;
  UOp made;
  CHECK(hit(set, t.a + t.b, &made) == "first");
  CHECK(made == t.a);
  CHECK(hit(set, t.a * t.b, &made) == "other");
  CHECK(hit(set, t.a % t.b) == "");
}

TEST_CASE("matcher: the next rule is tried if a right side returns nothing or the node itself") {
  static const RuleSet set("test", {
      rule("declines", x + y, with(x, [](UOp) { return UOp(); })),
      rule("returns-itself", (x + y).as(root), with(root, [](UOp root) { return root; })),
      rule("last", x + y, with(x, y, [](UOp x, UOp y) { return x * y; })),
  });
  Terms t;
  UOp made;
  CHECK(hit(set, t.a + t.b, &made) == "last");
  CHECK(made == t.a * t.b);
}

TEST_CASE("matcher: commutative sources match in the written order first, and in the other order after a decline") {
  static const RuleSet set("test",
                           {rule("add", x + y, with(x, y, [](UOp x, UOp y) { return y.is_const() ? UOp() : x * y; }))});
  static const RuleSet constants("test", {rule("const-right", x + c, c)});
  static const RuleSet ordered("test", {rule("less", x < c, c)});
  Terms t;
  UOp made;
  CHECK(hit(set, t.a + t.b, &made) == "add");
  CHECK(made == t.a * t.b);
  CHECK(hit(set, t.a + t.two, &made) == "add");
  CHECK(made == t.two * t.a);
  CHECK(hit(constants, t.two + t.a) == "const-right");
  CHECK(hit(constants, t.a + t.two) == "const-right");
  CHECK(hit(ordered, t.a.lt(t.two)) == "less");
  CHECK(hit(ordered, t.two.lt(t.a)) == "");
}

TEST_CASE("matcher: a repeated name must bind the same node") {
  static const RuleSet set("test", {rule("twice", x + x, x), rule("deep", (x * y) + y, x)});
  Terms t;
  CHECK(hit(set, t.a + t.a) == "twice");
  CHECK(hit(set, t.a + t.b) == "");
  CHECK(hit(set, t.a * t.b + t.b) == "deep");
  CHECK(hit(set, t.b + t.a * t.b) == "deep");
  UOp made;
  CHECK(hit(set, t.b + t.b * t.a, &made) == "deep");
  CHECK(made == t.a);
}

TEST_CASE("matcher: patterns restrict dtypes, args and number of sources") {
  static const RuleSet set("test", {
      rule("of-int", x.of(dtypes::ints) + y, x),
      rule("zero", x * 0, x),
      rule("exactly-one", node(Op::SINK, x), x),
      rule("at-least-two", any_len(Op::SINK, x, y), y),
      rule("no-source", leaf_node(Op::SINK).as(root), with(root, [](UOp root) { return root.graph().noop(); })),
      rule("all-const", each(Op::GROUP, node(Op::CONST)).as(root), with(root, [](UOp root) { return root.src(0); })),
      rule("arg", node(Op::GEP, x).arg(Arg(3)), x),
  });
  Terms t;
  CHECK(hit(set, t.v + t.v) == "of-int");  // v is a vector, but its scalar dtype is int32
  CHECK(hit(set, t.a + t.b) == "");        // a and b have dtypes.index, which is not in dtypes::ints
  CHECK(hit(set, t.a * t.zero) == "zero");
  CHECK(hit(set, t.a * t.two) == "");
  CHECK(hit(set, t.g.sink({t.a})) == "exactly-one");
  UOp made;
  CHECK(hit(set, t.g.sink({t.a, t.b, t.f}), &made) == "at-least-two");
  CHECK(made == t.b);
  CHECK(hit(set, t.g.sink({})) == "no-source");
  CHECK(hit(set, t.g.node(Op::GROUP, dtypes::void_, {t.two, t.f})) == "all-const");
  CHECK(hit(set, t.g.node(Op::GROUP, dtypes::void_, {t.two, t.a})) == "");
  CHECK(hit(set, t.g.node(Op::GEP, dtypes::int32, {t.v}, 3)) == "arg");
  CHECK(hit(set, t.g.node(Op::GEP, dtypes::int32, {t.v}, 2)) == "");
}

TEST_CASE("matcher: alternatives are tried in order") {
  static const RuleSet set("test", {rule("maybe-cast", or_casted(node(Op::CONST), c) + x, c)});
  Terms t;
  UOp made;
  UOp casted = t.two.cast(dtypes::int32);
  CHECK(hit(set, t.two + t.a, &made) == "maybe-cast");
  CHECK(made == t.two);
  CHECK(hit(set, casted + casted, &made) == "maybe-cast");
  CHECK(made == casted);
}

TEST_CASE("matcher: RuleStats counts attempts and hits") {
  static const RuleSet set("test", {rule("one", x + c, c), rule("two", x + y, y)});
  Terms t;
  RuleStats stats;
  RuleHit applied;
  CHECK(set.matcher().rewrite_watched(t.a + t.b, nullptr, nullptr, applied, &stats, nullptr));
  CHECK(set.matcher().rewrite_watched(t.a + t.two, nullptr, nullptr, applied, &stats, nullptr));
  uint32_t one = set.rules()[0]->rule_id, two = set.rules()[1]->rule_id;
  auto counted = stats.counters_by_rule();
  CHECK(counted[one].num_hits == 1);
  CHECK(counted[one].num_attempts == 2);
  CHECK(counted[two].num_hits == 1);
  CHECK(counted[two].num_attempts == 1);
}

TEST_CASE("patterns are printed as text") {
  CHECK(pattern_text(*pattern_node_of((x + c0) < c1)) == "((x + c0) < c1)");
  CHECK(pattern_text(*pattern_node_of(x * 0)) == "(x * 0)");
}

using namespace tgc;

namespace {

using namespace pat;

int of_add, of_mul, of_context;

struct Limit {
  int most = 0;
};

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
  Graph other;
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
