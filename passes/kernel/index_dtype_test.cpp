#include "passes/kernel/stages.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

struct IndexTest : RuleTest {
  IndexTest() : RuleTest(pm_lower_index_dtype()) {}
  UOp i32(std::string_view name, Const max = 100) { return var(name, 0, max, dtypes::int32); }
  UOp as_index(UOp u) { return u.cast(dtypes::index); }
};

TEST_CASE("each rule of pm_lower_index_dtype applies and declines") {
  IndexTest t;
  UOp x = t.i32("x"), y = t.i32("y"), big = t.i32("big", 2000000000), gate = t.load(3, dtypes::bool_);
  UOp l = t.var("l", 0, 100, dtypes::int64), buf = t.buffer(0, dtypes::float32);
  auto idx = [&](UOp u) { return t.as_index(u); };

  t.check_rule("lower-binary", idx(x) + idx(y), idx(x + y));
  t.check_rule("lower-binary", idx(x) * idx(y), idx(x * y));
  t.check_rule("lower-binary", idx(x).lt(idx(y)), x.lt(y));  // the result is a bool, so no cast follows
  t.check_rule("lower-binary", idx(big) + idx(big), idx(big.cast(dtypes::int64) + big.cast(dtypes::int64)));
  t.check_rule("lower-binary", idx(x) + idx(l), idx(x.cast(dtypes::int64) + l));
  t.check_declines("lower-binary", idx(x) + t.var("n", 0, 5));
  t.check_declines("lower-binary", x + y);

  UOp of_sum = t.graph.node(Op::BIND, dtypes::index, {idx(x + y), idx(t.constant(dtypes::int32, 3))});
  CHECK_THROWS_AS(t.check_declines("lower-bind", of_sum), Failure);

  t.check_rule("lower-const", t.constant(dtypes::index, 5), idx(t.constant(dtypes::int32, 5)));
  t.check_rule("lower-const", t.constant(dtypes::index, 2147483647L), idx(t.constant(dtypes::int32, 2147483647L)));
  t.check_rule("lower-const", t.constant(dtypes::index, 2147483648L), idx(t.constant(dtypes::int64, 2147483648L)));
  t.check_rule("lower-const", t.constant(dtypes::index, -2147483649L), idx(t.constant(dtypes::int64, -2147483649L)));
  t.check_rule("lower-const", t.vconst(dtypes::index.vec(2), {1, 2}),
               t.vconst(dtypes::int32.vec(2), {1, 2}).cast(dtypes::index.vec(2)));
  t.check_declines("lower-const", t.graph.invalid());
  t.check_declines("lower-const", t.constant(dtypes::int32, 5));

  t.check_rule("lower-where", gate.where(idx(x), idx(y)), idx(gate.where(x, y)));
  t.check_rule("lower-where", gate.where(idx(x), idx(l)), idx(gate.where(x.cast(dtypes::int64), l)));
  t.check_declines("lower-where", gate.where(idx(x), t.graph.invalid()));

  UOp range = t.graph.node(Op::RANGE, dtypes::index, idx(x), t.graph.tuple({0, AxisType::LOOP}));
  t.check_rule("lower-range", range,
               idx(t.graph.node(Op::RANGE, dtypes::int32, x, t.graph.tuple({0, AxisType::LOOP}))));
  t.check_declines("lower-range", t.range(8));
  t.check_rule("lower-vectorize", t.vectorize({idx(x), idx(y)}), t.vectorize({x, y}).cast(dtypes::index.vec(2)));
  t.check_rule("lower-vectorize", t.vectorize({idx(x), idx(l)}),
               t.vectorize({x, l.cast(dtypes::int32)}).cast(dtypes::index.vec(2)));
  t.check_declines("lower-vectorize", t.vectorize({idx(x), t.var("n", 0, 5)}));
  t.check_rule("lower-special", t.graph.node(Op::SPECIAL, dtypes::index, idx(x), t.graph.str("gidx0")),
               idx(t.graph.node(Op::SPECIAL, dtypes::int32, x, t.graph.str("gidx0"))));
  t.check_rule("lower-variable", t.var("n", 1, 5), idx(t.var("n", 1, 5, dtypes::int32)));
  t.check_declines("lower-variable", x);

  UOp n = t.var("n", 1, 5, dtypes::int32), three = t.constant(dtypes::int32, 3), nine = t.constant(dtypes::int32, 9);
  t.check_rule("lower-bind", t.graph.node(Op::BIND, dtypes::index, {idx(n), idx(three)}),
               idx(t.graph.node(Op::BIND, dtypes::int32, {n, three})));
  CHECK_THROWS_AS(t.check_declines("lower-bind", t.graph.node(Op::BIND, dtypes::index, {idx(n), idx(nine)})), Failure);

  t.check_rule("invalid-to-gate", buf.index_ptr(gate.where(x, t.graph.invalid())), buf.index_ptr(x, gate));
  t.check_declines("invalid-to-gate", buf.index_ptr(gate.where(x, y)));
  t.check_rule("index-drops-cast", buf.index_ptr(idx(x)), buf.index_ptr(x));
  t.check_declines("index-drops-cast", buf.index_ptr(x));
  t.check_rule("gated-index-drops-cast", buf.index_ptr(idx(x), gate), buf.index_ptr(x, gate));
  t.check_rule("root-drops-casts", t.graph.sink({idx(x), gate}), t.graph.sink({x, gate}));
  t.check_declines("root-drops-casts", t.graph.sink({x, gate}));
  t.check_all_rules_fired();
}

}  // namespace
}  // namespace tgc
