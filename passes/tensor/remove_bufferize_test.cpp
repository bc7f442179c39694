#include "passes/tensor/stages.h"

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("BUFFERIZEs of constants and aranges are removed") {
  TensorTest t(pm_const_buffer_folding());
  UOp two = t.constant(dtypes::float32, 2.0), r = t.range(8), x = t.tensor(0, {8});
  auto kept = [&](UOp value, bool removable = true) {
    return bufferize(value, std::array{r}, {.device = t.graph.str("CPU"), .is_removable = removable});
  };
  t.check_rule("fold-copy-of-const", t.copy_to(two, "CUDA"),
               t.graph.constant(dtypes::float32, 2.0, t.graph.str("CUDA")));
  t.check_declines("fold-copy-of-const", t.copy_to(x, "CUDA"));
  t.check_rule("noop-of-const", kept(t.node(Op::NOOP, two.dtype(), two)), kept(two));
  t.check_declines("noop-of-const", kept(t.node(Op::NOOP, x.dtype(), x.index(r))));
  UOp there = t.graph.constant(dtypes::float32, 2.0, t.graph.str("A"));
  t.check_rule("index-stack-of-const", mstack(there, std::array{there, there}).index(r, dtypes::float32), two);
  t.check_declines("index-stack-of-const", mstack(x, std::array{x, x}).index(r, dtypes::float32));
  UOp i = t.range(4, 1), counted = r.cast(dtypes::int32);
  t.check_rule("inline-arange", kept(counted).index(i, dtypes::int32), i.cast(dtypes::int32));
  t.check_declines("inline-arange", kept(counted, false).index(i, dtypes::int32));
}

TEST_CASE("an image dtype is dropped unless the buffer consists of whole rows of pixels") {
  TensorTest t(pm_const_buffer_folding());
  DType image = dtypes::imagef(std::array<int64_t, 3>{2, 4, 4});
  UOp x = t.load(0, dtypes::float32);
  t.check_rule("image-of-value", x.exp2().with_dtype(image), x.exp2());
  t.check_declines("image-of-value", x.exp2());
  auto kept = [&](ShapeVec sizes, DType dtype) {
    std::vector<UOp> ranges;
    for (Sint s : sizes) ranges.push_back(t.range(s.as_int(), int64_t(ranges.size())));
    return bufferize(x, ranges, {.device = t.graph.str("CL")}).with_dtype(dtype);
  };
  t.check_declines("image-misfit", kept({2, 4, 4}, image));
  t.check_rule("image-misfit", kept({2, 4, 2}, image), kept({2, 4, 2}, dtypes::float32));
  t.check_rule("image-misfit", kept({4, 4, 2}, image), kept({4, 4, 2}, dtypes::float32));
  t.check_declines("image-misfit", kept({2, 4, 2}, dtypes::float32));
}

TEST_CASE("BUFFERIZEs of buffers and of constants and dead axes are folded") {
  TensorTest t(pm_const_buffer_folding());
  UOp r = t.range(8), s = t.range(4, 1), x = t.tensor(0, {8}), two = t.constant(dtypes::float32, 2.0);
  auto kept = [&](UOp value, std::vector<UOp> ranges) {
    return bufferize(value, ranges, {.device = t.graph.str("CPU")});
  };
  UOp value = x.index(r).exp2();
  t.check_rule("dead-axes", kept(value, {r, s}), expand(reshape(kept(value, {r}), ShapeVec{8, 1}), ShapeVec{8, 4}));
  t.check_declines("dead-axes", kept(value, {r}));
  t.check_rule("bufferize-of-buffer", kept(x.index(r), {r}), x);
  t.check_declines("bufferize-of-buffer", kept(x.index(r + 0), {r}));
  UOp constant = kept(two, {r});
  t.check_rule("bufferize-of-const", constant, constant.const_like(2.0));
  t.check_rule("index-of-const", two.index(UOpSpan(), dtypes::float32), two);
  t.check_declines("index-of-const", two.index(r, dtypes::float32));
}

TEST_CASE("a BUFFERIZE is removed if recomputing its value is cheap") {
  TensorTest t(pm_remove_bufferize());
  UOp r = t.range(8), i = t.range(4, 1), x = t.tensor(0, {8}), value = x.index(r).exp2();
  auto read = [&](UOp value, bool removable) {
    return bufferize(value, std::array{r}, {.device = t.graph.str("CPU"), .is_removable = removable})
        .index(i, value.dtype());
  };
  t.check_rule("remove-bufferize", read(value, true), x.index(i).exp2());
  t.check_declines("remove-bufferize", read(value, false));
  t.check_declines("remove-bufferize", read(t.make_contiguous(value), true));
  UOp sum = x.index(i).reduce(i, Op::ADD);
  t.check_declines("remove-bufferize", read(value + sum, true));
}

TEST_CASE("limit-buffers buffers operands of a kernel that binds too many buffers") {
  Settings settings;
  settings.MAX_KERNEL_BUFFERS = 2;
  TensorTest t(pm_limit_bufs(), settings), free(pm_limit_bufs());
  auto sum = [](TensorTest& t, UOp r) { return t.tensor(0, {8}).index(r).exp2() + t.tensor(1, {8}).index(r); };
  UOp r = t.range(8, 5), fresh = t.range(8, 0),
      through = bufferize(t.tensor(0, {8}).index(fresh).exp2(), std::array{fresh}, {.device = t.graph.str("CPU")});
  IndexingContext ctx(t.graph), free_ctx(free.graph);
  t.check_rule("limit-buffers", sum(t, r), through.index(r, dtypes::float32) + t.tensor(1, {8}).index(r), ctx);
  t.check_declines("limit-buffers", t.tensor(0, {8}).index(r) + t.tensor(0, {8}).index(r), ctx);
  free.check_declines("limit-buffers", sum(free, free.range(8, 5)), free_ctx);
  UOp part = mselect(free.var("n", 0, 3), 1);
  UOp sink = free.graph.sink(bufferize(part, {}, {.device = free.graph.str("A")}));
  CHECK(limit_buffers(sink, free_ctx) == sink);
}

}  // namespace
}  // namespace tgc
