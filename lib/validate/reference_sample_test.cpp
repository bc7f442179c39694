#include "lib/validate/reference_sample.h"

#include <doctest/doctest.h>

namespace tgc {

TEST_CASE("elements_of throws for a place outside of the array") {
  Array four(dtypes::int32, {4});
  for (int32_t i = 0; i < 4; i++) reinterpret_cast<int32_t*>(four.data())[i] = 10 * i;
  CHECK(reinterpret_cast<const int32_t*>(elements_of(four, {3, 1}).data())[0] == 30);
  CHECK_THROWS_AS(elements_of(four, {0, 4}), Failure);
  CHECK_THROWS_AS(elements_of(four, {-1}), Failure);
}

}  // namespace tgc
