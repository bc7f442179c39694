#include "lib/rewrite/fault.h"

#include <doctest/doctest.h>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

using namespace pat;

TEST_CASE("parse_fault: accepts RULE[@N], kinds and lists, and rejects other text") {
  CHECK(parse_fault("add-zero")->application_number == 1);
  CHECK(parse_fault("add-zero@12")->application_number == 12);
  CHECK(parse_fault("add-zero@12")->rule == "add-zero");
  CHECK(parse_fault("add-zero")->kind == FaultSpec::Kind::Kernel);
  CHECK(parse_fault("tensor:add-zero@2")->kind == FaultSpec::Kind::Tensor);
  CHECK(parse_fault("renderer:ADD@2")->rule == "ADD");
  CHECK(parse_fault("llvm:wide-slp")->kind == FaultSpec::Kind::Llvm);
  CHECK(parse_fault("endless:add-zero@2")->kind == FaultSpec::Kind::Endless);
  CHECK(parse_fault("shortcut:coprime")->kind == FaultSpec::Kind::Shortcut);
  FaultSpec two = parse_fault("add-zero@2,tensor:mul-one").value_or_throw();
  REQUIRE(two.other_faults.size() == 1);
  CHECK(two.other_faults[0].kind == FaultSpec::Kind::Tensor);
  CHECK(two.text() == "add-zero@2,tensor:mul-one");
  for (const char* wrong : {"", "@2", "add-zero@", "add-zero@0", "add-zero@x", "add-zero@1x",
                            "elsewhere:add-zero", "tensor:", "add-zero,", ",add-zero"})
    CHECK_FALSE(parse_fault(wrong));
}

TEST_CASE("changed_value: changes integers, floats, bools and stored values, and nothing else") {
  Graph g;
  UOp i = g.variable("i", 0, 9, dtypes::int32);
  UOp f = i.cast(dtypes::float32);
  CHECK(change_value(i) == i + Const(int64_t(1)));
  CHECK(change_value(f) == f * Const(2.0));
  CHECK(change_value(i.lt(Const(int64_t(3)))) == i.lt(Const(int64_t(3))).logical_not());
  UOp store = g.node(Op::STORE, dtypes::void_, {i, f});
  CHECK(change_value(store) == g.node(Op::STORE, dtypes::void_, {i, f * Const(2.0)}));
  CHECK_FALSE(change_value(g.node(Op::SINK, dtypes::void_, {store})));
}

const RuleSet& halves() {
  static const RuleSet set("halves", {rule("halve", x / c1, with(x, c1, [](UOp x, UOp) { return x; })),
                                      rule("drop-zero", x + 0, x)});
  return set;
}

TEST_CASE("fault: endless:RULE makes the rewrite endless") {
  Graph g;
  UOp a = g.variable("a", 0, 9, dtypes::int32);
  FaultOverride fault(parse_fault("endless:drop-zero").value_or_throw());
  set_rewrite_override(g, &fault);
  auto out = catch_failures([&] { return graph_rewrite(a + a.const_like(int64_t(0)), halves()); });
  set_rewrite_override(g, nullptr);
  REQUIRE_FALSE(out);
  CHECK(out.diag().message.find("does not end") != std::string::npos);
}

struct Decline : RewriteOverride {
  explicit Decline(std::string_view rule) : rule(rule) {}
  UOp choose_result(const RuleHit& hit, UOp, UOp after) override { return hit.rule->name == rule ? UOp() : after; }
  std::string_view rule;
};

TEST_CASE("fault: changes only the N-th application; a rewrite override may suppress applications") {
  Graph g;
  UOp a = g.variable("a", 0, 9, dtypes::int32), b = g.variable("b", 0, 9, dtypes::int32);
  UOp two = a.const_like(int64_t(2));
  UOp sum = a.alu(Op::IDIV, two) + b.alu(Op::IDIV, two);
  CHECK(graph_rewrite(sum, halves()) == a + b);
  FaultOverride fault(FaultSpec{"halve", 2});
  set_rewrite_override(g, &fault);
  CHECK(graph_rewrite(sum, halves()) == a + (b + Const(int64_t(1))));
  Decline decline("halve");
  set_rewrite_override(g, &decline);
  CHECK(graph_rewrite(sum, halves()) == sum);
  CHECK(graph_rewrite(sum + Const(int64_t(0)), halves()) == sum);
  CHECK(substitute(sum, {{a, b}}) == b.alu(Op::IDIV, two) + b.alu(Op::IDIV, two));
  decline.rule = "substitute";
  CHECK(substitute(sum, {{a, b}}) == sum);
  set_rewrite_override(g, nullptr);
  CHECK(graph_rewrite(sum, halves()) == a + b);
}

}  // namespace
}  // namespace tgc
