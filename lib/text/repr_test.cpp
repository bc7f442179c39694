#include "lib/text/repr.h"

#include <doctest/doctest.h>

#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

std::string reread(std::string_view text) {
  Graph g;
  auto root = read_repr(g, text, "in");
  return root ? repr(*root) : root.diag().text();
}

}  // namespace

TEST_CASE("repr: names shared nodes in order of first occurrence, and prints tags and kernels") {
  Graph g;
  auto root =
      read_pyrender(g, "c = UOp.range(4, 0, AxisType.LOOP)\nd = (c*2+c).rtag(3)\nast = d.sink(arg=KernelInfo())");
  REQUIRE(root.ok());
  std::string text =
      "UOp(Ops.SINK, dtypes.void, arg=KernelInfo(name='test', axis_types=(), dont_use_locals=False, "
      "applied_opts=(), opts_to_apply=None), src=(\n"
      "  UOp(Ops.ADD, dtypes.index, arg=None, tag=3, src=(\n"
      "    UOp(Ops.MUL, dtypes.index, arg=None, src=(\n"
      "      x2:=UOp(Ops.RANGE, dtypes.index, arg=(0, AxisType.LOOP), src=(\n"
      "        UOp(Ops.CONST, dtypes.index, arg=4, src=()),)),\n"
      "      UOp(Ops.CONST, dtypes.index, arg=2, src=()),)),\n"
      "    x2,)),))";
  CHECK(repr(*root) == text);
  CHECK(reread(text) == text);
  UOp kernel = g.node(Op::KERNEL, dtypes::void_, {}, g.record(RecordClass::Kernel, {*root, g.tuple({})}));
  CHECK(repr(kernel) ==
        "UOp(Ops.KERNEL, dtypes.void, arg=Kernel(ast=" + text + ", metadata=(), grad_fxn=None), src=())");
  CHECK(reread(repr(kernel)) == repr(kernel));
}

TEST_CASE("repr: a graph inside an arg has its own names") {
  std::string inner =
      "UOp(Ops.ADD, dtypes.index, arg=None, src=(\n  x0:=UOp(Ops.CONST, dtypes.index, arg=1, src=()),\n  x0,))";
  std::string text =
      "UOp(Ops.SINK, dtypes.void, arg=None, src=(\n  x0:=UOp(Ops.CONST, dtypes.float, arg=2.0, src=()),\n"
      "  UOp(Ops.KERNEL, dtypes.void, arg=Kernel(ast=" +
      inner + ", metadata=(), grad_fxn=None), src=()),\n  x0,))";
  CHECK(reread(text) == text);
}

TEST_CASE("repr: reads string tags and any layout") {
  std::string text = "UOp(Ops.SINK, dtypes.void, arg='x, src=(', tag=some words, src=())";
  CHECK(reread(text) == text);
  CHECK(
      reread(
          " UOp( Ops.SINK ,dtypes.void, tag=(1, 2),\n"
          " arg=None,src=( UOp(Ops.NOOP, dtypes.void, arg=None, src=()) ) )\n") ==
      "UOp(Ops.SINK, dtypes.void, arg=None, tag=(1, 2), src=(\n  UOp(Ops.NOOP, dtypes.void, arg=None, src=()),))");
}

TEST_CASE("repr: reads and writes deep graphs") {
  Graph g;
  UOp x = g.variable("x", 0, 1), deep = x;
  for (int i = 0; i < 3000; i++) deep = deep + x;
  std::string text = repr(deep);
  Graph h;
  auto back = read_repr(h, text);
  REQUIRE(back.ok());
  CHECK(repr(*back) == text);
}

TEST_CASE("repr: rejects bad input") {
  auto starts = [](std::string_view text, std::string_view message) {
    CHECK_MESSAGE(reread(text).starts_with(message), reread(text));
  };
  starts("UOp(Ops.SINK, dtypes.void, arg=None, src=(x1,))", "in:1:43: unknown name 'x1'");
  starts("UOp(Ops.SINK, dtypes.void, arg=None, src=(", "in:1:43: found the end of the input, expected UOp(...)");
  starts("UOp(Ops.SINK, dtypes.void, src=()) x", "in:1:36: unexpected 'x'");
  starts("UOp(Ops.SINK, dtypes.void, argh=1, src=())", "in:1:28: unknown keyword 'argh'");
  starts("UOp(Ops.ADD, dtypes.int, arg=None, src=())", "in:1:1: Ops.ADD with 0 sources, needs 2");
  starts("UOp(Ops.SINK, dtypes.void, arg=None, tag=\xC2" "1, src=())", "in:1:42: a tag that is not UTF-8");
  starts("x0:=UOp(Ops.SINK, dtypes.void, arg=None, src=(x0,))", "in:1:47: unknown name 'x0'");
}
