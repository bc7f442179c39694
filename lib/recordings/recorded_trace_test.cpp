#include "lib/recordings/recorded_trace.h"

#include <doctest/doctest.h>

#include "lib/trace/provenance.h"

namespace tgc {
namespace {

TEST_CASE("RecordedTrace: rebuilt nodes, and the nodes that a rule made, are derived from the matches") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), sum = x + 0, product = sum * 3, twice = product + product;
  UOp input = graph.node(Op::SINK, dtypes::void_, {twice});
  // The rule for `twice` makes product*2, of which it rewrites 2*1 to 2.
  UOp rebuilt = x * 3, doubled = rebuilt + rebuilt;
  UOp two = x.const_like(2), one = x.const_like(1);
  UOp inner = two * one, scaled = rebuilt * two;
  UOp result = graph.node(Op::SINK, dtypes::void_, {scaled});
  const std::vector<RecordedMatch> matches{{0, "a.py:1", sum, x, 1}, {0, "b.py:2", inner, two, 2},
                                           {0, "c.py:3", doubled, scaled, 1}};
  struct Events : TraceConsumer {
    std::vector<std::string> events;
    void rewrite(int depth, const TraceRule& rule, UOp, UOp after, TraceCost cost) override {
      const bool made = number(after) >= cost.made_from && number(after) < cost.made_to;
      events.push_back(std::to_string(depth) + " " + std::string(rule.name) + (made ? " made" : ""));
    }
    void rebuilt(int, UOp before, UOp after) override { events.push_back(before == after ? "same" : "rebuilt"); }
  } seen;
  TraceReplay replay;
  Provenance provenance;
  TraceTee all({&seen, &replay, &provenance});
  RecordedTrace trace(graph, all);
  all.kernel("k", "CPU", input);
  trace.stage("s", input, result, matches);
  CHECK(seen.events == std::vector<std::string>{"0 a.py:1", "rebuilt", "rebuilt", "1 b.py:2", "0 c.py:3 made",
                                                "rebuilt"});
  CHECK(replay.same() == 1);
  CHECK(replay.different() == 0);
  bool from_ast = false;
  const std::vector<Step> steps = provenance.back(rebuilt, "s", from_ast);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].kind == Step::Kind::Rebuilt);
  CHECK(steps[0].before == product);
  CHECK(from_ast);
  CHECK(!provenance.back(scaled, "s", from_ast).empty());
  CHECK(from_ast);
}

}  // namespace
}  // namespace tgc
