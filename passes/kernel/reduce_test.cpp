#include "passes/kernel/reduce.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

TEST_CASE("a REDUCE over ranges accumulates in a register") {
  RuleTest t(pm_reduce());
  ReduceContext ctx{3};
  UOp r = t.range(8, 1, AxisType::REDUCE), outer = t.range(4, 0), x = t.buffer(0, dtypes::float32).index(outer * 8 + r);
  UOp zero = t.constant(dtypes::int32, 0),
      acc = t.graph.node(Op::DEFINE_REG, dtypes::float32.ptr(1, AddrSpace::REG), {}, 3);
  UOp init = acc.after(outer).index(zero).store(t.constant(dtypes::float32, 0.0));
  UOp sum = acc.after({init, r}).index(zero) + x;
  t.check("reduce-to-accumulator", x.reduce(r, Op::ADD), acc.after(acc.index(zero).store(sum).end(r)).index(zero), ctx);
  CHECK(ctx.num_accumulators == 4);

  // there is no outer range, so the initialization, a store of the identity element of MAX, comes after no RANGE
  UOp y = t.buffer(0, dtypes::int32).index(r);
  UOp acc4 = t.graph.node(Op::DEFINE_REG, dtypes::int32.ptr(1, AddrSpace::REG), {}, 4);
  UOp most = acc4.after({acc4.index(zero).store(t.constant(dtypes::int32, -2147483648L)), r}).index(zero).maximum(y);
  t.check("reduce-to-accumulator", y.reduce(r, Op::MAX), acc4.after(acc4.index(zero).store(most).end(r)).index(zero),
          ctx);
}

TEST_CASE("ranges that end inside a reduction are not outer ranges") {
  RuleTest t(pm_reduce());
  ReduceContext ctx;
  UOp r = t.range(8, 1, AxisType::REDUCE), inner = t.range(4, 0), buf = t.buffer(0, dtypes::float32);
  UOp written = buf.after(buf.index_ptr(inner).store(t.constant(dtypes::float32, 1.0)).end(inner));
  UOp x = written.index(r), zero = t.constant(dtypes::int32, 0);
  UOp acc = t.graph.node(Op::DEFINE_REG, dtypes::float32.ptr(1, AddrSpace::REG), {}, 0);
  UOp sum = acc.after({acc.index(zero).store(t.constant(dtypes::float32, 0.0)), r}).index(zero) + x;
  t.check("reduce-to-accumulator", x.reduce(r, Op::ADD), acc.after(acc.index(zero).store(sum).end(r)).index(zero), ctx);
}

TEST_CASE("a REDUCE of a vector to fewer elements combines elements at the greatest distance") {
  RuleTest t(pm_reduce());
  ReduceContext ctx;
  auto reduced = [&](UOp v, DType to) { return t.graph.node(Op::REDUCE, to, v, Op::ADD); };
  UOp v = t.load(0, dtypes::float32.vec(4));
  t.check("reduce-to-accumulator", reduced(v, dtypes::float32), v.gep(0) + v.gep(1) + v.gep(2) + v.gep(3), ctx);
  std::vector<int64_t> even{0, 2}, odd{1, 3};
  t.check("reduce-to-accumulator", reduced(v, dtypes::float32.vec(2)), v.gep(even) + v.gep(odd), ctx);
  t.check("reduce-to-accumulator", reduced(v, v.dtype()), v, ctx);
  CHECK(ctx.num_accumulators == 0);
  CHECK_THROWS_AS(t.declines("reduce-to-accumulator", reduced(v, dtypes::float32.vec(3)), ctx), Failure);
}

TEST_CASE("an ADD of a WMMA moves into the WMMA's accumulator") {
  RuleTest t(pm_reduce());
  UOp a = t.load(0, dtypes::float16), c = t.load(1, dtypes::float32), x = t.load(2, dtypes::float32);
  auto wmma = [&](UOp acc) { return t.graph.node(Op::WMMA, dtypes::float32, {a, a, acc}); };
  t.check("wmma-accumulates", wmma(c) + x, wmma(c + x));
  t.check("wmma-accumulates", x + wmma(c), wmma(c + x));
  t.declines("wmma-accumulates", wmma(c) * x);
}

}  // namespace
}  // namespace tgc
