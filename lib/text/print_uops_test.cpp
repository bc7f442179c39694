#include "lib/text/print_uops.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

using namespace tgc;

TEST_CASE("print_uops: prints columns, coloured ranges, constants by value and sources outside the list") {
  Graph g;
  UOp buffer = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0);
  UOp size = g.constant(dtypes::int32, 8);
  UOp i = g.range(size, std::vector<Arg>{0, AxisType::LOOP}, dtypes::int32);
  UOp index = buffer.index_ptr(i);
  UOp outside = g.constant(dtypes::float32, 1.5);
  UOp store = index.store(outside);
  UOp list[] = {buffer, size, i, index, store};
  CHECK(
      print_uops(list) ==
        // clang-format off
        "   0 Ops.DEFINE_GLOBAL   :            dtypes.float.ptr(8)                      []                               0\n"
        "   1 Ops.CONST           :            dtypes.int                               []                               8\n"
        "   2 Ops.RANGE           : \x1b[97m0\x1b[0m          dtypes.int                               ['8']                            (0, AxisType.LOOP)\n"
        "   3 Ops.INDEX           : \x1b[97m0\x1b[0m          dtypes.float.ptr(8)                      [0, 2]                           None\n"
        "   4 Ops.STORE           : \x1b[97m0\x1b[0m          dtypes.void                              [3, '--']                        None\n");
        // clang-format on
  CHECK(print_uops({}) == "");
}
