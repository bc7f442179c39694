#include "lib/rewrite/testing.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {
namespace {

TEST_CASE("each GEP rule applies and declines") {
  RuleTest t(gep_pushing());
  UOp v = t.load(0, dtypes::float32.vec(4)), w = t.load(1, dtypes::float32.vec(4)), x = t.load(2, dtypes::float32);
  auto node = [&](Op op, DType dtype, UOpSpan src, Arg arg = {}) { return t.graph.node(op, dtype, src, arg); };
  auto pick = [&](UOp u, std::initializer_list<int64_t> elements) {
    return node(Op::GEP, u.dtype().scalar().vec(int64_t(elements.size())), u,
                t.graph.ints(std::span(elements.begin(), elements.size())));
  };
  t.check_rule("gep-of-gep", pick(pick(v, {3, 1, 0}), {2, 1}), pick(v, {0, 1}));
  t.check_rule("gep-of-vectorize", pick(t.vectorize({x, v.gep(1), v.gep(2)}), {2, 0}), t.vectorize({v.gep(2), x}));
  t.check_rule("gep-of-vectorize", pick(t.vectorize({x, v.gep(1)}), {1}), v.gep(1));
  t.check_rule("gep-of-const", pick(v.const_like(2), {0, 1}), t.constant(dtypes::float32.vec(2), 2.0));
  t.check_rule("gep-of-vconst", pick(t.vconst(dtypes::int32.vec(3), {7, 8, 9}), {2, 0}),
               t.vconst(dtypes::int32.vec(2), {9, 7}));
  t.check_rule("gep-of-void", node(Op::GEP, dtypes::void_, t.graph.noop(), t.graph.tuple({0})), t.graph.noop());
  t.check_rule("gep-in-order", pick(v, {0, 1, 2, 3}), v);
  t.check_declines("gep-in-order", pick(v, {0, 1, 2}));
  t.check_declines("gep-in-order", pick(v, {0, 1, 3, 2}));
  t.check_rule("gep-through-alu", pick(v + w, {3, 0}), pick(v, {3, 0}) + pick(w, {3, 0}));
  UOp pointers = t.buffer(3, dtypes::float32).broadcast(2),
      moved = node(Op::CAST, dtypes::int32.ptr(4).vec(2), pointers);
  t.check_declines("gep-through-alu", moved.gep(1));
  t.check_rule("cat-to-vectorize", node(Op::CAT, dtypes::float32.vec(3), {pick(v, {2, 1}), x}),
               t.vectorize({pick(v, {2, 1}).gep(0), pick(v, {2, 1}).gep(1), x.gep(0)}));
  t.check_declines("cat-to-vectorize", node(Op::CAT, pointers.dtype(), {pointers.src(0), pointers.src(1)}));
  t.check_rule("vectorize-of-geps", t.vectorize({v.gep(3), v.gep(1)}), pick(v, {3, 1}));
  t.check_declines("vectorize-of-geps", t.vectorize({v.gep(3), w.gep(1)}));

  // a result has 2 elements and needs 4 elements of a and 1 of b; the GEP selects the second of two results
  auto axes = [&](int64_t size) { return t.graph.tuple({t.graph.tuple({0, size})}); };
  Arg arg = t.graph.tuple({0, 1, 2, 3, 4, 5, t.graph.tuple({axes(4), axes(1), axes(2)}), t.graph.tuple({})});
  UOp a = t.load(4, dtypes::float16.vec(8)), b = t.load(5, dtypes::float16.vec(2)),
      wmma = node(Op::WMMA, v.dtype(), {a, b, v}, arg);
  t.check_rule("gep-through-wmma", pick(wmma, {2, 3}),
               node(Op::WMMA, dtypes::float32.vec(2), {pick(a, {4, 5, 6, 7}), b.gep(1), pick(v, {2, 3})}, arg));
  t.check_declines("gep-through-wmma", pick(wmma, {3, 2}));
  t.check_declines("gep-through-wmma", pick(wmma, {2, 3, 0}));
  t.check_all_rules_fired();
}

}  // namespace
}  // namespace tgc
