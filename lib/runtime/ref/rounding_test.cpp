#include "lib/runtime/ref/rounding.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

using namespace tgc;

TEST_CASE("coarsest_rounding: returns the least exact dtype that a kernel rounds to, not one that it only reads") {
  Graph g;
  UOp x = g.variable("x", 0.0, 1.0, dtypes::float32), h = g.variable("h", 0.0, 1.0, dtypes::float16),
      i = g.variable("i", 0, 9);
  CHECK(coarsest_rounding(x * x) == dtypes::float32);
  CHECK(coarsest_rounding((x.cast(dtypes::float16) * Const(2.0)).cast(dtypes::float32)) == dtypes::float16);
  CHECK(coarsest_rounding(h.cast(dtypes::float32) * x) == dtypes::float32);
  CHECK(coarsest_rounding((x.cast(dtypes::bfloat16) + h.cast(dtypes::bfloat16)).cast(dtypes::float16)) ==
        dtypes::bfloat16);
  CHECK(coarsest_rounding(i * i) == dtypes::void_);
  CHECK(coarsest_rounding(h * h, dtypes::bfloat16) == dtypes::bfloat16);
  CHECK(coarsest_rounding(x.cast(dtypes::bfloat16) * Const(2.0), dtypes::float16) == dtypes::bfloat16);
  CHECK(coarsest_rounding(i * i, dtypes::float64) == dtypes::float64);
}
