#include "passes/tensor/stages.h"

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("a BUFFERIZE of file data becomes a BUFFER_VIEW") {
  TensorTest t(to_bufferview());
  auto read = [&](std::string_view device) {
    return t.make_contiguous(t.make_buffer_on(t.graph.str(device), 0, 64).index(t.range(8) + 4));
  };
  auto kept = [&](UOp value, std::string_view device) {
    return bufferize(value, std::array{t.range(8)}, {.device = t.graph.str(device)});
  };
  UOp file = read("DISK:weights"), b = kept(file, "DISK:weights");
  UOp view = t.node(Op::BUFFER_VIEW, dtypes::float32, file.src(0), t.graph.tuple({8, 4}));  // elements 4 to 11
  t.check_rule("bufferize-of-file", b, b.with_src({view, t.range(8)}));
  t.check_declines("bufferize-of-file", kept(read("CPU"), "CPU"));
  t.check_throws("bufferize-of-file", kept(t.make_contiguous(t.load(1, dtypes::float32).exp2()), "DISK:weights"));
  UOp buffer = t.make_buffer_on(t.graph.str("DISK:weights"), 0, 64);
  auto view_of = [&](UOp u) { return t.node(Op::BUFFER_VIEW, dtypes::float32, u, t.graph.tuple({8, 4})); };
  t.check_rule("view-drops-contiguous", view_of(t.make_contiguous(buffer)), view_of(buffer));
  t.check_declines("view-drops-contiguous", view_of(buffer));
}

TEST_CASE("pm_add_buffers lowers global BUFFERIZEs and keeps local ones") {
  TensorTest t(pm_add_buffers());
  LocalAddBufferContext ctx;
  ctx.next_buffer_number = 5;
  UOp r = t.range(8), x = t.load(0, dtypes::float32);
  UOp buffer = t.node(Op::BUFFER, dtypes::float32, {t.node(Op::LUNIQUE, dtypes::void_, {}, 5), t.device("CPU")}, 8);
  UOp element = buffer.index(r, dtypes::float32.ptr(8));
  t.check_rule("bufferize-to-store", bufferize(x, std::array{r}, {.device = t.graph.str("CPU")}),
               buffer.after(element.store(x).end(r)), ctx);
  CHECK(ctx.next_buffer_number == 6);
  t.check_declines("bufferize-to-store", bufferize(x, std::array{r}, {.addrspace = AddrSpace::LOCAL}), ctx);
  t.check_throws("bufferize-to-store", bufferize(x, std::array{t.range(0)}, {.device = t.graph.str("CPU")}), ctx);
  UOp shaped = t.tensor(1, {4, 4}), kernel = t.node(Op::KERNEL, dtypes::void_, {shaped, x}),
      plain = t.node(Op::KERNEL, dtypes::void_, {shaped.src(0), x});
  t.check_rule("kernel-drops-reshapes", kernel, plain);
  t.check_declines("kernel-drops-reshapes", plain);
  UOp stack = mstack(shaped, std::array{shaped, shaped});
  t.check_rule("reshape-above-choice", stack,
               reshape(mstack(shaped, std::array{shaped.src(0), shaped.src(0)}), ShapeVec{4, 4}));
  t.check_declines("reshape-above-choice", mstack(shaped, std::array{shaped.src(0), shaped.src(0)}));
}

TEST_CASE("pm_add_buffers_local lowers a local BUFFERIZE to a local buffer and a barrier") {
  TensorTest t(pm_add_buffers_local());
  LocalAddBufferContext ctx;
  UOp r = t.range(2), s = t.range(3, 1), x = t.load(0, dtypes::float32);
  DType pointer = dtypes::float32.ptr(2, AddrSpace::LOCAL);
  UOp local = t.node(Op::DEFINE_LOCAL, pointer, {}, 0);
  t.check_rule("bufferize-to-local-store", bufferize(x, std::array{r}, {.addrspace = AddrSpace::LOCAL}),
               local.after(local.index(r, pointer).store(x).end(r).barrier({})), ctx);
  t.check_rule("flatten-bufferize", bufferize(x, std::array{r, s}, {}),
               force_reshape(bufferize(x, std::array{r * 3 + s}, {}), ShapeVec{2, 3}));
  t.check_declines("flatten-bufferize", bufferize(x, std::array{r}, {}));
}

TEST_CASE("rangeify_codegen removes ops of the tensor level from a kernel") {
  TensorTest t(rangeify_codegen());
  LocalAddBufferContext ctx;
  UOp x = t.load(0, dtypes::float32), i = t.constant(dtypes::index, 3), at = t.buffer(1, dtypes::float32).index_ptr(i);
  UOp local = t.node(Op::DEFINE_LOCAL, dtypes::float32.ptr(8, AddrSpace::LOCAL), {}, 0),
      done = local.after(at.store(x));
  t.check_rule("drop-contiguous", t.make_contiguous(x), x, ctx);
  t.check_rule("drop-noop", t.node(Op::NOOP, dtypes::float32, x), x);
  t.check_throws("drop-noop", t.graph.noop());
  t.check_rule("store-drops-arg", at.store(x).with_arg(1), at.store(x));
  t.check_declines("store-drops-arg", at.store(x));

  UOp both = done.broadcast(2), typed = both.with_dtype(dtypes::float32.vec(2));
  t.check_rule("broadcast-of-after", typed, both);
  t.check_declines("broadcast-of-after", both);
  t.check_rule("load-broadcast-local", both.index(i, dtypes::float32.vec(2)),
               both.index(i, both.dtype()).load({}, dtypes::float32.vec(2)));
  t.check_declines("load-broadcast-local", both.index_ptr(i));

  UOp first = done.gep(0);
  t.check_rule("gep-of-after", first.with_dtype(dtypes::float32), first);
  t.check_declines("gep-of-after", first);
  t.check_rule("load-gep-local", first.index(i, dtypes::float32),
               first.index(i, first.dtype()).load({}, dtypes::float32));
  t.check_declines("load-gep-local", first.index_ptr(i));
}

}  // namespace
}  // namespace tgc
