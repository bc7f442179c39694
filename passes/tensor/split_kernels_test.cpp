#include "passes/tensor/stages.h"

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("to_define_global numbers buffers, variables and ranges of a kernel") {
  TensorTest t(to_define_global());
  LocalAddBufferContext ctx;
  UOp a = t.tensor(0, {16}), b = t.tensor(1, {8}), kernel = t.node(Op::KERNEL, dtypes::void_, a);
  t.check_rule("define-global", a, t.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(16), {}, 0), ctx);
  t.check_rule("define-global", b, t.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 1), ctx);
  UOp c = t.tensor(2, {4}), local = t.node(Op::DEFINE_LOCAL, dtypes::float32.ptr(8, AddrSpace::LOCAL), {}, 0);
  t.check_rule("buffer-of-after", c.after(kernel), c, ctx);
  t.check_throws("buffer-of-after", c.after({kernel, kernel}), ctx);
  t.check_declines("buffer-of-after", local.after(kernel), ctx);
  t.check_rule("range-of-one", t.range(1), t.constant(dtypes::index, 0));
  t.check_declines("range-of-one", t.range(2));
  UOp v = t.var("v", 0, 9), bound = t.node(Op::BIND, dtypes::index, {v, t.constant(dtypes::index, 3)});
  t.check_rule("unbind", bound, v, ctx);
  t.check_rule("unbind", bound, v, ctx);
  CHECK(ctx.vars == std::vector{bound});
  t.check_rule("const-drops-sources", t.graph.constant(dtypes::float32, 2, t.graph.str("CPU")),
               t.constant(dtypes::float32, 2));
  t.check_declines("const-drops-sources", t.constant(dtypes::float32, 2));
  Arg mark = t.graph.tuple({});
  t.check_rule("renumber-range", t.range(8, 7).rtag(mark), t.range(8, 0), ctx);
  t.check_rule("renumber-range", t.range(4, 7).rtag(mark), t.range(4, 1), ctx);
  UOp outer = t.range(4, 7, AxisType::OUTER);
  t.check_rule("renumber-range", outer.rtag(mark), t.node(Op::BIND, dtypes::index, {t.var("range_7", 0, 3), outer}),
               ctx);
  t.check_declines("renumber-range", t.range(8, 7), ctx);
}

TEST_CASE("range tags are added and removed, and a store becomes a KERNEL") {
  TensorTest add(pm_add_range_tags()), drop(pm_remove_tags()), drop_all(remove_all_tags()), t(split_kernels_rules());
  UOp r = add.range(8), marked = r.rtag(add.graph.tuple({}));
  add.check_rule("mark-range", r, marked);
  add.check_declines("mark-range", marked);
  drop.check_rule("remove-tag", drop.range(8).rtag(7), drop.range(8));
  drop.check_declines("remove-tag", drop.range(8).rtag(drop.graph.tuple({})));
  drop_all.check_rule("remove-tag", drop_all.range(8).rtag(drop_all.graph.tuple({})), drop_all.range(8));
  drop_all.check_declines("remove-tag", drop_all.range(8));

  UOp a = t.tensor(0, {8}), one = t.constant(dtypes::float32, 1.0), loop = t.range(8, 5).rtag(t.graph.tuple({})),
      own = t.range(8, 0);
  auto store = [&](UOp buffer, UOp i) { return buffer.index(i, dtypes::float32.ptr(8)).store(one); };
  UOp ast = t.graph.sink(store(t.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0), own).end(own));
  t.check_rule("split-store", store(a, loop).end(loop),
               t.node(Op::KERNEL, dtypes::void_, a, t.graph.record(RecordClass::Kernel, {ast, t.graph.tuple({})})));
  t.check_declines("split-store", store(a, loop));
}

TEST_CASE("a kernel that reads a buffer both before and after a write is an error") {
  TensorTest t(to_define_global());
  UOp a = t.tensor(0, {16}), i = t.range(16), out = t.buffer(1, dtypes::float32).index_ptr(i);
  UOp before = a.index(i), after = a.after(t.node(Op::KERNEL, dtypes::void_, a)).index(i);
  t.check_match_declines("one-state-of-a-buffer", out.store(before + before), {});
  t.check_throws("one-state-of-a-buffer", out.store(before + after));
}

}  // namespace
}  // namespace tgc
