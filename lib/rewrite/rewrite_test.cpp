#include "lib/rewrite/rewrite.h"

#include <doctest/doctest.h>

#include "lib/rewrite/rewrite_override.h"
#include "lib/support/testing.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {

using namespace pat;

std::string failure_of(auto body) {
  auto result = catch_failures([&] { return body(), 0; });
  return result ? "none" : result.diag().text();
}

struct Counter {
  int calls = 0;
};

}  // namespace

TEST_CASE("graph_rewrite: rewrites sources first, until nothing changes") {
  static const RuleSet set(
      "test",
      {
          rule("fold", node(Op::ADD, node(Op::CONST).as(a), node(Op::CONST).as(b)),
               with(a, b, [](UOp a, UOp b) { return a.const_like(py_add(a.arg().to_const(), b.arg().to_const())); })),
          rule("zero", x * 0, with(x, [](UOp x) { return x.const_like(0); })),
      });
  Graph g;
  UOp v = g.variable("v", 0, 9), one = g.constant(dtypes::index, 1), minus = g.constant(dtypes::index, -1);
  CHECK(graph_rewrite(v * (one + minus) + one, set) == one);   // by 1 + -1 -> 0, v * 0 -> 0, 0 + 1 -> 1
  CHECK(graph_rewrite(v + one, set) == v + one);
}

TEST_CASE("graph_rewrite: a rule's result is rewritten again") {
  static const RuleSet set("test", {
      rule("add-to-mul", x + y, x * y),
      rule("mul-to-max", x * y, with(x, y, [](UOp x, UOp y) { return x.maximum(y); })),
  });
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  CHECK(graph_rewrite(a + b, set) == a.maximum(b));
}

TEST_CASE("graph_rewrite: bottom-up rules see a node before its sources change") {
  static const RuleSet set("test", {
      rule("outer", x * (y + c), x),
      rule("inner", y + c, y),
  });
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9), two = g.constant(dtypes::index, 2);
  UOp graph = a * (b + two);
  CHECK(graph_rewrite(graph, set) == a * b);                          // top-down: the inner node is rewritten first
  CHECK(graph_rewrite(graph, set, {.bottom_up = true}) == a);         // bottom-up: the outer node is rewritten first
}

TEST_CASE("graph_rewrite: a gate keeps a node and everything below it") {
  static const RuleSet set(
      "test", {
                  rule("stop", node(Op::CAST).as(x), with(x, [](UOp) { return bottom_up_gate(); })),
                  rule("rename", node(Op::DEFINE_VAR).as(x),
                       with(x, [](UOp x) { return x.arg()[0].text() == "b" ? UOp() : x.graph().variable("b", 0, 9); })),
              });
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  UOp kept = a.cast(dtypes::int32);
  CHECK(graph_rewrite(g.sink({a, kept}), set, {.bottom_up = true}) == g.sink({b, kept}));
}

TEST_CASE("graph_rewrite: rules receive the context, and a context of another type is an error") {
  static const RuleSet set("test", {rule("count", node(Op::DEFINE_VAR).as(x),
                                         with_ctx<Counter>(x, [](Counter& c, UOp) { return c.calls++, UOp(); }))});
  Graph g;
  UOp a = g.variable("a", 0, 9);
  Counter counter;
  graph_rewrite(a + a * a, set, {.ctx = counter});
  CHECK(counter.calls == 1);
  int other = 0;
  CHECK(failure_of([&] { graph_rewrite(a, set, {.ctx = other}); }).find("count") != std::string::npos);
}

TEST_CASE("graph_rewrite: rules that change a context run in tinygrad's order") {
  using Order = std::vector<std::string>;
  auto note = [](Order& seen, UOp x) { return seen.push_back(std::string(x.arg()[0].text())), UOp(); };
  static const RuleSet set("test", {rule("note", node(Op::DEFINE_VAR).as(x), with_ctx<Order>(x, note))});
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  Order seen;
  graph_rewrite((a + b) * a, set, {.ctx = seen});
  CHECK(seen == Order{"b", "a"});  // `a` is already on the product's part of the stack, so the sum waits for `a`
}

TEST_CASE("graph_rewrite: rules that undo each other are detected and named") {
  static const RuleSet set("test", {rule("there", x + y, x * y), rule("and-back", x * y, x + y)});
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  for (bool bottom_up : {false, true}) {
    std::string text = failure_of([&] { graph_rewrite(a + b, set, {.bottom_up = bottom_up, .name = "ping pong"}); });
    INFO(text);
    CHECK(text.find("stage 'ping pong' does not end") != std::string::npos);
    CHECK(text.find("there (lib/rewrite/rewrite_test.cpp:") != std::string::npos);
    CHECK(text.find("and-back (") != std::string::npos);
    CHECK(text.find("there on\n    Ops.ADD dtypes.index\n      Ops.DEFINE_VAR dtypes.index ('a', 0, 9)") !=
          std::string::npos);
    CHECK(text.find("and-back on\n    Ops.MUL") != std::string::npos);
  }
}

TEST_CASE("graph_rewrite: the message of an endless rewrite omits rules outside the cycle") {
  static const RuleSet set(
      "test", {rule("there", x + y, x * y), rule("and-back", x * y, x + y), rule("innocent", maximum(x, 0), x)});
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  for (bool in_order : {false, true}) {
    RewriteObserver watch;
    set_observer(g, in_order ? &watch : nullptr);
    std::string text = failure_of([&] {
      graph_rewrite(g.sink({a.maximum(a.const_like(0)), a + b}), set, {.name = "ping pong"});
    });
    INFO(text);
    CHECK(text.find("and-back (") != std::string::npos);
    CHECK(text.find("innocent") == std::string::npos);
  }
}

TEST_CASE("graph_rewrite: REWRITE_STACK_LIMIT bounds the number of waiting nodes") {
  static const RuleSet set("test", {rule("zero", x + 0, x)});
  for (auto [limit, ends] : {std::pair(50, false), std::pair(500, true)}) {
    Settings settings;
    settings.REWRITE_STACK_LIMIT = limit;
    Graph g(settings);
    UOp deep = g.variable("a", 0, 9) + 1;
    for (int i = 0; i < 100; i++) deep = deep * deep;
    CHECK((failure_of([&] { graph_rewrite(deep, set); }) == "none") == ends);
  }
}

TEST_CASE("graph_rewrite: UninstrumentedScope uses at least the default limit, hides observer and RewriteOverride") {
  static const RuleSet set("test", {rule("zero", x + 0, x)});
  struct Watch : RewriteObserver, RewriteOverride {
    int told = 0;
    void on_rule_applied(const RuleHit&, UOp, UOp, RuleCost) override { told++; }
    UOp choose_result(const RuleHit&, UOp, UOp after) override { return told++, after; }
  } watch;
  Settings settings;
  settings.REWRITE_STACK_LIMIT = 50;
  Graph g(settings);
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9), deep = a + 0;
  for (int i = 0; i < 100; i++) deep = deep * deep;
  auto rewrite = [&] { graph_rewrite(deep, set); };
  auto replace = [&] { substitute(deep, {{a, b}}); };
  set_observer(g, &watch), set_rewrite_override(g, &watch);
  {
    UninstrumentedScope own(g);
    CHECK(failure_of(rewrite) == "none");
    CHECK(failure_of(replace) == "none");
    CHECK(watch.told == 0);
  }
  CHECK(failure_of(rewrite) != "none");
  CHECK(failure_of(replace) != "none");
  CHECK(rewrite_observer_of(g) == &watch);
  CHECK(rewrite_override_of(g) == &watch);
}

TEST_CASE("graph_rewrite: a graph that grows without end is detected") {
  static const RuleSet set("test",
                           {rule("grow", x + y, with(x, y, [](UOp x, UOp y) { return (x + y.const_like(1)) + y; }))});
  Settings settings;
  settings.REWRITE_STACK_LIMIT = 5000;
  Graph g(settings);
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  std::string text = failure_of([&] { graph_rewrite(a + b, set, {.name = "growth"}); });
  CHECK(text.find("stage 'growth' does not end") != std::string::npos);
  CHECK(text.find("grow (") != std::string::npos);
}

TEST_CASE("graph_rewrite: a failure in a rule names stage, rule and node") {
  static const RuleSet set("test",
                           {rule("broken", x + y, with(x, [](UOp) -> UOp { throw Failure("no such thing"); }))});
  Graph g;
  UOp a = g.variable("a", 0, 9);
  std::string text = failure_of([&] { graph_rewrite(a + a, set, {.name = "here"}); });
  CHECK(text.find("no such thing") != std::string::npos);
  CHECK(text.find("in stage 'here', rule broken (") != std::string::npos);
  CHECK(text.find("Ops.ADD dtypes.index") != std::string::npos);
}

TEST_CASE("graph_rewrite: handles deep graphs") {
  static const RuleSet set("test", {rule("sub", node(Op::DEFINE_VAR).as(x), with(x, [](UOp x) {
                                           return x.arg()[0].text() == "b" ? UOp() : x.graph().variable("b", 0, 9);
                                         }))});
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9), deep_a = a, deep_b = b;
  for (int i = 0; i < 100000; i++) deep_a = deep_a * a, deep_b = deep_b * b;
  CHECK(graph_rewrite(deep_a, set) == deep_b);
}

TEST_CASE("graph_rewrite: an observer sees every rewrite") {
  static const RuleSet set("test", {rule("zero", x + 0, x), rule("one", x * 1, x)});
  struct Watch : RewriteObserver {
    std::vector<std::string> seen;
    void begin_rewrite(std::string_view name, UOp, const RuleSet&, bool) override {
      seen.push_back("begin " + std::string(name));
    }
    void on_rule_applied(const RuleHit& hit, UOp, UOp, RuleCost) override {
      seen.push_back(std::string(hit.rule->name));
    }
    void end_rewrite(std::string_view, UOp) override { seen.push_back("end"); }
  } watch;
  Graph g;
  UOp a = g.variable("a", 0, 9);
  set_observer(g, &watch);
  graph_rewrite((a + g.constant(dtypes::index, 0)) * g.constant(dtypes::index, 1), set, {.name = "s"});
  set_observer(g, nullptr);
  CHECK(watch.seen == std::vector<std::string>{"begin s", "zero", "one", "end"});
}

TEST_CASE("graph_rewrite_map: returns one result per node, in toposort order") {
  static const RuleSet set("test", {rule("zero", x + 0, x)});
  Graph g;
  UOp a = g.variable("a", 0, 9), zero = g.constant(dtypes::index, 0), sum = a + zero, root = sum * a;
  auto map = graph_rewrite_map(root, set);
  std::vector<std::pair<UOp, UOp>> expected{{a, a}, {zero, zero}, {sum, a}, {root, a * a}};
  CHECK(map == expected);
}
