#include "lib/spec/loops.h"

#include <doctest/doctest.h>

#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// Returns the reason of the violation that verify_loops() finds in a kernel that stores `value` to a[`index`] in the
// ranges r (size 8) and s (size 4); "" if there is none.
std::string found(const std::string& index, const std::string& value, const std::string& end = "r, s") {
  Graph g;
  UOp root = read_pyrender(g, "r = UOp.range(8, 0, AxisType.LOOP)\ns = UOp.range(4, 1, AxisType.LOOP)\n"
                           "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(32), (), 0)\n"
                           "b = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(32), (), 1)\n"
                           "ast = a.index(" + index + ", ptr=True).store(" + value + ").end(" + end + ").sink()\n")
                 .value_or_throw();
  auto violation = verify_loops(toposort(root));
  return violation ? violation->reason : "";
}

TEST_CASE("verify_loops: reports iterations that store different values to one element") {
  CHECK(found("r", "b.index(r*4+s)") ==
        "every iteration of the range (1, AxisType.LOOP) stores a value of its own to the same element");
  CHECK(found("r*4+s", "b.index(r*4+s)").empty());
  CHECK(found("r", "b.index(r)").empty());                          // valid: all iterations of s store the same value
  CHECK(found("r", "a.index(r)+b.index(r*4+s)").empty());           // accumulates in the stored element, which is valid
  CHECK(found("r", "b.index(r*4+s).reduce(s, arg=Ops.ADD)", "r").empty());
  CHECK(found("r+s*0", "b.index(r*4+s)").empty());                  // not reported, because the address contains s
}

TEST_CASE("verify_loops: reports a range of negative size") {
  Graph g;
  UOp root = read_pyrender(g, "ast = UOp.range(-3, 0, AxisType.LOOP).sink()\n").value_or_throw();
  auto violation = verify_loops(toposort(root));
  REQUIRE(violation);
  CHECK(violation->reason == "its size is negative");
}

}  // namespace
}  // namespace tgc
