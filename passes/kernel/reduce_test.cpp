#include "lib/rewrite/testing.h"
#include "passes/kernel/stages.h"

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
  t.check_rule("reduce-to-accumulator", x.reduce(r, Op::ADD), acc.after(acc.index(zero).store(sum).end(r)).index(zero),
               ctx);
  CHECK(ctx.num_accumulators == 4);

  UOp y = t.buffer(0, dtypes::int32).index(r);
  UOp acc4 = t.graph.node(Op::DEFINE_REG, dtypes::int32.ptr(1, AddrSpace::REG), {}, 4);
  UOp most = acc4.after({acc4.index(zero).store(t.constant(dtypes::int32, -2147483648L)), r}).index(zero).maximum(y);
  t.check_rule("reduce-to-accumulator", y.reduce(r, Op::MAX),
               acc4.after(acc4.index(zero).store(most).end(r)).index(zero), ctx);
}

TEST_CASE("ranges that end inside a reduction are not outer ranges") {
  RuleTest t(pm_reduce());
  ReduceContext ctx;
  UOp r = t.range(8, 1, AxisType::REDUCE), inner = t.range(4, 0), buf = t.buffer(0, dtypes::float32);
  UOp written = buf.after(buf.index_ptr(inner).store(t.constant(dtypes::float32, 1.0)).end(inner));
  UOp x = written.index(r), zero = t.constant(dtypes::int32, 0);
  UOp acc = t.graph.node(Op::DEFINE_REG, dtypes::float32.ptr(1, AddrSpace::REG), {}, 0);
  UOp sum = acc.after({acc.index(zero).store(t.constant(dtypes::float32, 0.0)), r}).index(zero) + x;
  t.check_rule("reduce-to-accumulator", x.reduce(r, Op::ADD), acc.after(acc.index(zero).store(sum).end(r)).index(zero),
               ctx);
}

TEST_CASE("a REDUCE of a vector to fewer elements combines elements at the greatest distance") {
  RuleTest t(pm_reduce());
  ReduceContext ctx;
  auto reduced = [&](UOp v, DType to) { return t.graph.node(Op::REDUCE, to, v, Op::ADD); };
  UOp v = t.load(0, dtypes::float32.vec(4));
  t.check_rule("reduce-to-accumulator", reduced(v, dtypes::float32), v.gep(0) + v.gep(1) + v.gep(2) + v.gep(3), ctx);
  std::vector<int64_t> even{0, 2}, odd{1, 3};
  t.check_rule("reduce-to-accumulator", reduced(v, dtypes::float32.vec(2)), v.gep(even) + v.gep(odd), ctx);
  t.check_rule("reduce-to-accumulator", reduced(v, v.dtype()), v, ctx);
  CHECK(ctx.num_accumulators == 0);
  CHECK_THROWS_AS(t.check_declines("reduce-to-accumulator", reduced(v, dtypes::float32.vec(3)), ctx), Failure);
}

TEST_CASE("an ADD of a WMMA moves into the WMMA's accumulator") {
  RuleTest t(pm_reduce());
  UOp a = t.load(0, dtypes::float16), c = t.load(1, dtypes::float32), x = t.load(2, dtypes::float32);
  auto wmma = [&](UOp acc) { return t.graph.node(Op::WMMA, dtypes::float32, {a, a, acc}); };
  t.check_rule("wmma-accumulates", wmma(c) + x, wmma(c + x));
  t.check_rule("wmma-accumulates", x + wmma(c), wmma(c + x));
  t.check_declines("wmma-accumulates", wmma(c) * x);
}

TEST_CASE("loop-invariant terms move to the right side of a comparison") {
  RuleTest t(pm_reduce_load_collapse()), loads(pm_load_collapse());
  UOp r = t.range(10), s = t.range(4, 1), y = t.var("y", 1, 7), n = t.var("n", 0, 20);
  t.check_rule("lt-lift-add", (r + y).lt(n), r.lt(n - y));
  t.check_rule("lt-lift-add", (r + y).cast(dtypes::int32).lt(t.load(0, dtypes::int32)),
               r.lt(t.load(0, dtypes::int32).cast(dtypes::index) - y));
  t.check_declines("lt-lift-add", (r + s).lt(n));
  t.check_declines("lt-lift-add", (r + y).lt(s));
  t.check_rule("ne-lift-add", (r + y).ne(n), r.ne(n - y));
  t.check_declines("ne-lift-add", (r + s).ne(n));
  t.check_rule("lt-lift-mul", (r * y).lt(n), r.lt((n + y - 1) / y));
  t.check_declines("lt-lift-mul", (r * s).lt(n));
  t.check_declines("lt-lift-mul", (r * t.var("z", 0, 7)).lt(n));  // z may be 0, and x < n / z needs a positive z
  UOp loaded = loads.load(0, dtypes::int32).cast(dtypes::index), by = loads.var("y", 1, 7),
      bound = loads.var("n", 0, 20);
  loads.check_rule("lt-lift-add-of-load", (loaded + by).lt(bound), loaded.lt(bound - by));
  loads.check_declines("lt-lift-add-of-load", (loads.range(10) + by).lt(bound));
  loads.check_declines("lt-lift-add-of-load", (loaded + loaded).lt(bound));
}

TEST_CASE("a sum of a loop-invariant value over a part of the range becomes a product") {
  RuleTest t(pm_reduce_collapse());
  UOp r = t.range(10), low = t.var("low", -3, 20), high = t.var("high", -3, 20), x = t.load(0, dtypes::float32);
  UOp of_r = t.buffer(1, dtypes::float32).index(r);
  auto sum = [&](UOp u) { return u.reduce(r, Op::ADD); };
  auto times = [&](UOp count) { return count.maximum(0).minimum(r.src(0)).cast(dtypes::float32) * x; };
  t.check_rule("sum-from-bound", sum(r.lt(low).where(0, x)), times(r.src(0) - low));
  t.check_declines("sum-from-bound", sum(r.lt(low).where(0, of_r)));
  t.check_rule("sum-to-bound", sum(r.lt(high).where(x, 0)), times(high));
  t.check_declines("sum-to-bound", sum(r.lt(high).where(of_r, 0)));
  UOp between = r.lt(low).logical_not() & r.lt(high);
  t.check_rule("sum-between-bounds", sum(between.where(x, 0)), times(high.minimum(r.src(0)) - low.maximum(0)));
  t.check_declines("sum-between-bounds", sum(between.where(of_r, 0)));
}

TEST_CASE("sums of sums and of gated values are split") {
  RuleTest t(pm_reduce_load_collapse());
  UOp r = t.range(10), x = t.load(0, dtypes::float32), gate = t.var("gate", false, true, dtypes::bool_),
      buffer = t.buffer(1, dtypes::float32);
  UOp of_r = buffer.index(r), i = t.load(2, dtypes::int32).cast(dtypes::index);
  auto sum = [&](UOp u) { return u.reduce(r, Op::ADD); };
  t.check_rule("reduce-unparented", sum(x), x * r.src(0).cast(dtypes::float32));
  t.check_rule("reduce-unparented", x.reduce(r, Op::MAX), x);
  t.check_declines("reduce-unparented", sum(of_r));
  t.check_rule("sum-of-sum", sum(of_r + x), sum(of_r) + sum(x));
  t.check_declines("sum-of-sum", (of_r + x).reduce(r, Op::MAX));
  t.check_rule("sum-of-gate", sum((gate & r.lt(5)).where(x, 0)), sum(r.lt(5).where(x, 0)) * gate.cast(dtypes::float32));
  t.check_declines("sum-of-gate", sum((r.lt(3) & r.lt(5)).where(x, 0)));
  t.check_rule("mul-gate", x * r.lt(5).cast(dtypes::float32), r.lt(5).where(x, 0));
  UOp inside = i.ge(0) & i.lt(r.src(0));
  t.check_rule("sum-of-one-element", sum(i.ne(r).where(0, of_r)), inside.where(buffer.index(i.valid(inside)), 0));
  t.check_declines("sum-of-one-element", sum(i.ne(r).where(of_r, 0)));
}

TEST_CASE("sums that need no loop are removed") {
  RuleTest t(pm_reduce_simplify()), loads(pm_load_collapse());
  UOp r = t.range(10), n = t.var("n", 0, 10), one = t.constant(dtypes::int32, 1);
  t.check_rule("reduce-collapse", r.lt(n).where(one, 0).reduce(r, Op::ADD), n.cast(dtypes::int32));
  t.check_declines("reduce-collapse", t.buffer(1, dtypes::int32).index(r).reduce(r, Op::ADD));
  UOp s = loads.range(10), i = loads.var("i", 0, 9), buffer = loads.buffer(1, dtypes::float32);
  loads.check_rule("reduce-load-collapse", i.ne(s).where(0, buffer.index(s)).reduce(s, Op::ADD), buffer.index(i));
  loads.check_declines("reduce-load-collapse", buffer.index(s).reduce(s, Op::ADD));
}

}  // namespace

}  // namespace tgc
