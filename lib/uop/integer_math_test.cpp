#include "lib/uop/integer_math.h"

#include <doctest/doctest.h>

#include <random>

#include "lib/uop/graph.h"

using namespace tgc;

TEST_CASE("is_divisible: agrees with divides, which returns the exact quotient") {
  Graph g;
  std::mt19937 random(3);
  auto number = [&] { return int64_t(random() % 13) - 4; };
  size_t divisible = 0;
  for (int round = 0; round < 300; round++) {
    std::vector<UOp> exprs{g.variable("x", -3, 9), g.variable("y", 0, 7), g.constant(dtypes::index, 6)};
    for (int i = 0; i < 4; i++) {
      UOp a = exprs[random() % exprs.size()], b = exprs[random() % exprs.size()];
      exprs.push_back(random() % 2 ? a * Const(number()) : a + b * Const(number()));
    }
    UOp u = exprs.back();
    for (int64_t v : {1, 2, 3, 4, 6}) {
      UOp quotient = divides(u, v);
      CHECK(is_divisible(u, v) == bool(quotient));
      if (!quotient) continue;
      divisible += v > 1;
      CHECK(py_equal((quotient * Const(v)).vmin(), u.vmin()));
    }
  }
  CHECK(divisible > 100);
  CHECK(is_divisible(g.constant(dtypes::index.vec(2), std::vector<Const>{4, 8}), 4));
  CHECK_FALSE(is_divisible(g.constant(dtypes::index.vec(2), std::vector<Const>{4, 6}), 4));
}
