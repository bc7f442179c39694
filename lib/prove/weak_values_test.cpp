#include "lib/prove/weak_values.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

TEST_CASE("decision_on: the sign of a zero reaches a reciprocal") {
  Graph g;
  const UOp memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0);
  const UOp weak = memory.index(g.range(Const(8), 0, AxisType::LOOP)), one = g.constant(dtypes::float32, Const(1.0));
  const UOp inverse = weak.alu(Op::RECIPROCAL), divided = weak.alu(Op::FDIV, one), divides = one.alu(Op::FDIV, weak);
  CHECK(decision_on(inverse, weak, FloatSense::ButNan) == "RECIPROCAL");
  CHECK(decision_on((weak + one).alu(Op::RECIPROCAL), weak, FloatSense::ButNan) == "RECIPROCAL");
  CHECK(decision_on(divides, weak, FloatSense::Finite) == "FDIV");
  CHECK(decision_on(divided, weak, FloatSense::ButNan) == std::nullopt);
  CHECK(decision_on(inverse, weak, FloatSense::Real) == std::nullopt);
  CHECK(has_decisions(inverse));
}

}  // namespace
}  // namespace tgc
