#include "lib/compilation/recorded_rewrites.h"

#include <doctest/doctest.h>

#include <utility>

#include "lib/trace/provenance.h"
#include "lib/trace/trace_file.h"

namespace tgc {
namespace {

TEST_CASE("RecordedTrace: rebuilt nodes, and the nodes that a rule made, are derived from the matches") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), sum = x + 0, product = sum * 3, twice = product + product;
  UOp input = graph.node(Op::SINK, dtypes::void_, {twice});
  // The rule for `twice` makes product*2; inside the rule, a nested rewrite replaces 2*1 by 2.
  UOp rebuilt = x * 3, doubled = rebuilt + rebuilt;
  UOp two = x.const_like(2), one = x.const_like(1);
  UOp inner = two * one, scaled = rebuilt * two;
  UOp result = graph.node(Op::SINK, dtypes::void_, {scaled});
  const std::vector<Rewrite> matches{{.depth = 1, .before = sum, .after = x, .source_location = "a.py:1"},
                                     {.depth = 2, .before = inner, .after = two, .source_location = "b.py:2"},
                                     {.depth = 1, .before = doubled, .after = scaled, .source_location = "c.py:3"}};
  struct Events : TraceConsumer {
    std::vector<std::string> events;
    void on_rule_applied(int depth, const TraceRule& rule, UOp, UOp after, TraceCost cost) override {
      const bool made =
          node_number(after) >= cost.first_made_node_number && node_number(after) < cost.end_made_node_number;
      events.push_back(std::to_string(depth) + " " + std::string(rule.name) + (made ? " made" : ""));
    }
    void on_node_rebuilt(int, UOp before, UOp after) override {
      events.push_back(before == after ? "same" : "rebuilt");
    }
  } seen;
  TraceReplay replay;
  NodeProvenance provenance;
  TraceForwarder all({&seen, &replay, &provenance});
  RecordedTraceSender trace(graph, all);
  all.begin_kernel("k", "CPU", input);
  trace.send_stage("s", input, result, matches);
  CHECK(seen.events == std::vector<std::string>{"0 a.py:1", "rebuilt", "rebuilt", "1 b.py:2", "0 c.py:3 made",
                                                "rebuilt"});
  CHECK(replay.num_same() == 1);
  CHECK(replay.num_different() == 0);
  bool is_from_ast = false;
  const std::vector<TraceStep> steps = provenance.steps_from_ast(rebuilt, "s", is_from_ast);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].kind == TraceStep::Kind::Rebuilt);
  CHECK(steps[0].before == product);
  CHECK(is_from_ast);
  CHECK(!provenance.steps_from_ast(scaled, "s", is_from_ast).empty());
  CHECK(is_from_ast);
}

// Returns the kinds of the steps from `node` to the last graph, and what the node becomes there.
std::pair<std::vector<TraceStep::Kind>, UOp> future_of(const NodeProvenance& provenance, UOp node) {
  UOp last;
  std::vector<TraceStep::Kind> kinds;
  for (const TraceStep& s : provenance.steps_to_end(node, "", last)) kinds.push_back(s.kind);
  return {kinds, last};
}

TEST_CASE("RecordedTrace: a rule that substitutes nodes below its root loses none of them") {
  Graph graph;
  UOp r = graph.variable("r", 0, 9), s = graph.variable("s", 0, 9);
  auto on = [&](UOp x) { return graph.node(Op::SINK, dtypes::void_, {x * 3 + 1}); };
  const std::vector<Rewrite> matches{{.depth = 2, .before = r, .after = s, .source_location = "ops.py:1"},
                                     {.depth = 1, .before = on(r), .after = on(s), .source_location = "gpudims.py:2"}};
  NodeProvenance provenance;
  RecordedTraceSender trace(graph, provenance);
  provenance.begin_kernel("k", "CPU", on(r));
  trace.send_stage("s", on(r), on(s), matches);
  CHECK(future_of(provenance, r * 3) == std::pair(std::vector{TraceStep::Kind::Rebuilt}, s * 3));
  CHECK(future_of(provenance, r) == std::pair(std::vector{TraceStep::Kind::Rewrite}, s));
  bool is_from_ast = false;
  const std::vector<TraceStep> past = provenance.steps_from_ast(s * 3, "s", is_from_ast);
  REQUIRE(past.size() == 1);
  CHECK(past[0].before == r * 3);
  CHECK(is_from_ast);
}

TEST_CASE("RecordedTrace: rewrites that the code of a stage makes before its own do not hide what a node becomes") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), y = graph.variable("y", 0, 9), z = graph.variable("z", 0, 9);
  UOp input = graph.node(Op::SINK, dtypes::void_, {(x + 0) * 3}), result = graph.node(Op::SINK, dtypes::void_, {z * 3});
  const std::vector<Rewrite> matches{{.depth = 1, .before = x + 0, .after = y, .source_location = "ranges.py:1"},
                                     {.depth = 1, .before = x + 0, .after = z, .source_location = "stage.py:2"}};
  NodeProvenance provenance;
  RecordedTraceSender trace(graph, provenance);
  provenance.begin_kernel("k", "", input);
  trace.send_stage("s", input, result, matches);
  CHECK(future_of(provenance, (x + 0) * 3).second == z * 3);
}

TEST_CASE("RecordedTrace: a node is unknown, not gone, if no rewrite shows how the stage made its result") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), y = graph.variable("y", 0, 9), unused = x + 5;
  UOp input = graph.node(Op::SINK, dtypes::void_, {x * 3, unused * y * 0});
  UOp made_by_rule = graph.node(Op::SINK, dtypes::void_, {x * 3, y * 0});
  UOp other = graph.node(Op::SINK, dtypes::void_, {y});
  const std::vector<Rewrite> matches{
      {.depth = 1, .before = unused * y * 0, .after = y * 0, .source_location = "a.py:1"}};
  for (UOp result : {made_by_rule, other}) {
    NodeProvenance provenance;
    RecordedTraceSender trace(graph, provenance);
    provenance.begin_kernel("k", "", input);
    trace.send_stage("s", input, result, matches);
    const auto [kinds, last] = future_of(provenance, unused);
    CHECK(!last);
    CHECK(kinds == std::vector{result == other ? TraceStep::Kind::Unknown : TraceStep::Kind::Gone});
  }
}

TEST_CASE("RecordedTrace: an operation that a rule makes again of another dtype is the same operation") {
  Graph graph;
  UOp wide = graph.variable("n", 0, 9, dtypes::int64), narrow = graph.variable("n", 0, 9, dtypes::int32);
  auto on = [&](UOp x) { return graph.node(Op::SINK, dtypes::void_, {x.cast(dtypes::float32)}); };
  const std::vector<Rewrite> matches{
      {.depth = 2, .before = wide, .after = narrow.cast(dtypes::int64), .source_location = "weak.py:1"},
      {.depth = 1, .before = on(wide + wide), .after = on(narrow + narrow), .source_location = "weak.py:2"}};
  NodeProvenance provenance;
  RecordedTraceSender trace(graph, provenance);
  provenance.begin_kernel("k", "CPU", on(wide + wide));
  trace.send_stage("s", on(wide + wide), on(narrow + narrow), matches);
  CHECK(future_of(provenance, wide + wide) == std::pair(std::vector{TraceStep::Kind::Part}, narrow + narrow));
  CHECK(future_of(provenance, wide).second == narrow);
}

TEST_CASE("RecordedTrace: a node has the same number whichever stages are sent") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), first = x + 0, second = x * 5, third = x * 7;
  const std::vector<Rewrite> one{{.depth = 1, .before = first, .after = second, .source_location = "a.py:1"}};
  const std::vector<Rewrite> two{{.depth = 1, .before = second, .after = third, .source_location = "a.py:2"}};
  std::vector<uint32_t> numbers;
  for (bool all : {true, false}) {
    NodeProvenance provenance;
    RecordedTraceSender trace(graph, provenance);
    provenance.begin_kernel("k", "", first);
    trace.send_stage("1", first, second, one, all);
    trace.send_stage("2", second, third, two);
    CHECK(provenance.stage_names().size() == (all ? 2 : 1));
    numbers.push_back(provenance.node_number(third));
  }
  CHECK(numbers[0] == numbers[1]);
}

TEST_CASE("RecordedTrace: rewrites of discarded attempts are marked") {
  Graph graph;
  UOp x = graph.variable("x", 0, 9), sum = x + 0, other = x * 3, doubled = x * 2;
  UOp input = graph.node(Op::SINK, dtypes::void_, {sum}), result = graph.node(Op::SINK, dtypes::void_, {x});
  std::vector<Rewrite> rewrites{{.depth = 1, .before = sum, .after = x, .source_location = "a.py:1"},
                                {.depth = 2, .before = doubled, .after = other, .source_location = "b.py:2"},
                                {.depth = 1, .before = other, .after = doubled, .source_location = "c.py:3"},
                                {.depth = 2, .before = doubled, .after = x, .source_location = "d.py:4"}};
  auto marks = [&] {
    std::string out;
    for (const Rewrite& r : rewrites) out += r.is_discarded ? 'x' : '.';
    for (Rewrite& r : rewrites) r.is_discarded = false;
    return out;
  };
  mark_discarded(rewrites, input, result);
  CHECK(marks() == "...x");  // the rule around the last rewrite declined; no other rewrite is certainly discarded
  mark_discarded(rewrites, input, input);
  CHECK(marks() == "xxxx");
}

}  // namespace
}  // namespace tgc
