#include "lib/uop/copy.h"

#include <doctest/doctest.h>

#include "lib/text/pyrender.h"

namespace tgc {
namespace {

TEST_CASE("copy_into: the copy prints like the original and shares the same nodes") {
  Graph a, b;
  auto root = read_pyrender(a,
                            "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0)\n"
                            "c1 = UOp.range(16, 0, AxisType.LOOP)\n"
                            "c2 = c0.index(c1)\n"
                            "ast = c0.index(c1, ptr=True).store(c2*c2).end(c1).sink(arg=KernelInfo(name='twice'))\n");
  REQUIRE(root.ok());
  b.noop();  // makes the ids of equal nodes in the two graphs different
  UOp copy = copy_into(b, *root);
  CHECK(&copy.graph() == &b);
  CHECK(*pyrender(copy) == *pyrender(*root));
  CHECK(b.size() == toposort(*root).size() + 1);
  CHECK(copy_into(b, *root) == copy);
}

}  // namespace
}  // namespace tgc
