#include "lib/uop/arg.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

TEST_CASE("Arg: tuples that are equal in Python make one node but print as they were written") {
  Graph g;
  Arg bools = g.tuple({true, false}), ints = g.tuple({1, 0}), floats = g.tuple({1.0, -0.0});
  CHECK(bools == ints);
  CHECK(ints == floats);
  CHECK_FALSE(ints == g.tuple({1, 1}));
  CHECK_FALSE(ints == g.tuple({1, 0, 0}));
  CHECK(bools.hash() == floats.hash());
  CHECK(bools.repr() == "(True, False)");
  CHECK(ints.repr() == "(1, 0)");
  CHECK(floats.repr() == "(1.0, -0.0)");
  CHECK(g.node(Op::NOOP, dtypes::void_, {}, ints) == g.node(Op::NOOP, dtypes::void_, {}, bools));
  CHECK(g.tuple({ints, 2}) == g.tuple({bools, 2}));
  CHECK(g.tuple({ints, 2}).repr() == "((1, 0), 2)");
}

}  // namespace
}  // namespace tgc
