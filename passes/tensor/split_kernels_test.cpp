#include "passes/tensor/split_kernels.h"

#include "passes/tensor/bufferize.h"
#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("buffers and ranges as a kernel meets them") {
  TensorTest t(to_define_global());
  LocalAddBufferContext ctx;
  UOp a = t.tensor(0, {16}), b = t.tensor(1, {8}), kernel = t.node(Op::KERNEL, dtypes::void_, a);
  t.check("define-global", a, t.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(16), {}, 0), ctx);
  t.check("define-global", b, t.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 1), ctx);
  UOp c = t.tensor(2, {4}), local = t.node(Op::DEFINE_LOCAL, dtypes::float32.ptr(8, AddrSpace::LOCAL), {}, 0);
  t.check("buffer-of-after", c.after(kernel), c, ctx);
  t.throws("buffer-of-after", c.after({kernel, kernel}), ctx);
  t.declines("buffer-of-after", local.after(kernel), ctx);
  t.check("range-of-one", t.range(1), t.constant(dtypes::index, 0));
  t.declines("range-of-one", t.range(2));
}

TEST_CASE("a kernel reads a buffer in one state") {
  TensorTest t(to_define_global());
  UOp a = t.tensor(0, {16}), i = t.range(16), out = t.buffer(1, dtypes::float32).index_ptr(i);
  UOp before = a.index(i), after = a.after(t.node(Op::KERNEL, dtypes::void_, a)).index(i);
  t.declines("one-state-of-a-buffer", out.store(before + before));
  t.throws("one-state-of-a-buffer", out.store(before + after));
}

}  // namespace
}  // namespace tgc
