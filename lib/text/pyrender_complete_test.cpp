#include <doctest/doctest.h>

#include "lib/records/round_trip.h"
#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

std::string complete(std::string_view text) {
  Graph g;
  auto root = read_pyrender(g, text);
  if (!root) return "unreadable: " + root.diag().text();
  auto out = write_graph(GraphFormat::Pyrender, *root);
  return out ? *out : "unwritable: " + out.diag().text();
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    if (text[std::min(text.find_first_not_of(' ', at), text.size() - 1)] != '#')
      out += std::string(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

// Checks that the graph of `text` is written as `text` again, and that pyrender prints `text` without its comments.
void comes_back(const std::string& text) {
  CHECK(complete(text) == text);
  Graph g, h;
  auto root = read_pyrender(g, text);
  REQUIRE_MESSAGE(root.ok(), root.diag().text());
  CHECK(*pyrender(*root) + "\n" == without_comments(text));
  for (GraphFormat format : {GraphFormat::Pyrender, GraphFormat::Repr, GraphFormat::Json}) {
    Graph back;
    auto again = round_trip_graph(format, *root, {}, back);
    CHECK_MESSAGE(again.ok(), again.diag().text());
  }
}

}  // namespace

TEST_CASE("complete pyrender: the lost dtype of a REDUCE or LOAD is stated below its line") {
  comes_back(R"(# tgc: {}
c2 = UOp(Ops.VECTORIZE, dtypes.float.vec(4), (UOp.const(dtypes.float, 1.0), UOp.const(dtypes.float, 2.0)))
c4 = UOp.range(4, 0, AxisType.REDUCE)
c5 = c2.reduce(c4, arg=Ops.ADD)
# c5: dtypes.float.vec(2)
ast = c5.sink(c2)
)");
  comes_back(R"(# tgc: {}
c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)
c1 = UOp(Ops.VECTORIZE, dtypes.float.ptr(8).vec(2), (c0, c0))
ast = c1.index(UOp.const(dtypes.int.vec(2), 1), ptr=True).load()
# ast: dtypes.float.vec(2)
)");
}

TEST_CASE("complete pyrender: a line with an unnamed lossy node is repeated as UOp(...)") {
  comes_back(R"(# tgc: {}
c2 = UOp(Ops.VECTORIZE, dtypes.float.vec(4), (UOp.const(dtypes.float, 1.0), UOp.const(dtypes.float, 2.0)))
c4 = UOp.range(4, 0, AxisType.REDUCE)
ast = c2.reduce(c4, arg=Ops.ADD)*UOp.const(dtypes.float.vec(2), 3.0)
# ast = UOp(Ops.MUL, dtypes.float.vec(2), (UOp(Ops.REDUCE, dtypes.float.vec(2), (c2, c4), Ops.ADD), UOp.const(dtypes.float.vec(2), 3.0)))
)");
}

TEST_CASE("complete pyrender: constants keep the sources that pyrender drops") {
  comes_back(R"(# tgc: {}
c2 = UOp.new_buffer('CPU', 4, dtypes.float, 1)
c5 = c2+UOp.const(dtypes.float, 2.0)
# c5 = UOp(Ops.ADD, dtypes.float, (c2, UOp(Ops.CONST, dtypes.float, (UOp(Ops.DEVICE, dtypes.void, (), 'CPU'), UOp(Ops.LUNIQUE, dtypes.void, (), 0)), 2.0)))
ast = c5.sink(c2)
)");
}

TEST_CASE("complete pyrender: sources, dtypes, args and tags that a form leaves out are restored") {
  const std::string head =
      "# tgc: {}\nb = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nx = UOp.variable('x', 0, 9)\n"
      "y = UOp.variable('y', 0, 9, dtype=dtypes.int)\n";
  for (
      const char* ast : {
          "UOp(Ops.CONST, dtypes.index, (x,), 3)",
          "x+UOp(Ops.CONST, dtypes.index, (UOp(Ops.DEVICE, dtypes.void, (), 'CPU').rtag(1),), 3)",
          "UOp(Ops.CONST, dtypes.float, (UOp(Ops.DEVICE, dtypes.void, (), 'CPU'), UOp(Ops.UNIQUE, dtypes.void, (), "
          "3).rtag(2)), 1.0)",
          "UOp(Ops.RANGE, dtypes.index, (UOp.const(dtypes.int, 8),), (0, AxisType.LOOP))",
          "UOp(Ops.RANGE, dtypes.index, (UOp.const(dtypes.index, 8).rtag(1),), (0, AxisType.LOOP))",
          "UOp(Ops.SPECIAL, dtypes.int, (UOp.const(dtypes.index, 8),), 'gidx0')",
          "UOp(Ops.END, dtypes.void, (b.index(x, ptr=True).store(UOp.const(dtypes.float, 1.0)),))",
          "UOp(Ops.INDEX, dtypes.float, (b, x, x, x))",
          "UOp(Ops.INDEX, dtypes.float, (b, x), 'arg')",
          "UOp(Ops.INDEX, dtypes.int, (b,))",
          "UOp(Ops.CAST, dtypes.float, (x,), 'arg')",
          "UOp(Ops.BITCAST, dtypes.int, (y,))",
          "UOp(Ops.STORE, dtypes.float, (b.index(x, ptr=True), UOp.const(dtypes.float, 1.0)))",
          "UOp(Ops.ADD, dtypes.int, (x, x))",
          "UOp(Ops.CMPLT, dtypes.index, (x, x))",
          "UOp(Ops.CMPLT, dtypes.bool, (x, UOp(Ops.CMPLT, dtypes.bool, (x, y))))",
          "UOp(Ops.SQRT, dtypes.float, (x,))",
          "UOp(Ops.WHERE, dtypes.float, (x<x, x, x))",
          "UOp(Ops.AFTER, dtypes.float, (b, x))",
          "UOp(Ops.BARRIER, dtypes.int, ())",
          "UOp(Ops.UNIQUE, dtypes.int, (), 3)",
          "UOp(Ops.CONTIGUOUS, dtypes.int, (x,))",
          "UOp(Ops.COPY, dtypes.int, (UOp.new_buffer('CPU', 4, dtypes.float, 1), UOp(Ops.DEVICE, dtypes.void, (), "
          "'CL')), 'arg')",
          "UOp(Ops.BUFFER, dtypes.float, (UOp(Ops.UNIQUE, dtypes.void, (), 3), UOp(Ops.DEVICE, dtypes.void, (), "
          "'CPU').rtag(1)), 4)",
          "UOp(Ops.REDUCE_AXIS, dtypes.int, (UOp.new_buffer('CPU', 4, dtypes.float, 1),), (Ops.ADD, (0,)))",
          "UOp(Ops.RESHAPE, dtypes.float, (UOp.new_buffer('CPU', 4, dtypes.float, 1), UOp(Ops.VECTORIZE, "
          "dtypes.index.vec(2), "
          "(UOp.const(dtypes.index, 2), UOp.const(dtypes.index, 2)))))",
          "UOp(Ops.RESHAPE, dtypes.int, (UOp.new_buffer('CPU', 4, dtypes.float, 1), UOp(Ops.VCONST, "
          "dtypes.index.vec(2), (), (4, 1))))",
          "UOp(Ops.DEFINE_GLOBAL, dtypes.imagef((4, 16, 4), 128), (), 0)",
          "UOp(Ops.CAST, dtypes.imagef((4, 16, 4), 128), (x,))",
          "UOp(Ops.KERNEL, dtypes.int, (), Kernel(UOp.sink(), ()))",
          "UOp(Ops.CUSTOM, dtypes.void, (x,), '(a').rtag('b)')",
          "UOp(Ops.NOOP, dtypes.void, ()).rtag('(1, 2)')",
          "UOp(Ops.NOOP, dtypes.void, ()).rtag('None')",
          "UOp(Ops.NOOP, dtypes.void, ()).rtag((1, 'a'))",
          "UOp(Ops.NOOP, dtypes.void, ()).rtag('a, src=(')",
      }) {
    CAPTURE(ast);
    Graph g;
    auto root = read_pyrender(g, head + "a = " + ast + "\nast = a.sink(a, x)");
    REQUIRE_MESSAGE(root.ok(), root.diag().text());
    for (GraphFormat format : {GraphFormat::Pyrender, GraphFormat::Repr, GraphFormat::Json}) {
      CAPTURE(name_of(format));
      Graph back;
      auto again = round_trip_graph(format, *root, {}, back);
      CHECK_MESSAGE(again.ok(), again.diag().text());
    }
  }
}

TEST_CASE("complete pyrender: a text that would be read as another graph gets a header") {
  Graph g;
  auto root = read_pyrender(
      g, "# tgc: {}\nast = UOp.const(dtypes.int, 1).assign(UOp.new_buffer('CPU', 1, dtypes.int, 1)).sink()");
  REQUIRE(root.ok());
  CHECK(pyrender_complete(*root)->is_header_needed);
  CHECK(write_graph(GraphFormat::Pyrender, *root)->starts_with("# tgc: {}\n"));
  CHECK(*write_graph(GraphFormat::Pyrender, *read_pyrender(g, "ast = UOp.sink()")) == "ast = UOp.sink()\n");
}

TEST_CASE("complete pyrender: writes a graph whose shapes do not fit") {
  Graph g, back;
  UOp buffer = read_pyrender(g, "ast = UOp.new_buffer('CPU', 4, dtypes.float, 1)").value_or_throw();
  UOp root = g.sink(g.node(Op::RESHAPE, dtypes::float32, {buffer, g.constant(dtypes::index, 3)}));
  CHECK(!pyrender(root));
  auto again = round_trip_graph(GraphFormat::Pyrender, root, {}, back);
  CHECK_MESSAGE(again.ok(), again.diag().text());
}

TEST_CASE("complete pyrender: other comments are ignored") {
  for (const char* text : {"c0 = UOp.variable(\"x\", 0, 9)\n# c0: the loop\nast = c0.sink()",
                           "c0 = UOp.variable(\"x\", 0, 9)\n# c0 = c1+1\nast = c0.sink()",
                           "c0 = UOp.variable(\"x\", 0, 9)\n# c1: dtypes.int\n\n# c0: dtypes.int\nast = c0.sink()"}) {
    Graph g;
    auto root = read_pyrender(g, text);
    REQUIRE(root.ok());
    CHECK(root->src(0).dtype() == dtypes::index);
  }
  Graph g;
  auto wrong = read_pyrender(g, "c0 = UOp.variable(\"x\", 0, 9)\n# c0: dtypes.itn\nast = c0.sink()", "in.uop");
  REQUIRE(!wrong);
  CHECK(wrong.diag().text().starts_with("in.uop:2:14: unknown dtype 'itn'"));
}

TEST_CASE("complete pyrender: kernels nest, as in a kernel that holds a schedule") {
  comes_back(R"(# tgc: {}
def k0():
  def k0():
    c2 = UOp(Ops.VECTORIZE, dtypes.float.vec(4), (UOp.const(dtypes.float, 1.0), UOp.const(dtypes.float, 2.0)))
    c4 = UOp.range(4, 0, AxisType.REDUCE)
    c5 = c2.reduce(c4, arg=Ops.ADD)
    # c5: dtypes.float.vec(2)
    ast = c5.sink(c2)
    return ast
  
  c0 = UOp(Ops.KERNEL, src=(), arg=Kernel(k0(), ()))
  ast = c0.sink()
  return ast

def k1():
  ast = UOp.sink()
  return ast

c0 = UOp(Ops.KERNEL, src=(), arg=Kernel(k0(), ()))
c1 = UOp(Ops.KERNEL, src=(c0,), arg=Kernel(k1(), ()))
ast = c0.sink(c1)
)");
}
