#include "passes/kernel/stages.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

UOp gep(UOp x, std::initializer_list<int64_t> picks) { return x.gep(std::span(picks.begin(), picks.size())); }

TEST_CASE("each devectorize rule applies and declines") {
  RuleTest t(devectorize());
  UOp a = t.load(0, dtypes::float32.vec(2)), b = t.load(1, dtypes::float32.vec(2)), r = t.range(8),
      x = t.load(2, dtypes::float32);
  UOp p = t.buffer(0, dtypes::float32);
  DType wide = dtypes::float32.vec(4).ptr(256);
  t.check_rule("cast-after-after", p.cast(wide).after(r), p.after(r).cast(wide));
  t.check_declines("cast-after-after", p.after(r));

  t.check_rule("scalar-alu", a + b, t.vectorize({a.gep(0) + b.gep(0), a.gep(1) + b.gep(1)}));
  t.check_rule("scalar-alu", a.lt(b), t.vectorize({a.gep(0).lt(b.gep(0)), a.gep(1).lt(b.gep(1))}));
  t.check_rule("scalar-alu", a.cast(dtypes::int32),
               t.vectorize({a.gep(0).cast(dtypes::int32), a.gep(1).cast(dtypes::int32)}));
  t.check_rule("scalar-alu", a.bitcast(dtypes::int32.vec(2)),
               t.vectorize({a.gep(0).bitcast(dtypes::int32), a.gep(1).bitcast(dtypes::int32)}));
  t.check_declines("scalar-alu", x + x);
  UOp pixel = t.load(3, dtypes::index.vec(2));
  t.check_declines("scalar-alu", pixel.valid(t.load(4, dtypes::bool_)));
  t.check_declines("scalar-alu", p.cast(wide));

  auto axes = [&](int n) { return t.graph.tuple({t.graph.tuple({0, n})}); };
  Arg arg = t.graph.tuple({t.graph.str("w"), t.graph.tuple({8, 8, 8}), dtypes::float16, dtypes::float32,
                           t.graph.str("METAL"), 32, t.graph.tuple({axes(2), axes(1), axes(2)}), t.graph.tuple({})});
  UOp ha = t.load(5, dtypes::float16.vec(4)), hb = t.load(6, dtypes::float16.vec(2)),
      acc = t.load(7, dtypes::float32.vec(4));
  auto one = [&](UOp u, UOp v, UOp w) { return t.graph.node(Op::WMMA, dtypes::float32.vec(2), {u, v, w}, arg); };
  UOp first = one(gep(ha, {0, 1}), hb.gep(0), gep(acc, {0, 1})),
      second = one(gep(ha, {2, 3}), hb.gep(1), gep(acc, {2, 3}));
  t.check_rule("short-wmma", t.graph.node(Op::WMMA, dtypes::float32.vec(4), {ha, hb, acc}, arg),
               t.vectorize({first.gep(0), first.gep(1), second.gep(0), second.gep(1)}));
  t.check_declines("short-wmma", first);
}

TEST_CASE("buffers of vectors become buffers of scalars") {
  RuleTest t(devectorize_buf_and_index());
  DType vectors = dtypes::float32.vec(2).ptr(4, AddrSpace::LOCAL), scalars = dtypes::float32.ptr(8, AddrSpace::LOCAL);
  UOp buf = t.graph.node(Op::DEFINE_LOCAL, vectors, {}, 0), flat = t.graph.node(Op::DEFINE_LOCAL, scalars, {}, 0),
      r = t.range(4);
  t.check_rule("scalar-buffer", buf, flat.cast(vectors));
  t.check_declines("scalar-buffer", flat);
  t.check_declines("scalar-buffer", t.graph.node(Op::DEFINE_REG, dtypes::float32.ptr(1, AddrSpace::REG), {}, 0));

  auto two = [&](UOp u) { return t.vectorize({u, u}); };
  t.check_rule("index-scalar-buffer", flat.cast(vectors).index(r),
               two(flat).index_ptr(two(r) * 2 + t.vconst(dtypes::index.vec(2), {0, 1})));
  UOp after = flat.after(r);
  t.check_rule("index-scalar-buffer", after.cast(vectors).index(r),
               two(after).index_ptr(two(r) * 2 + t.vconst(dtypes::index.vec(2), {0, 1})));
  t.check_declines("index-scalar-buffer", flat.index(r));

  // the index of two pointers to vectors of 2 becomes four: element 0 of both vectors, then element 1 of both
  UOp many = two(flat.cast(vectors)), i = t.load(9, dtypes::index.vec(2)), all = gep(i, {0, 1, 0, 1}) * 2;
  t.check_rule("index-broadcast-buffer", many.index(i),
               flat.broadcast(4).index_ptr(all + t.vconst(dtypes::index.vec(4), {0, 0, 1, 1})));
  UOp picked = t.graph.node(Op::GEP, vectors.vec(2), flat.cast(vectors), t.graph.tuple({1, 3}));
  t.check_rule("index-gep-buffer", picked.index(i),
               flat.broadcast(4).index_ptr(all + t.vconst(dtypes::index.vec(4), {1, 3, 2, 4})));
  t.check_all_rules_fired();
}

TEST_CASE("each rule of pm_render applies and declines") {
  RuleTest t(pm_render());
  UOp v = t.load(0, dtypes::float32.vec(4)), x = t.load(1, dtypes::float32), one = t.constant(dtypes::float32, 1.0),
      two = t.constant(dtypes::float32, 2.0);
  t.check_rule("vectorize-const", t.constant(dtypes::float32.vec(2), 1.0), t.vectorize({one, one}));
  t.check_declines("vectorize-const", one);
  t.check_rule("vectorize-vconst", t.vconst(dtypes::float32.vec(2), {1.0, 2.0}), t.vectorize({one, two}));
  t.check_rule("vectorize-gep", gep(v, {3, 0}), t.vectorize({v.gep(3), v.gep(0)}));
  t.check_declines("vectorize-gep", v.gep(3));
  t.check_rule("gep-of-scalar", x.gep(0), x);
  t.check_declines("gep-of-scalar", v.gep(0));
  t.check_rule("vectorize-one", t.graph.node(Op::VECTORIZE, dtypes::float32, x), x);
  t.check_declines("vectorize-one", t.vectorize({x, x}));

  UOp buf = t.buffer(0, dtypes::float32), i = t.var("i", 0, 9), gate = t.load(5, dtypes::bool_),
      other = t.load(6, dtypes::bool_);
  UOp p = buf.index_ptr(i, gate), zero = t.constant(dtypes::float32, 0.0), barrier = t.graph.node(Op::BARRIER);
  t.check_rule("masked-load-alt", p.load(), p.load(zero, dtypes::float32));
  UOp quad = p.cast(dtypes::float32.vec(4).ptr(1024));
  t.check_rule("masked-load-alt", quad.load({}, dtypes::float32.vec(4)),
               quad.load(t.constant(dtypes::float32.vec(4), 0.0), dtypes::float32.vec(4)));
  t.check_rule("masked-load-alt", p.load(barrier, dtypes::float32), p.load({zero, barrier}, dtypes::float32));
  t.check_declines("masked-load-alt", p.load(x, dtypes::float32));
  t.check_declines("masked-load-alt", buf.index_ptr(i).load());

  t.check_rule("where-to-alt", gate.where(p.load(zero, dtypes::float32), x), p.load(x, dtypes::float32));
  t.check_rule("where-to-alt", gate.where(p.load(zero, dtypes::float32).cast(dtypes::int32), x.cast(dtypes::int32)),
               p.load(x.cast(dtypes::int32).cast(dtypes::float32), dtypes::float32).cast(dtypes::int32));
  t.check_rule("where-to-alt", gate.where(p.load({zero, barrier}, dtypes::float32), x),
               p.load({x, barrier}, dtypes::float32));
  t.check_declines("where-to-alt", other.where(p.load(zero, dtypes::float32), x));
  UOp not_gated = buf.index_ptr(i, gate.logical_not());
  t.check_rule("where-not-to-alt", gate.where(x, not_gated.load(zero, dtypes::float32)),
               not_gated.load(x, dtypes::float32));
  t.check_declines("where-not-to-alt", gate.where(x, p.load(zero, dtypes::float32)));
  t.check_all_rules_fired();
}

}  // namespace
}  // namespace tgc
