#include "lib/validate/reference_sample.h"

#include <doctest/doctest.h>

#include <set>

#include "lib/uop/graph.h"
#include "lib/validate/truncate_loops.h"

namespace tgc {

TEST_CASE("elements_of throws for a place outside of the array") {
  Array four(dtypes::int32, {4});
  for (int32_t i = 0; i < 4; i++) reinterpret_cast<int32_t*>(four.data())[i] = 10 * i;
  CHECK(reinterpret_cast<const int32_t*>(elements_at(four, {3, 1}).data())[0] == 30);
  CHECK_THROWS_AS(elements_at(four, {0, 4}), Failure);
  CHECK_THROWS_AS(elements_at(four, {-1}), Failure);
}

TEST_CASE("truncate_loops keeps the first or the last iterations") {
  Graph g, scratch;
  UOp r = g.range(Const(1000), 0, AxisType::LOOP);
  UOp at = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(1000), {}, 0).index_ptr(r);
  const UOp kernel = g.sink({at.store(r.cast(dtypes::int32)).end(r)});
  Arrays inputs;
  inputs.push_back({"data0", Array(dtypes::int32, {1000})});
  for (bool at_end : {false, true}) {
    auto stored = sample_stores_in_ref(truncate_loops(scratch, kernel, 100, at_end), inputs, {}, 1000);
    REQUIRE(stored);
    const std::vector<int64_t>& places = stored->flat_indices["data0"];
    REQUIRE(!places.empty());
    CHECK(places.size() < 100);
    CHECK((at_end ? places.back() == 999 : places.front() == 0));
    CHECK(stored->values[0].array.as<int32_t>()[0] == places[0]);
  }
}

TEST_CASE("sample_stores_in_ref: elements at irregular distances, and stores of two values to one element") {
  Graph g;
  UOp r = g.range(Const(1000), 0, AxisType::LOOP), memory = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(1000), {}, 0);
  auto stored = [&](UOp at) {
    Arrays inputs;
    inputs.push_back({"data0", Array(dtypes::int32, {1000})});
    const UOp kernel = g.sink({memory.index_ptr(at).store(r.cast(dtypes::int32)).end(r)});
    return std::move(sample_stores_in_ref(kernel, inputs, {}, 100, true).value_or_throw());
  };
  const StoredSample once = stored(r);
  const std::vector<int64_t>& places = once.flat_indices.at("data0");
  REQUIRE(places.size() == 100);
  std::set<int64_t> remainders;
  for (int64_t i : places) remainders.insert(i % 10);
  CHECK(remainders.size() == 10);
  CHECK(!once.has_overlaps);
  CHECK(stored(r.alu(Op::IDIV, r.const_like(Const(int64_t(2))))).has_overlaps);
}

}  // namespace tgc
