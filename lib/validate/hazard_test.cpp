#include "lib/validate/hazard.h"

#include <doctest/doctest.h>

#include "lib/text/pyrender.h"

namespace tgc {
namespace {

// Returns the hazard of a kernel that stores `value` to data0[r] for r < 8. `value` may use d (the array data0), x (the
// element data0[(r + 7) % 8]) and y (the element data1[r]).
std::optional<Hazard> hazard_of(const std::string& value, bool only_shared = false) {
  Graph graph;
  const std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), ";
  const std::string loads = "d = " + global + "0)\nx = d.index((r+7)%8)\ny = " + global + "1).index(r)\n";
  const std::string store = "ast = d.index(r, ptr=True).store(" + value + ").end(r).sink()\n";
  UOp root = read_pyrender(graph, "r = UOp.range(8, 0, AxisType.LOOP)\n" + loads + store).value_or_throw();
  return find_hazard(root, {}, {}, only_shared);
}

}  // namespace

TEST_CASE("an iteration that loads what an earlier one stored is a hazard, if it uses the number") {
  const auto hazard = hazard_of("x+y");
  REQUIRE(hazard);
  CHECK(hazard->is_store_first);
  CHECK(hazard->num_iterations == 8);
  CHECK(hazard->buffer == "data0");
  CHECK_FALSE(hazard_of("x+y", true));
  CHECK_FALSE(hazard_of("y*2"));
  CHECK(hazard_of("(r<4).where(x, y)"));
  CHECK(hazard_of("(r<4).where(y, x)"));
  CHECK_FALSE(hazard_of("(r<0).where(x, y)"));
  CHECK_FALSE(hazard_of("(r<8).where(y, x)"));
  CHECK_FALSE(hazard_of("y*((r<8).where(y, x)+1)"));
  CHECK_FALSE(hazard_of("x*(r<0).cast(dtypes.int)+y"));
  CHECK(hazard_of("x*(r<5).cast(dtypes.int)+y"));
}

TEST_CASE("an element that is stored to itself is no hazard") {
  CHECK_FALSE(hazard_of("d.index(r//8)"));
  CHECK(hazard_of("d.index(r//8)*2"));
}

TEST_CASE("a number that only a loaded condition selects decides no hazard") {
  CHECK_FALSE(hazard_of("(y<3).where(x, y)"));
  CHECK(hazard_of("(y<3).where(x, x+y)"));
}

}  // namespace tgc
