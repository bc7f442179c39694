#include "passes/tensor/indexing.h"

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("a reduction over a range outside all kernels is realized") {
  TensorTest t(pm_generate_realize_map());
  IndexingContext ctx(t.graph);
  UOp x = t.load(0, dtypes::float32), outer = x.reduce(t.range(4, 0, AxisType::OUTER), Op::ADD), inner = x.reduce(t.range(4, 0, AxisType::REDUCE), Op::ADD);
  t.declines("realize-outer-reduce", outer, ctx);
  t.declines("realize-outer-reduce", inner, ctx);
  CHECK(ctx.realize_map.contains(outer));
  CHECK(!ctx.realize_map.contains(inner));
}

TEST_CASE("what rangeify gave no ranges, and what a kernel assigns, stays") {
  TensorTest t(pm_apply_rangeify());
  IndexingContext ctx(t.graph);
  UOp x = t.tensor(0, {4}), pad = t.padded(x, {{1, 2}}), kernel = t.node(Op::KERNEL, dtypes::void_, x);
  t.declines("pad-to-where", pad, ctx);
  t.declines("assign-with-movements", x.assign(kernel), ctx);
  UOp i = ctx.new_range(7), inside = (i.ge(1) & i.lt(5)), index = (i - 1).valid(inside);
  ctx.range_map[pad] = {ctx.keep({index}), ctx.keep({i})};
  t.check("pad-to-where", pad, (t.constant(dtypes::bool_, true) & inside).where(x, t.constant(dtypes::float32, 0)), ctx);
}

}  // namespace
}  // namespace tgc
