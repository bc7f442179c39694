#include "lib/compilation/recorded_rewrites.h"

#include <doctest/doctest.h>

#include "lib/trace/provenance.h"
#include "lib/trace/trace_file.h"

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
  const std::vector<Rewrite> matches{{.depth = 1, .before = sum, .after = x, .place = "a.py:1"},
                                     {.depth = 2, .before = inner, .after = two, .place = "b.py:2"},
                                     {.depth = 1, .before = doubled, .after = scaled, .place = "c.py:3"}};
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

TEST_CASE("RecordedTrace: rewrites of discarded attempts are marked") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), sum = x + 0, other = x * 3, doubled = x * 2;
  UOp input = graph.node(Op::SINK, dtypes::void_, {sum}), result = graph.node(Op::SINK, dtypes::void_, {x});
  std::vector<Rewrite> rewrites{{.depth = 1, .before = sum, .after = x, .place = "a.py:1"},
                                {.depth = 2, .before = doubled, .after = other, .place = "b.py:2"},
                                {.depth = 1, .before = other, .after = doubled, .place = "c.py:3"},
                                {.depth = 2, .before = doubled, .after = x, .place = "d.py:4"}};
  auto marks = [&] {
    std::string out;
    for (const Rewrite& r : rewrites) out += r.is_discarded ? 'x' : '.';
    for (Rewrite& r : rewrites) r.is_discarded = false;
    return out;
  };
  mark_discarded(rewrites, input, result);
  CHECK(marks() == "...x");  // the last rule declined; nothing else is certain
  mark_discarded(rewrites, input, input);
  CHECK(marks() == "xxxx");
}

}  // namespace
}  // namespace tgc
