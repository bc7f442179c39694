#include <doctest/doctest.h>

#include <cmath>

#include "lib/prove/node_values.h"
#include "lib/uop/graph.h"

namespace tgc {

namespace {

using Lines = std::vector<std::string>;

TEST_CASE("node_values: nodes in the order of evaluation") {
  Graph g;
  UOp r = g.range(Const(8), 0, AxisType::LOOP), memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 1);
  const UOp number = r * Const(3) + Const(1), x = memory.index_ptr(r).load();
  CHECK(node_values(number, {{"r0", "2"}}, "7") ==
        Lines{"%0 = RANGE dtypes.index r0 = 2", "%1 = CONST dtypes.index = 3", "%2 = MUL dtypes.index %0, %1 = 6",
              "%3 = CONST dtypes.index = 1", "%4 = ADD dtypes.index %2, %3 = 7"});
  const Lines chosen = node_values(r.lt(Const(4)).where(x + x, x), {{"r0", "2"}, {"data1", "1.5"}}, "3.0");
  REQUIRE(chosen.size() == 6);
  CHECK(chosen[3] == "%3 = LOAD dtypes.float data1 = 1.5");
  CHECK(chosen[5].ends_with(" = 3.0"));
}

TEST_CASE("node_values: nothing that REF does not compute, too") {
  Graph g;
  UOp r = g.range(Const(8), 0, AxisType::LOOP);
  const UOp small = r.cast(dtypes::uint8) - g.constant(dtypes::uint8, int64_t(3));
  CHECK(node_values(small, {{"r0", "2"}}, "255").size() > 3);
  CHECK(node_values(small, {{"r0", "2"}}, "-1") == node_values(small, {{"r0", "2"}}, "255"));
  CHECK(node_values(small, {{"r0", "2"}}, "254").empty());
  CHECK(node_values(small, {}, "255").empty());
}


TEST_CASE("decision_on: the sign of a zero reaches a reciprocal") {
  Graph g;
  const UOp memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0);
  const UOp weak = memory.index(g.range(Const(8), 0, AxisType::LOOP)), one = g.constant(dtypes::float32, Const(1.0));
  const UOp inverse = weak.alu(Op::RECIPROCAL), divided = weak.alu(Op::FDIV, one), divides = one.alu(Op::FDIV, weak);
  CHECK(find_amplifying_op(inverse, weak, FloatSense::ButNan) == "RECIPROCAL");
  CHECK(find_amplifying_op((weak + one).alu(Op::RECIPROCAL), weak, FloatSense::ButNan) == "RECIPROCAL");
  CHECK(find_amplifying_op(divides, weak, FloatSense::Finite) == "FDIV");
  CHECK(find_amplifying_op(divided, weak, FloatSense::ButNan) == std::nullopt);
  CHECK(find_amplifying_op(inverse, weak, FloatSense::Real) == std::nullopt);
  CHECK(has_discontinuous_op(inverse));
  // with has_quotients, FloatSense::Finite ignores a RECIPROCAL, because the kernel's own quotients may be infinite
  CHECK(find_amplifying_op(inverse, weak, FloatSense::Finite, true) == std::nullopt);
  CHECK(find_amplifying_op(inverse, weak, FloatSense::ButNan, true) == "RECIPROCAL");
  CHECK(find_amplifying_op(inverse.bitcast(dtypes::int32), weak, FloatSense::Finite, true) == "BITCAST");
  CHECK(has_quotient(divides));
  CHECK_FALSE(has_quotient(weak * one));
}

TEST_CASE("decision_on: the sign of a value decides nothing if it is only a factor of this value") {
  Graph g;
  auto num = [&](double v) { return g.constant(dtypes::float32, Const(v)); };
  const UOp memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0);
  const UOp weak = memory.index(g.range(Const(8), 0, AxisType::LOOP));
  const UOp other = memory.index(g.constant(dtypes::index, 3));
  auto sign = [&](UOp x, double bound, double positive) {
    return x.alu(Op::CMPNE, num(bound)).where(x.lt(num(bound)).where(num(-1), num(positive)), num(0));
  };
  auto decides = [&](UOp root) { return find_amplifying_op(root, weak, FloatSense::Real).has_value(); };
  const UOp right = sign(weak, 0, 1);
  CHECK(!decides(weak * right));
  CHECK(!decides(right * weak + num(1)));
  CHECK(decides(right));
  CHECK(decides(other * right));  // `other` may be large where the sign of `weak` changes
  CHECK(decides(weak * right + right));
  CHECK(decides(weak * sign(weak, 1, 1)));
  CHECK(decides(weak * sign(weak, 0, INFINITY)));  // 0 * infinity is NaN
  CHECK(decides(weak * weak.lt(num(0)).where(other, num(0))));
  CHECK(decides((weak * right).lt(num(1)).where(num(2), num(3))));
}

}  // namespace

}  // namespace tgc
