#include "passes/kernel/stages.h"

#include "lib/rewrite/testing.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

struct Grouped {
  std::string idxs, sizes;
};
Grouped grouped(std::vector<Sint> dims, const GridLimits& limits, bool reverse = false) {
  Graph g;
  Grouped out;
  auto idxs = get_grouped_dims(g, "g", std::move(dims), limits, reverse);
  for (UOp idx : idxs) out.idxs += (out.idxs.empty() ? "" : ", ") + render(idx, false);
  for (uint32_t i = 0; i < g.size(); i++)
    if (UOp u = g.at(i); u.is(Op::SPECIAL))
      out.sizes += (out.sizes.empty() ? "" : " ") + u.arg().str() + "=" + render(u.src(0));
  return out;
}
constexpr GridLimits kSmall = std::array<int64_t, 3>{16, 16, 16};

TEST_CASE("each dim that fits becomes one SPECIAL") {
  CHECK(grouped({2, 3}, kSmall).idxs == "g0, g1");
  CHECK(grouped({2, 3}, kSmall, true).idxs == "g1, g0");
  CHECK(grouped({2, 3}, kSmall, true).sizes == "g0=3 g1=2");
  CHECK(grouped({}, kSmall).idxs.empty());
  CHECK(grouped({1000000, 2, 3, 4, 5}, std::nullopt).idxs == "g0, g1, g2, g3, g4");
}

TEST_CASE("neighbouring dims are grouped if there are more than three") {
  Grouped g = grouped({2, 3, 4, 5}, kSmall);
  CHECK(g.sizes == "g0=6 g1=4 g2=5");
  CHECK(g.idxs == "(g0%2), (g0//2), g1, g2");
  CHECK(grouped({2, 9, 4, 3}, kSmall).sizes == "g0=2 g1=9 g2=12");  // 2 * 9 and 9 * 4 exceed 16; 4 and 3 are grouped
  CHECK(grouped({2, 2, 2, 2, 2}, kSmall).idxs == "(g0%2), (g0//2%2), (g0//2//2), g1, g2");
}

TEST_CASE("dims that exceed the limits are split") {
  Grouped one = grouped({24}, kSmall);
  CHECK(one.sizes == "g0=12 g1=2");
  CHECK(one.idxs == "(g0*2+g1)");
  Grouped three = grouped({1024}, kSmall);
  CHECK(three.sizes == "g0=16 g1=16 g2=4");
  CHECK(three.idxs == "((g0*16+g1)*4+g2)");
  Grouped two = grouped({3, 20}, kSmall);
  CHECK(two.sizes == "g0=3 g1=10 g2=2");
  CHECK(two.idxs == "(g0*10+g1), g2");
  Grouped moved = grouped({20, 3}, kSmall);
  CHECK(moved.sizes == "g0=10 g1=6");
  CHECK(moved.idxs == "((g0*6+g1)//3), ((g0*6+g1)%3)");
  Grouped flat = grouped({2, 3, 20}, kSmall);
  CHECK(flat.sizes == "g0=4 g1=3 g2=10");
  CHECK(flat.idxs == "((g0*30+g1*10+g2)//60), ((g0*30+g1*10+g2)//20%3), ((g0*30+g1*10+g2)%20)");
}

TEST_CASE("dims that cannot fit are an error") {
  CHECK_THROWS_WITH_AS(grouped({17}, kSmall), "cannot limit the launch dimensions (17,) to (16, 16, 16)", Failure);
  CHECK_THROWS_WITH_AS(grouped({16, 16, 16, 16}, kSmall),
                       "cannot limit the launch dimensions (16, 16, 16, 16) to (16, 16, 16)", Failure);
}

TEST_CASE("symbolic dims that are known to fit stay unchanged") {
  Graph g;
  UOp n = g.variable("n", 1, 10), m = g.variable("m", 1, 100);
  CHECK(get_grouped_dims(g, "g", {Sint(n), 4}, kSmall)[0].src(0) == n);
  CHECK_THROWS_AS(get_grouped_dims(g, "g", {Sint(m)}, kSmall), Failure);
}

struct GridTest {
  explicit GridTest(std::string_view target_text) : target(*parse_target(target_text, {})) {}
  Graph graph;
  Target target;

  UOp buffer(int64_t number) { return graph.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(1024), {}, number); }
  Arg info(bool dont_use_locals = false) {
    return graph.record(RecordClass::KernelInfo,
                        {graph.str("k"), graph.tuple({}), dont_use_locals, graph.tuple({}), Arg()});
  }
  UOp rewrite(UOp sink) {
    return graph_rewrite(sink, pm_add_gpudims(), {.ctx = std::as_const(target), .name = "add gpudims"});
  }
  // Applies the stage to data0[r0*4 + r1] = data1[r0*4 + r1] and returns the resulting address.
  std::string address(AxisType outer, AxisType inner, bool dont_use_locals = false) {
    UOp i = graph.range(8, 0, outer), j = graph.range(4, 1, inner), at = i * 4 + j;
    UOp sink = graph.sink({buffer(0).index_ptr(at).store(buffer(1).index(at)).end({i, j})}, info(dont_use_locals));
    UOp out = rewrite(sink);
    return render(out.src(0).src(0).src(0).src(1), false);
  }
};

TEST_CASE("global axes become gidx and local axes lidx; without locals, global axes become idx") {
  CHECK(GridTest("CUDA").address(AxisType::GLOBAL, AxisType::LOCAL) == "(gidx0*4+lidx0)");
  CHECK(GridTest("CUDA").address(AxisType::GLOBAL, AxisType::GLOBAL) == "(gidx1*4+gidx0)");
  CHECK(GridTest("CUDA").address(AxisType::LOCAL, AxisType::GROUP_REDUCE) == "(lidx0*4+lidx1)");
  CHECK(GridTest("CUDA").address(AxisType::GLOBAL, AxisType::GLOBAL, true) == "(idx1*4+idx0)");
  CHECK(GridTest("CPU").address(AxisType::LOOP, AxisType::REDUCE) == "(r0*4+r1)");
  CHECK_THROWS_AS(GridTest("CUDA").address(AxisType::GLOBAL, AxisType::LOCAL, true), Failure);
}

TEST_CASE("a kernel without a KernelInfo or with SPECIALs stays unchanged") {
  GridTest t("CUDA");
  UOp i = t.graph.range(8, 0, AxisType::GLOBAL);
  UOp body = t.buffer(0).index_ptr(i).store(t.buffer(1).index(i)).end({i});
  CHECK(t.rewrite(t.graph.sink({body})) == t.graph.sink({body}));
  UOp sink = t.graph.sink({body, t.graph.special(t.graph.constant(dtypes::index, 4), "gidx0")}, t.info());
  CHECK(t.rewrite(sink) == sink);
}

TEST_CASE("a store that does not depend on a local axis is gated to the axis's first thread") {
  GridTest t("CUDA");
  UOp i = t.graph.range(8, 0, AxisType::GLOBAL), l = t.graph.range(16, 1, AxisType::LOCAL);
  UOp sink = t.graph.sink({t.buffer(0).index_ptr(i).store(t.buffer(1).index(i * 16 + l)).end({i, l})}, t.info());
  UOp store = t.rewrite(sink).src(0).src(0);
  UOp at = store.src(0).src(1);
  CHECK(at.is(Op::WHERE));
  CHECK(render(at.get_idx(), false) == "gidx0");
  CHECK(at.get_valid() == t.graph.special(t.graph.constant(dtypes::index, 16), "lidx0").eq(0));
}

TEST_CASE("grid-to-specials replaces the ranges of the grid by SPECIALs") {
  RuleTest t(pm_add_gpudims());
  const Target cuda = parse_target("CUDA", {}).value_or_throw();
  UOp r = t.range(4, 0, AxisType::GLOBAL), l = t.range(2, 1, AxisType::LOCAL), loop = t.range(8, 2);
  UOp g = t.graph.special(t.constant(dtypes::index, 4), "gidx0"),
      s = t.graph.special(t.constant(dtypes::index, 2), "lidx0");
  UOp buffer = t.buffer(0, dtypes::float32), x = t.load(1, dtypes::float32);
  Arg info =
      t.graph.record(RecordClass::KernelInfo, {t.graph.str("test"), t.graph.tuple({}), false, t.graph.tuple({}), {}});
  auto kernel = [&](UOp at, UOp first, UOp second) {
    return t.graph.sink(buffer.index_ptr(at).store(x).end({first, second}), info);
  };
  t.check_rule("grid-to-specials", kernel(r * 2 + l, r, l), kernel(g * 2 + s, g, s), cuda);
  t.check_rule("grid-to-specials", kernel(r, r, l), kernel(s.eq(0).where(g, t.graph.invalid()), g, s), cuda);
  t.check_declines("grid-to-specials", kernel(g * 2 + s, g, s), cuda);
  t.check_declines("grid-to-specials", kernel(loop, loop, loop), cuda);
  t.check_declines("grid-to-specials", t.graph.sink(kernel(r * 2 + l, r, l).src()), cuda);
}

}  // namespace
}  // namespace tgc
