#include "lib/import/export.h"

#include <doctest/doctest.h>

#include <map>

#include "lib/records/read_graph.h"
#include "lib/text/formats.h"
#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

struct Kernel {
  explicit Kernel(std::string_view text) : root(read_graph(graph, InputKind::Pyrender, text).value_or_throw().root) {}
  Graph graph;
  UOp root;
};

constexpr std::string_view kKernel = R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), arg=0, src=())
c1 = UOp.range(UOp.const(dtypes.index, 8), 0, AxisType.LOOP)
c2 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(64), arg=1, src=())
c3 = UOp.range(UOp.const(dtypes.index, 8), 1, AxisType.REDUCE)
c4 = UOp.variable('n', 1, 8)
c5 = ((c1<c4).where(c1*8+c3, UOp.const(dtypes.index, Invalid)))
c6 = c2.index(c5).cast(dtypes.float).cast(dtypes.int)%UOp.const(dtypes.int, 3)
c7 = c6.reduce(c3, arg=Ops.ADD)
ast = c0.index(c1, ptr=True).store(c7).end(c1).sink()
)";

}  // namespace

TEST_CASE("export_ast: a kernel in the IR of a later release is imported as the same kernel") {
  Kernel kernel(kKernel);
  for (Release release : {Release::v0_13, Release::v0_14}) {
    CAPTURE(name_of(release));
    const ExportedGraph out = export_ast(kernel.root, release).value_or_throw();
    CHECK(out.graph->release() == release);
    CHECK(op_in_backward_slice_with_self(out.root, {Op::PARAM}));
    CHECK_FALSE(op_in_backward_slice_with_self(out.root, {Op::DEFINE_GLOBAL, Op::IDIV, Op::MOD}));
    const ImportedGraph back = import_graph(out.root).value_or_throw();
    CHECK(pyrender(back.root).value_or_throw() == pyrender(kernel.root).value_or_throw());
  }
}

TEST_CASE("export_ast: a division that was imported as one with a correction rounds down again") {
  for (const char* value : {"a//b", "a%b", "a//-1", "a%-7", "a//b+a%b"}) {
    CAPTURE(value);
    Graph graph;
    graph.set_release(Release::v0_14);
    const std::string text = "n = UOp.const(8, dtypes.weakint)\n"
                             "o = UOp(Ops.PARAM, dtypes.int, (n,), ParamArg(0, dtypes.int))\n"
                             "i = UOp.range(8, 0, AxisType.WEAK)\n"
                             "a = UOp(Ops.PARAM, dtypes.int, (n,), ParamArg(1, dtypes.int)).index(i)\n"
                             "b = UOp(Ops.PARAM, dtypes.int, (n,), ParamArg(2, dtypes.int)).index(i)\n"
                             "ast = o.index(i).store(" + std::string(value) + ").end(i).sink()\n";
    const UOp root = read_graph(graph, InputKind::Pyrender, text).value_or_throw().root;
    auto divisions = [](UOp below) {
      std::map<Op, int> out;
      for (UOp u : toposort(below))
        if (u.in({Op::FLOORDIV, Op::FLOORMOD, Op::CDIV, Op::CMOD})) out[u.op()]++;
      return out;
    };
    const ImportedGraph imported = import_graph(root).value_or_throw();
    CHECK(divisions(export_ast(imported.root, Release::v0_14).value_or_throw().root) == divisions(root));
  }
}

TEST_CASE("export_ast: a loop is WEAK and an access has one index since 0.14") {
  Kernel kernel(kKernel);
  const ExportedGraph out = export_ast(kernel.root, Release::v0_14).value_or_throw();
  const std::string text = write_graph(GraphFormat::Pyrender, out.root).value_or_throw();
  for (UOp u : toposort(out.root))
    if (u.is(Op::CAST)) CHECK(u.arg() == Arg(u.dtype()));
  for (const char* part : {"AxisType.WEAK", "AxisType.REDUCE", "ParamArg(0, dtypes.int, device='CPU')", "Ops.CMOD",
                           "AddrSpace.ALU", "Invalid"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part << " in\n" << text);
}

TEST_CASE("export_ast: a constant is rounded to its dtype since 0.14, as UOp.const does") {
  Kernel kernel(R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.bfloat16.ptr(1), arg=0, src=())
c1 = UOp.const(dtypes.bfloat16, 1.4426950408889634)
ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c1).sink()
)");
  auto text = [&](Release release) {
    return write_graph(GraphFormat::Pyrender, export_ast(kernel.root, release).value_or_throw().root).value_or_throw();
  };
  CHECK(text(Release::v0_14).find("1.4453125") != std::string::npos);
  CHECK(text(Release::v0_13).find("1.4426950408889634") != std::string::npos);
}

TEST_CASE("export_ast: what has no counterpart is refused by op and reason") {
  Kernel vector(R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), arg=0, src=())
c1 = UOp.const(dtypes.float.vec(4), 1.0)
ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c1).sink()
)");
  CHECK(export_ast(vector.root, Release::v0_14).diag().message.find("is a vector") != std::string::npos);
  Kernel kernel(kKernel);
  CHECK_FALSE(export_ast(kernel.root, Release::v0_11));
}
