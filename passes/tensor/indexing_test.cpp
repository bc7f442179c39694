#include "passes/tensor/stages.h"

#include <algorithm>

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("a reduction over an OUTER range is realized") {
  TensorTest t(pm_generate_realize_map());
  IndexingContext ctx(t.graph);
  UOp x = t.load(0, dtypes::float32), outer = x.reduce(t.range(4, 0, AxisType::OUTER), Op::ADD),
      inner = x.reduce(t.range(4, 0, AxisType::REDUCE), Op::ADD);
  t.check_match_declines("realize-outer-reduce", outer, ctx);
  t.check_match_declines("realize-outer-reduce", inner, ctx);
  CHECK(ctx.realize_map.contains(outer));
  CHECK(!ctx.realize_map.contains(inner));
}

TEST_CASE("outputs, kernels, sources of copies and assigned values are realized") {
  TensorTest t(pm_generate_realize_map());
  UOp x = t.tensor(0, {4}), value = x.exp2(), other = x.sqrt(), kernel = t.node(Op::KERNEL, dtypes::void_, x);
  auto realizes = [&](std::string_view rule, UOp u, std::vector<UOp> expected) {
    IndexingContext ctx(t.graph);
    t.check_match_declines(rule, u, ctx);
    for (UOp v : {x, value, other, u})
      CHECK(ctx.realize_map.contains(v) == (std::find(expected.begin(), expected.end(), v) != expected.end()));
  };
  realizes("realize-outputs", t.graph.sink({value, x}), {value});
  realizes("realize", t.make_contiguous(value), {t.make_contiguous(value)});
  realizes("realize-sources", t.copy_to(value, "CUDA"), {value});
  realizes("realize-sources", t.copy_to(x, "CUDA"), {});
  realizes("realize-assign", x.assign(other), {other, x.assign(other)});
  realizes("realize-assign", x.assign(kernel), {});
}

TEST_CASE("a PAD without ranges and an ASSIGN of a KERNEL stay unchanged") {
  TensorTest t(pm_apply_rangeify());
  IndexingContext ctx(t.graph);
  UOp x = t.tensor(0, {4}), pad = t.pad_axes(x, {{1, 2}}), kernel = t.node(Op::KERNEL, dtypes::void_, x);
  t.check_declines("pad-to-where", pad, ctx);
  t.check_declines("assign-with-movements", x.assign(kernel), ctx);
  UOp i = ctx.new_range(7), inside = (i.ge(1) & i.lt(5)), index = (i - 1).valid(inside);
  ctx.range_map[pad] = {ctx.copy_indices({index}), ctx.copy_indices({i})};
  t.check_rule("pad-to-where", pad, (t.constant(dtypes::bool_, true) & inside).where(x, t.constant(dtypes::float32, 0)),
               ctx);
}

TEST_CASE("pm_apply_rangeify puts the ranges of the context into the graph") {
  TensorTest t(pm_apply_rangeify());
  IndexingContext ctx(t.graph);
  UOp x = t.tensor(0, {2, 4}), flat = x.src(0), y = t.tensor(1, {2, 4}), i = ctx.new_range(2), j = ctx.new_range(4);
  auto both = [&] { return ctx.copy_indices({i, j}); };
  UOp sum = reduce_axis(x, Op::ADD, std::array<int64_t, 1>{1}), assign = x.assign(y), exp2 = flat.exp2();
  t.check_throws("reduce-over-ranges", sum, ctx);
  ctx.range_map[sum] = {both(), ctx.copy_indices({i})};
  t.check_rule("reduce-over-ranges", sum, x.reduce(j, Op::ADD), ctx);
  ctx.range_map[assign] = {both(), both()};
  t.check_rule("assign-with-movements", assign, assign.with_src({x, y, x.rtag(t.graph.tuple({}))}), ctx);
  t.check_declines("read-sources", exp2.sqrt(), ctx);
  ctx.range_map[exp2] = {ctx.copy_indices({i}), ctx.copy_indices({i})};
  t.check_rule("read-sources", exp2, flat.index(i).exp2(), ctx);
  t.check_declines("read-sources", flat.index(i), ctx);
  UOp c = t.graph.constant(dtypes::float32, 2, t.graph.str("CPU"));
  t.check_declines("drop-movement", x, ctx);
  t.check_declines("const-drops-sources", c, ctx);
  ctx.range_map[x] = {ctx.copy_indices({i}), both()};
  ctx.range_map[c] = {{}, {}};
  t.check_rule("drop-movement", x, flat, ctx);
  t.check_rule("const-drops-sources", c, t.constant(dtypes::float32, 2), ctx);
}

}  // namespace
}  // namespace tgc
