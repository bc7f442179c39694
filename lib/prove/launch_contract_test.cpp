#include "lib/prove/launch_contract.h"

#include <doctest/doctest.h>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct Grid {
  Graph g;
  UOp number(int64_t n) { return g.constant(dtypes::index, n); }
  UOp special(UOp size, const char* name) { return g.special(size, name); }
};

TEST_CASE("has_same_iterations: launch indices") {
  Grid grid;
  UOp n = grid.g.variable("n", 1, 100);
  UOp by_variable = grid.g.range(n + Const(1), std::vector<Arg>{0, AxisType::GLOBAL});
  CHECK(has_same_iterations({{by_variable, grid.special(n + Const(1), "gidx0")}}));
  CHECK(!has_same_iterations({{by_variable, grid.special(n, "gidx0")}}));
  CHECK(!has_same_iterations({{by_variable, grid.g.range(Const(50), 3, AxisType::LOOP)}}));
  UOp a = grid.g.range(Const(300'000), 1, AxisType::GLOBAL), b = grid.g.range(Const(4), 2, AxisType::GLOBAL);
  UOp flat = grid.special(grid.number(600'000), "gidx0") * Const(2) + grid.special(grid.number(2), "gidx1");
  CHECK(has_same_iterations({{a, flat / grid.number(4)}, {b, flat % grid.number(4)}}));
  CHECK(!has_same_iterations({{a, flat / grid.number(2)}, {b, flat % grid.number(4)}}));
  UOp wrong = grid.special(grid.number(600'000), "gidx0") * Const(3) + grid.special(grid.number(2), "gidx1");
  CHECK(!has_same_iterations({{a, wrong / grid.number(4)}, {b, wrong % grid.number(4)}}));
}

TEST_CASE("wrong_iteration: the iteration that is lost or runs twice") {
  Grid grid;
  UOp a = grid.g.range(Const(4), 0, AxisType::GLOBAL), b = grid.g.range(Const(3), 1, AxisType::GLOBAL);
  UOp x = grid.special(grid.number(4), "gidx0"), y = grid.special(grid.number(3), "gidx1");
  CHECK(!find_wrong_iteration({{a, x}, {b, y}}));
  auto lost = find_wrong_iteration({{a, y}, {b, x}});  // a becomes y, which is never 3
  REQUIRE(lost);
  CHECK(lost->is_lost);
  CHECK(lost->loop_values == std::vector<std::pair<UOp, int64_t>>{{a, 3}});
  auto twice = find_wrong_iteration({{a, x}, {b, grid.special(grid.number(6), "gidx2") % grid.number(3)}});
  REQUIRE(twice);
  CHECK(!twice->is_lost);
  CHECK(twice->loop_values == std::vector<std::pair<UOp, int64_t>>{{b, 0}});
}

TEST_CASE("gate_repeated_stores: only stores that do not depend on a local loop") {
  Grid grid;
  UOp i = grid.g.range(Const(8), 0, AxisType::GLOBAL), l = grid.g.range(Const(4), 1, AxisType::GROUP_REDUCE);
  UOp memory = grid.g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(8), {}, 0);
  const RangeMap map{{i, grid.special(grid.number(8), "gidx0")}, {l, grid.special(grid.number(4), "lidx0")}};
  auto stored = [&](UOp at, UOp value) { return grid.g.sink({memory.index_ptr(at).store(value).end({i, l})}); };
  UOp one = grid.g.constant(dtypes::int32, 1);
  UOp gated = memory.index_ptr(l.eq(0).where(i, Const::invalid())).store(one).end({i, l});
  CHECK(gate_repeated_stores(stored(i, one), map) == grid.g.sink({gated}));
  CHECK(!gate_repeated_stores(stored(i, l.cast(dtypes::int32)), map));
  CHECK(!gate_repeated_stores(stored((i + l) % grid.number(8), one), map));
}

struct Group {
  Graph g;
  UOp i = g.range(Const(8), 0, AxisType::GLOBAL), l = g.range(Const(2), 1, AxisType::LOCAL);
  UOp group = g.range(Const(4), 2, AxisType::GROUP_REDUCE), r = g.range(Const(16), 3, AxisType::REDUCE);
  UOp loop = g.range(Const(4), 102, AxisType::REDUCE), longer = g.range(Const(5), 103, AxisType::REDUCE);
  UOp x = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(1024), {}, 1)
              .index(((i * Const(2) + l) * Const(4) + group) * Const(16) + r);

  UOp sum(UOp u, std::vector<UOp> over) { return u.reduce(over, Op::ADD); }
  UOp buffer(UOp value, std::vector<UOp> axes) {
    axes.insert(axes.begin(), value);
    Arg opts = g.record(RecordClass::BufferizeOpts, {Arg(2), Arg(AddrSpace::LOCAL), Arg(true)});
    return g.node(Op::BUFFERIZE, value.dtype(), axes, opts);
  }
  UOp in_steps(UOp partial, std::vector<UOp> axes, std::vector<UOp> read, std::vector<UOp> over) {
    return sum(buffer(partial, axes).index(read, dtypes::int32), over);
  }
  UOp shared(UOp value, UOp at, int64_t size, std::vector<UOp> ended) {
    UOp memory = g.node(Op::DEFINE_LOCAL, dtypes::int32.ptr(size, AddrSpace::LOCAL), {}, 0);
    UOp barrier = g.node(Op::BARRIER, dtypes::void_, {memory.index_ptr(at).store(value).end(ended)});
    return memory.after({barrier});
  }
};

TEST_CASE("is_reduced_by_groups: each term is reduced once") {
  Group t;
  UOp whole = t.sum(t.x, {t.group, t.r}), partial = t.sum(t.x, {t.r});
  CHECK(is_reduced_by_groups(whole, t.in_steps(partial, {t.l, t.group}, {t.l, t.loop}, {t.loop})));
  CHECK(!is_reduced_by_groups(whole, t.in_steps(partial, {t.l, t.group}, {t.l, t.longer}, {t.longer})));
  CHECK(!is_reduced_by_groups(whole, t.in_steps(partial, {t.l, t.group}, {t.l, t.group}, {t.loop})));
  CHECK(!is_reduced_by_groups(whole, t.in_steps(partial, {t.l, t.group}, {t.l, t.loop}, {t.loop, t.longer})));
  CHECK(!is_reduced_by_groups(whole, t.in_steps(partial, {t.l, t.group}, {t.i, t.loop}, {t.loop})));
  CHECK(!is_reduced_by_groups(t.sum(t.x, {t.r}), t.in_steps(partial, {t.l, t.group}, {t.l, t.loop}, {t.loop})));
  CHECK(!is_reduced_by_groups(whole, t.in_steps(t.sum(t.x, {t.group}), {t.l, t.group}, {t.l, t.loop}, {t.loop})));
}

TEST_CASE("is_shared_by_group: each thread has a place of its own") {
  Group t;
  UOp partial = t.sum(t.x, {t.r}), at = t.l * Const(4) + t.group, collide = t.l * Const(3) + t.group;
  CHECK(is_shared_by_group(t.buffer(partial, {at}), t.shared(partial, at, 8, {t.l, t.group})));
  CHECK(!is_shared_by_group(t.buffer(partial, {at}), t.shared(partial, at, 9, {t.l, t.group})));
  CHECK(!is_shared_by_group(t.buffer(partial, {at}), t.shared(partial, at, 8, {t.group})));
  CHECK(!is_shared_by_group(t.buffer(partial, {collide}), t.shared(partial, collide, 8, {t.l, t.group})));
  CHECK(!is_shared_by_group(t.buffer(partial, {t.group}), t.shared(partial, t.group, 4, {t.group})));
  CHECK(!is_shared_by_group(t.buffer(t.x, {at}), t.shared(t.x, at, 8, {t.l, t.group})));
}

}  // namespace
}  // namespace tgc
