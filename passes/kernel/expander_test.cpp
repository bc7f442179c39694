#include "passes/kernel/stages.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

struct ExpanderTest : RuleTest {
  explicit ExpanderTest(const RuleSet& set) : RuleTest(set) {}

  Arg axes(std::initializer_list<std::pair<int, int>> pairs) {
    std::vector<Arg> out;
    for (auto [id, size] : pairs) out.push_back(graph.tuple({id, size}));
    return graph.tuple(out);
  }
  UOp unroll(UOp vector, std::initializer_list<std::pair<int, int>> pairs, DType dtype = dtypes::index) {
    return graph.node(Op::UNROLL, dtype, vector, axes(pairs));
  }
  UOp contract(UOp x, DType dtype, std::initializer_list<std::pair<int, int>> pairs, Arg tag = {}) {
    return graph.node(Op::CONTRACT, dtype, x, axes(pairs), tag);
  }
  UOp iota(int n) {
    std::vector<Const> v;
    for (int i = 0; i < n; i++) v.push_back(i);
    return graph.constant(dtypes::index.vec(n), v);
  }
  UOp gep(UOp x, std::initializer_list<int64_t> picks) { return x.gep(std::span(picks.begin(), picks.size())); }
  UOp opaque(int n, DType dtype = dtypes::index) { return load(9, dtype.vec(n)); }
};

TEST_CASE("each rule of pm_pre_expander applies and declines") {
  ExpanderTest t(pm_pre_expander());
  UOp up = t.range(4, 3, AxisType::UPCAST), un = t.range(2, 5, AxisType::UNROLL), r = t.range(8, 1, AxisType::REDUCE);
  t.check_rule("range-to-unroll", up, t.unroll(t.iota(4), {{3, 4}}));
  t.check_rule("range-to-unroll", un, t.unroll(t.iota(2), {{5, 2}}));
  t.check_rule("range-to-unroll", t.range(1, 3, AxisType::UPCAST), t.unroll(t.constant(dtypes::index, 0), {{3, 1}}));
  for (auto type : {AxisType::GLOBAL, AxisType::LOCAL, AxisType::LOOP, AxisType::REDUCE, AxisType::GROUP_REDUCE})
    t.check_declines("range-to-unroll", t.range(4, 3, type));
  t.check_declines("range-to-unroll", t.graph.node(Op::RANGE, dtypes::index, t.constant(dtypes::index, 4),
                                                   t.graph.tuple({0, 1, AxisType::UPCAST})));

  UOp x = t.load(1, dtypes::float32), a = t.unroll(t.iota(4), {{3, 4}}), b = t.unroll(t.iota(2), {{5, 2}});
  t.check_rule("reduce-unrolled", x.reduce({r, a, b}, Op::ADD),
          t.graph.node(Op::REDUCE, dtypes::float32, {t.contract(x, dtypes::float32.vec(8), {{3, 4}, {5, 2}}, 1), r},
                       Op::ADD));
  // a constant among the ranges is a range of one iteration that was simplified: the rule drops this constant
  t.check_rule("reduce-unrolled", x.reduce({r, t.constant(dtypes::index, 0)}, Op::ADD), x.reduce(r, Op::ADD));
  t.check_declines("reduce-unrolled", x.reduce(r, Op::ADD));
  CHECK_THROWS_AS(t.check_declines("reduce-unrolled", x.reduce({r, t.var("n", 0, 3)}, Op::ADD)), Failure);

  UOp p = t.buffer(0, dtypes::float32).index_ptr(a);
  t.check_rule("store-unrolled", p.store(x, UOpSpan{r, a}),
               t.contract(p.store(x, UOpSpan{r}), dtypes::void_, {{3, 4}}, 1));
  t.check_declines("store-unrolled", p.store(x, UOpSpan{r}));
  t.check_all_rules_fired();
}

TEST_CASE("a REDUCE over GROUP_REDUCE axes is computed through a local buffer") {
  ExpanderTest t(pm_group_for_reduce());
  UOp group = t.range(16, 2, AxisType::GROUP_REDUCE), r = t.range(8, 3, AxisType::REDUCE),
      local = t.range(4, 1, AxisType::LOCAL);
  UOp x = t.buffer(0, dtypes::float32).index(local + group + r);
  UOp loop = t.range(16, 102, AxisType::REDUCE);
  Arg opts = t.graph.record(RecordClass::BufferizeOpts, {2, AddrSpace::LOCAL, true});
  UOp buffer = t.graph.node(Op::BUFFERIZE, dtypes::float32, {x.reduce(r, Op::MAX), local, group}, opts);
  t.check_rule("group-for-reduce", x.reduce({r, group}, Op::MAX),
               buffer.index({local, loop}, dtypes::float32).reduce(loop, Op::MAX));
  t.check_declines("group-for-reduce", x.reduce(r, Op::MAX));
  t.check_all_rules_fired();
}

TEST_CASE("each expander rule applies and declines") {
  ExpanderTest t(expander());
  UOp r = t.range(8), x = t.load(1, dtypes::float32), y = t.load(2, dtypes::float32);
  UOp buf = t.buffer(0, dtypes::float32), store = buf.index_ptr(r).store(x);

  UOp four = t.vectorize({x, x, x, x});
  t.check_rule("after-broadcast", four.after(store), x.after(store).broadcast(4));
  t.check_declines("after-broadcast", t.vectorize({x, y}).after(store));
  t.check_rule("end-broadcast", t.graph.node(Op::VECTORIZE, dtypes::void_, {store, store}).end(r),
               store.end(r).broadcast(2));

  UOp a = t.unroll(t.opaque(4), {{0, 4}}), b = t.unroll(t.opaque(2), {{1, 2}}),
      ab = t.unroll(t.opaque(8), {{0, 4}, {1, 2}});
  t.check_rule("end-unrolled", store.end({a, r, b}), t.contract(store, dtypes::void_, {{0, 4}, {1, 2}}).end(r));
  t.check_declines("end-unrolled", store.end(r));

  UOp fa = t.unroll(t.opaque(4, dtypes::float32), {{0, 4}}, dtypes::float32);
  UOp bufferize = t.graph.node(Op::BUFFERIZE, dtypes::float32, {fa, a});
  t.check_rule("bufferize-unrolled", bufferize,
               bufferize.with_src(
              {t.contract(fa, dtypes::float32.vec(4), {{0, 4}}), t.contract(a, dtypes::index.vec(4), {{0, 4}})}));

  t.check_rule("unroll-unroll", t.unroll(t.unroll(t.opaque(4), {{0, 4}}), {{1, 2}}),
               t.unroll(t.opaque(4), {{0, 4}, {1, 2}}));
  t.check_rule("unroll-nothing", t.unroll(r, {}), r);
  t.check_declines("unroll-nothing", a);

  // the 4 elements of axis 0 become a vector; the source `r`, which has no axis, is repeated 4 times
  t.check_rule("expand", a + r, t.unroll(t.opaque(4) + r.broadcast(4), {{0, 4}}));
  t.check_rule("expand", a * a, t.unroll(t.opaque(4) * t.opaque(4), {{0, 4}}));
  t.check_rule("expand", a + b,
               t.unroll(t.opaque(4).gep(std::vector<int64_t>{0, 0, 1, 1, 2, 2, 3, 3}) +
                        t.gep(t.opaque(2), {0, 1, 0, 1, 0, 1, 0, 1}),
                   {{0, 4}, {1, 2}}));
  t.check_rule("expand", ab + b,
               t.unroll(t.opaque(8) + t.gep(t.opaque(2), {0, 1, 0, 1, 0, 1, 0, 1}), {{0, 4}, {1, 2}}));
  // the UNROLL's axes are listed as (1, 2), (0, 4); the result sorts them
  UOp ba = t.unroll(t.opaque(8), {{1, 2}, {0, 4}});
  t.check_rule("expand", ab + ba,
               t.unroll(t.opaque(8) + t.gep(t.opaque(8), {0, 4, 1, 5, 2, 6, 3, 7}), {{0, 4}, {1, 2}}));
  // if the elements of the axis are vectors of 2, the parts of each vector stay together
  UOp va = t.unroll(t.opaque(8, dtypes::float32), {{0, 4}}, dtypes::float32.vec(2)), v = t.opaque(2, dtypes::float32);
  UOp cat = t.graph.node(Op::CAT, dtypes::float32.vec(8), {v, v, v, v});
  t.check_rule("expand", va + v, t.unroll(t.opaque(8, dtypes::float32) + cat, {{0, 4}}, dtypes::float32.vec(2)));
  t.check_rule("expand", buf.store(fa, UOpSpan{r}),
               t.unroll(buf.broadcast(4).store(t.opaque(4, dtypes::float32), UOpSpan{r}), {{0, 4}}, dtypes::void_));
  UOp many = t.unroll(t.vectorize({buf, buf}), {{1, 2}}, buf.dtype());
  t.check_rule("expand", many.index(r),
               t.unroll(t.vectorize({buf, buf}).index(r, dtypes::float32.vec(2)), {{1, 2}}, dtypes::float32));
  t.check_rule("expand", va.gep(1),
               t.unroll(t.gep(t.opaque(8, dtypes::float32), {1, 3, 5, 7}), {{0, 4}}, dtypes::float32));
  t.check_declines("expand", r + r);

  t.check_rule("contract", t.contract(ab, dtypes::index.vec(2), {{1, 2}}),
               t.unroll(t.gep(t.opaque(8), {0, 1, 2, 3, 4, 5, 6, 7}), {{0, 4}}, dtypes::index.vec(2)));
  t.check_rule("contract", t.contract(ab, dtypes::index.vec(4), {{0, 4}}),
               t.unroll(t.gep(t.opaque(8), {0, 2, 4, 6, 1, 3, 5, 7}), {{1, 2}}, dtypes::index.vec(4)));
  t.check_rule("contract", t.contract(r, dtypes::index.vec(3), {{0, 3}}), t.vectorize({r, r, r}));
  t.check_all_rules_fired();
}

TEST_CASE("a WMMA does not expand over its own axes") {
  ExpanderTest t(expander());
  auto one = t.axes({{1, 2}});
  Arg arg = t.graph.tuple({t.graph.str("wmma"), t.graph.tuple({2, 2, 2}), dtypes::float16, dtypes::float32,
                           t.graph.str("CUDA"), 32, t.graph.tuple({one, one, one}), t.graph.tuple({3})});
  UOp v = t.opaque(2, dtypes::float32),
      a = t.unroll(t.opaque(8, dtypes::float32), {{0, 4}, {3, 1}}, dtypes::float32.vec(2));
  UOp wmma = t.graph.node(Op::WMMA, dtypes::float32.vec(2), {a, v, v}, arg);
  UOp cat = t.graph.node(Op::CAT, dtypes::float32.vec(8), {v, v, v, v});
  UOp wide = t.graph.node(Op::WMMA, dtypes::float32.vec(8),
                          {t.gep(t.opaque(8, dtypes::float32), {0, 1, 2, 3, 4, 5, 6, 7}), cat, cat}, arg);
  t.check_rule("expand", wmma, t.unroll(wide, {{0, 4}}, dtypes::float32.vec(2)));
}

TEST_CASE("malformed axes of an UNROLL or CONTRACT are an error") {
  ExpanderTest t(expander());
  UOp bad = t.graph.node(Op::UNROLL, dtypes::index, t.opaque(4), 7);
  CHECK_THROWS_AS(t.check_declines("expand", bad + t.range(3)), Failure);
  UOp pairless = t.graph.node(Op::UNROLL, dtypes::index, t.opaque(4), t.graph.tuple({4}));
  CHECK_THROWS_AS(t.check_declines("expand", pairless + t.range(3)), Failure);
  for (int size : {1 << 10, 1 << 30}) {
    UOp wide = t.unroll(t.opaque(4), {{0, size}, {1, size}, {2, size}});
    CHECK_THROWS_AS(t.check_declines("expand", wide + t.unroll(t.opaque(4), {{3, 4}})), Failure);
    CHECK_THROWS_AS(t.check_declines("contract", t.contract(wide, dtypes::void_, {{0, size}})), Failure);
  }
}

}  // namespace
}  // namespace tgc
