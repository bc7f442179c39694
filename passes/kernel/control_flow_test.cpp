#include <algorithm>

#include "lib/rewrite/testing.h"
#include "passes/kernel/stages.h"

using namespace tgc;

namespace {

struct Kernel {
  Graph g;
  UOp buffer = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(64), {}, 0);

  UOp loop(int64_t axis) { return g.range(Const(8), axis, AxisType::LOOP); }
  UOp store(UOp r, double value) { return buffer.index_ptr(r).store(g.constant(dtypes::float32, value)); }
};

UOp before(UOp sink, int64_t axis) {
  for (UOp u : toposort(sink))
    if (u.is(Op::RANGE) && u.arg()[0] == Arg(axis)) return u.num_src() > 1 ? u.src(1) : UOp();
  return {};
}

}  // namespace

TEST_CASE("sibling loops run one after another in the order of the sink") {
  Kernel k;
  UOp a = k.loop(0), b = k.loop(1);
  UOp sink = add_control_flow(k.g.sink({k.store(a, 1).end(a), k.store(b, 2).end(b)}));
  CHECK_FALSE(before(sink, 0));
  REQUIRE(before(sink, 1));
  CHECK(before(sink, 1).is(Op::END));
  CHECK(before(sink, 1).src(1).arg()[0] == Arg(0));
}

TEST_CASE("many sibling loops run in the order of the sink, each after the one before") {
  constexpr int64_t kLoops = 3000;
  Kernel k;
  std::vector<UOp> ends;
  for (int64_t i = 0; i < kLoops; i++) {
    UOp r = k.loop(i);
    ends.push_back(k.store(r, double(i)).end(r));
  }
  const CfgContext order(k.g.sink(ends));
  REQUIRE(order.control_edges().size() == kLoops - 1);
  for (int64_t i = 1; i < kLoops; i++) CHECK(order.predecessor_of(ends[size_t(i)].src(1)) == ends[size_t(i) - 1]);
  CHECK_FALSE(order.predecessor_of(ends[0].src(1)));
}

TEST_CASE("a loop that reads what another loop wrote comes after it, in any order of the sink") {
  Kernel k;
  UOp a = k.loop(0), b = k.loop(1);
  UOp first = k.store(a, 1).end(a);
  UOp read = k.buffer.after({first}).index_ptr(b);
  UOp second = read.store(read.load() + Const(1.0)).end(b);
  UOp sink = add_control_flow(k.g.sink({second, first}));
  CHECK_FALSE(before(sink, 0));
  REQUIRE(before(sink, 1));
  CHECK(before(sink, 1).src(1).arg()[0] == Arg(0));
}

TEST_CASE("the first inner loop follows the RANGE of the outer loop, the next one follows the first") {
  Kernel k;
  UOp outer = k.loop(0), a = k.loop(1), b = k.loop(2);
  UOp body = k.g.group({k.store(outer * Const(8) + a, 1).end(a), k.store(outer * Const(8) + b, 2).end(b)});
  UOp sink = add_control_flow(k.g.sink(body.end(outer)));
  CHECK_FALSE(before(sink, 0));
  REQUIRE(before(sink, 1));
  REQUIRE(before(sink, 2));
  CHECK(before(sink, 1).is(Op::RANGE));
  CHECK(before(sink, 1).arg()[0] == Arg(0));
  CHECK(before(sink, 2).is(Op::END));
  CHECK(before(sink, 2).src(1).arg()[0] == Arg(1));
}

TEST_CASE("the one-walk shortcut gives the same graph as the rule and records its toposort") {
  Kernel k;
  UOp outer = k.loop(0), shared = outer * Const(2);
  std::vector<UOp> stores;
  for (int axis = 1; axis <= 4; axis++) {
    UOp r = k.loop(axis);
    stores.push_back(k.buffer.index_ptr(shared + r).store(r.cast(dtypes::float32)).end(r));
  }
  UOp last = k.loop(5);
  UOp sink = k.g.sink({k.g.group(stores).end(outer),
                       k.buffer.after(stores[3]).index_ptr(last).store(k.g.constant(dtypes::float32, 1.0)).end(last)});
  CfgContext ctx(sink);
  CHECK(ctx.control_edges().size() == 5);
  UOp tied = add_control_flow(sink);
  CHECK_FALSE(tied == sink);
  CHECK(tied == graph_rewrite(sink, add_control_flow_rules(), {.ctx = ctx, .bottom_up = true}));
  CHECK(std::ranges::equal(cached_toposort(tied), toposort(tied)));
}

TEST_CASE("a kernel with one loop stays the same node") {
  Kernel k;
  UOp a = k.loop(0);
  UOp sink = k.g.sink(k.store(a, 1).end(a));
  CHECK(add_control_flow(sink) == sink);
}

TEST_CASE("a cycle of loops is an error") {
  Kernel k;
  UOp outer = k.loop(0), a = k.loop(1);
  UOp inner = k.store(outer * Const(8) + a, 1).end(a);
  // two ENDs close the loop `a`: one inside the loop `outer` and one outside of it
  UOp sink = k.g.sink({inner.end(outer), k.store(a, 2).end(a)});
  CHECK_THROWS_AS(add_control_flow(sink), Failure);
}

TEST_CASE("an END without a range is an error") {
  Kernel k;
  UOp a = k.loop(0), inner = k.store(a, 1).end(a), empty = k.g.node(Op::END, dtypes::void_, inner);
  CHECK_THROWS_AS(add_control_flow(k.g.sink(empty)), Failure);
  UOp store = k.g.node(Op::END, dtypes::void_, k.store(k.g.constant(dtypes::index, 0), 2));
  CHECK_THROWS_AS(add_control_flow(k.g.sink({inner, store})), Failure);
}

TEST_CASE("two sibling ENDs of one RANGE are an error, with or without another loop between them") {
  Kernel k;
  UOp a = k.loop(0), b = k.loop(1);
  UOp first = k.store(a, 1).end(a), between = k.store(b, 2).end(b), second = k.store(a, 3).end(a);
  for (UOp sink : {k.g.sink({first, second}), k.g.sink({first, between, second})}) {
    auto out = catch_failures([&] { return add_control_flow(sink); });
    REQUIRE_FALSE(out);
    CHECK(out.diag().message.find("two ENDs end the same loop") != std::string::npos);
  }
}

TEST_CASE("range-waits adds the node that a RANGE waits for as a source") {
  RuleTest t(add_control_flow_rules());
  UOp a = t.range(8, 0), b = t.range(8, 1), buffer = t.buffer(0, dtypes::float32), x = t.constant(dtypes::float32, 1.0);
  UOp first = buffer.index_ptr(a).store(x).end(a), second = buffer.index_ptr(b).store(x).end(b);
  CfgContext ctx(t.graph.sink({first, second}));
  t.check_rule("range-waits", b, b.with_src({b.src(0), first}), ctx);
  t.check_declines("range-waits", a, ctx);
}

TEST_CASE("an END of several ranges becomes one END per range, innermost first") {
  RuleTest t(pm_split_ends());
  UOp a = t.range(4, 0), b = t.range(4, 2), c = t.range(4, 1), x = t.load(0, dtypes::float32);
  t.check_rule("split-ends", x.end({a, b, c}), x.end(b).end(c).end(a));
  t.check_rule("split-ends", x.end({a * 4 + b, c}), x.end(b).end(c).end(a));
  t.check_rule("split-ends", x.end(t.constant(dtypes::index, 0)), x);
  t.check_declines("split-ends", x.end(a));
  t.check_all_rules_fired();
}
