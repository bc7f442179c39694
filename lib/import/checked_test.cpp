#include "lib/import/checked.h"

#include <doctest/doctest.h>

#include "lib/import/affine.h"
#include "lib/import/value.h"

using namespace tgc;
using namespace tgc::import;

TEST_CASE("checked: a vector refuses indices that it does not have") {
  Sizes sizes{2, 3, 4};
  CHECK(sizes[2] == 4);
  CHECK_THROWS_AS(sizes[3], Refusal);
  CHECK_THROWS_AS(sizes[size_t(-1)], Refusal);
  CHECK(sizes.subrange(1, 2) == Sizes{3, 4});
  CHECK_THROWS_AS(sizes.subrange(2, 2), Refusal);
  CHECK_THROWS_AS(sizes.subrange(4, 0), Refusal);
  CHECK_THROWS_AS(sizes.keep_last_items(4), Refusal);
  sizes.keep_last_items(1);
  CHECK(sizes == Sizes{4});
  CHECK_THROWS_AS(sizes.drop_first_items(2), Refusal);
  sizes.drop_first_items(1);
  CHECK_THROWS_AS(sizes.back(), Refusal);
  CHECK_THROWS_AS(sizes.pop_back(), Refusal);
}

TEST_CASE("checked: arithmetic refuses what does not fit 64 bits") {
  CHECK(checked_add(INT64_MAX, -1) == INT64_MAX - 1);
  CHECK_THROWS_AS(checked_add(INT64_MAX, 1), Refusal);
  CHECK_THROWS_AS(checked_sub(INT64_MIN, 1), Refusal);
  CHECK_THROWS_AS(checked_mul(INT64_MIN, -1), Refusal);
  CHECK(floored_quotient(-7, 2) == -4);
  CHECK(floored_quotient(7, -2) == -4);
  CHECK(floored_quotient(6, -2) == -3);
  CHECK(floored_remainder(-7, 2) == 1);
  CHECK(floored_remainder(7, -2) == -1);
  CHECK(floored_remainder(INT64_MIN, -1) == 0);
  CHECK_THROWS_AS(floored_quotient(INT64_MIN, -1), Refusal);
  CHECK_THROWS_AS(floored_quotient(1, 0), Refusal);
  CHECK_THROWS_AS(floored_remainder(1, 0), Refusal);
  CHECK(product(Sizes{}) == 1);
  CHECK_THROWS_AS(product(Sizes{4, -1}), Refusal);
  CHECK_THROWS_AS(product(Sizes{int64_t(1) << 40, int64_t(1) << 40}), Refusal);
}

TEST_CASE("checked: numbers in args") {
  Graph graph;
  const Arg pair = graph.tuple({3, graph.str("x")});
  CHECK(checked_integer(tuple_item(pair, 0)) == 3);
  CHECK_THROWS_AS(tuple_item(pair, 2), Refusal);
  CHECK_THROWS_AS(tuple_item(Arg(5), 0), Refusal);
  CHECK_THROWS_AS(checked_integer(tuple_item(pair, 1)), Refusal);
  CHECK(axis(2, 3) == 2);
  CHECK_THROWS_AS(axis(3, 3), Refusal);
  CHECK_THROWS_AS(axis(-1, 3), Refusal);
  CHECK(checked_slot(Arg(7)) == 7);
  for (int64_t n : {int64_t(-1), int64_t(INT32_MIN), kMaxSlot + 1, INT64_MAX})
    CHECK_THROWS_AS(checked_slot(Arg(n)), Refusal);
  CHECK(count_of_dtype(dtypes::float32.vec(4)) == 4);
  CHECK_THROWS_AS(sources_from(graph.constant(dtypes::int32, 1), 1), Refusal);
}

TEST_CASE("checked: values have a bounded number of elements, and indices divide by sizes that are not 0") {
  CHECK_THROWS_AS(num_elements_in({kMaxValueElements, 2}), Refusal);
  CHECK_THROWS_AS(unravel(0, {0}), Refusal);
  Graph graph;
  AffineMath math(graph);
  const AffineExpr i = math.index(graph.variable("i", 0, 7, dtypes::index), 0, 7);
  CHECK_THROWS_AS(math.remainder(i, 0), Refusal);
  CHECK_THROWS_AS(math.quotient(i, -2), Refusal);
  CHECK_THROWS_AS(AffineMath::scale_affine(i, INT64_MAX), Refusal);
}
