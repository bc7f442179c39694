#include "lib/rewrite/testing.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {
struct Variables {
  Graph g;
  UOp at(int i) { return g.variable("v" + std::to_string(i), 0, 9); }
};
}  // namespace

TEST_CASE("substitute: replaces replacements in turn") {
  Variables v;
  UOp sum = v.at(0) + v.at(1) * v.at(2);
  CHECK(substitute(sum, {{v.at(1), v.at(3)}, {v.at(3), v.at(4)}}) == v.at(0) + v.at(4) * v.at(2));
  CHECK(substitute(sum, {{v.at(1), v.at(1)}, {v.at(7), v.at(0)}}) == sum);
}

TEST_CASE("substitute: replaces a node before the nodes below it") {
  Variables v;
  UOp product = v.at(1) * v.at(2);
  CHECK(substitute(v.at(0) + product, {{v.at(1), v.at(5)}, {product, v.at(3)}}) == v.at(0) + v.at(3));
}

TEST_CASE("substitute: replaces rebuilt nodes, and fails if it does not end") {
  Variables v;
  UOp sum = v.at(0) + v.at(1), rebuilt = v.at(0) + v.at(2);
  CHECK(substitute(sum * v.at(4), {{v.at(1), v.at(2)}, {rebuilt, v.at(3)}}) == v.at(3) * v.at(4));
  auto refuses = [&](const Substitution& pairs, std::string_view why) {
    auto result = catch_failures([&] { return substitute(sum * v.at(4), pairs, nullptr, "swap"); });
    REQUIRE_FALSE(result);
    CHECK(result.diag().message.find("stage 'swap' does not end") == 0);
    CHECK(result.diag().message.find(why) != std::string::npos);
  };
  refuses({{v.at(1), v.at(2)}, {v.at(2), v.at(1)}}, "rewritten to itself");
  refuses({{v.at(1), v.at(1) + v.at(5)}}, "made of itself");
  refuses({{v.at(1), v.at(2)}, {rebuilt, sum * v.at(5)}}, "made of itself");
}

TEST_CASE("substitute: the last of several replacements of one node counts, for few and for many pairs") {
  Variables v;
  for (int more : {0, 20}) {
    Substitution pairs{{v.at(1), v.at(2)}, {v.at(1), v.at(3)}};
    for (int i = 0; i < more; i++) pairs.emplace_back(v.at(100 + i), v.at(200 + i));
    CHECK(substitute(v.at(0) + v.at(1), pairs) == v.at(0) + v.at(3));
    if (more) CHECK(substitute(v.at(107), pairs) == v.at(207));
  }
}

namespace {
UOp keep_products(SubstituteContext& ctx, UOp x) {
  CHECK(ctx.replacement_pairs().size() == 1);
  if (x.is(Op::MUL)) return bottom_up_gate();
  return {};
}
const RuleSet& gated() {
  using namespace pat;
  static const RuleSet gate("test_gate",
                            {rule("gate", node(OpSet::all()).as(x), with<keep_products>(x))});
  static const RuleSet set("test_gated", {&gate, &substitute_rules()});
  return set;
}
}  // namespace

TEST_CASE("substitute: rules before substitute_rules() see the pairs and may gate a subgraph") {
  Variables v;
  CHECK(substitute(v.at(1) + v.at(1) * v.at(2), {{v.at(1), v.at(3)}}, &gated()) == v.at(3) + v.at(1) * v.at(2));
}

TEST_CASE("substitute: the rule applies and declines") {
  RuleTest t(substitute_rules());
  UOp x = t.var("x", 0, 9), y = t.var("y", 0, 9);
  SubstituteContext ctx(t.graph, {{x, y}});
  t.check_rule("substitute", x, y, ctx);
  t.check_declines("substitute", y, ctx);
  t.check_declines("substitute", x + y, ctx);
}
