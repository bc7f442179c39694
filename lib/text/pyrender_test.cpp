#include "lib/text/pyrender.h"

#include <doctest/doctest.h>
#include <ctime>

#include "lib/records/read_graph.h"
#include "lib/records/round_trip.h"
#include "lib/records/testing.h"
#include "lib/support/settings.h"
#include "lib/text/graph_json.h"
#include "lib/text/repr.h"

using namespace tgc;

namespace {

std::string reread(std::string_view text) {
  Graph g;
  auto root = read_pyrender(g, text);
  if (!root) return "unreadable: " + root.diag().text();
  auto out = pyrender(*root);
  return out ? *out : "unwritable: " + out.diag().text();
}

std::string error_with(std::string_view text) {
  Graph g;
  return error_text_of(read_pyrender(g, text, "in.uop"));
}

}  // namespace

TEST_CASE("pyrender: every golden text survives a round trip") {
  size_t texts = 0;
  auto files = {"kernels",       "tensor",        "IMAGE-1",  "IMAGE-2",
                "DEVECTORIZE-0", "DEVECTORIZE-2", "TC_OPT-2", "TRANSCENDENTAL-2"};
  for_each_golden(files, [&](const GoldenRecord& record) {
    std::vector<std::string_view> all{record.ast};
    for (auto& s : record.stages)
      if (s.ir) all.push_back(*s.ir);
    for (auto& k : record.kernels) all.push_back(k.ast);
    for (auto text : all) {
      INFO(record.id);
      REQUIRE(reread(text) == text);
      texts++;
    }
  });
  CHECK(texts > 1500);
}

TEST_CASE("pyrender: nothing is lost on the way through JSON and repr") {
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  for (int n = 0; n < 40; n++) {
    auto record = reader->next_record();
    REQUIRE((record.ok() && *record));
    for (auto& s : (*record)->stages) {
      if (!s.ir) continue;
      Graph a, b, c;
      auto first = read_pyrender(a, *s.ir);
      REQUIRE(first.ok());
      auto second = graph_from_json(b, graph_to_json(*first));
      REQUIRE(second.ok());
      auto third = read_repr(c, repr(second->root));
      REQUIRE_MESSAGE(third.ok(), third.diag().text());
      REQUIRE(*pyrender(*third) == *s.ir);
      REQUIRE(graph_to_json(*third) == graph_to_json(*first));
    }
  }
}

TEST_CASE("pyrender: reads any layout and parenthesisation that Python accepts") {
  std::string canonical = "c0 = UOp.variable(\"a\", 0, 9)\nast = c0+UOp.variable(\"b\", 0, 9)*c0";
  CHECK(reread("a = UOp.variable('a', 0, 9)\nb = UOp.variable('b', 0, 9)\nast = a+b*a") == canonical);
  CHECK(
      reread(
          "a = (UOp.variable('a',0,\n   9))  # a comment\n\n\n"
          "b=UOp.variable(\"b\", 0, 9); ast = ((((a))) + (b) * (a))") ==
      canonical);
  CHECK(reread("a = UOp.variable('a', 0, 9)\nb = UOp.variable('b', 0, 9)\nast = \\\n  a+\\\n  (b*a)\nother = a") ==
        canonical);
  CHECK(
      reread(
          "a = UOp(op=Ops.DEFINE_VAR, dtype=dtypes.index, arg=('a', 0, 9))\n"
          "ast = a+UOp(Ops.DEFINE_VAR, dtypes.index, (), ('b', 0, 9),)*a") ==
      canonical);
}

TEST_CASE("pyrender: operators bind as in Python") {
  std::string head = "a = UOp.variable('a', 0, 9)\nb = UOp.variable('b', 0, 9)\n";
  auto same = [&](std::string x, std::string y) {
    CHECK_MESSAGE(reread(head + "ast = " + x) == reread(head + "ast = " + y), x);
  };
  same("a+b*a-b", "((a+(b*a))-b)");
  same("a<<b+a", "a<<(b+a)");
  same("a&b|a^b", "(a&b)|(a^b)");
  same("a<b+1", "a<(b+1)");
  same("a*b//a%b", "((a*b)//a)%b");
  same("-a*b", "(-a)*b");
  same("a>=b", "(a<b).logical_not()");
  same("a<=b", "(b<a).logical_not()");
  same("a>b", "b<a");
  same("a.eq(b)", "(a!=b).logical_not()");
  same("3*a", "UOp.const(dtypes.index, 3)*a");
  same("a**2", "a.pow(2)");
}

TEST_CASE("pyrender: reads literals and constants") {
  for (const char* text :
       {"ast = UOp.const(dtypes.float, -0.0)", "ast = UOp.const(dtypes.float, inf)",
        "ast = UOp.const(dtypes.float, nan)", "ast = UOp.const(dtypes.double, 1e-05)",
        "ast = UOp.const(dtypes.bool, True)", "ast = UOp.const(dtypes.index, Invalid)",
        "ast = UOp.const(dtypes.ulong, 18446744073709551615)",
        "ast = UOp.const(dtypes.index, -1267650600228229401496703205376)",
        "ast = UOp(Ops.VCONST, dtypes.int.vec(2), (), (1, -2))", "ast = UOp.const(dtypes.float, 1.0, device='CPU')",
        "ast = UOp.const(dtypes.float, 1.0, device=('CPU:0', 'CPU:1'))",
        "ast = UOp.unique_const(dtypes.float, 1.0, device='CPU', unique=7)"})
    CHECK(reread(text) == text);
  CHECK(reread("ast = UOp.const(dtypes.int, 0x10)") == "ast = UOp.const(dtypes.int, 16)");
  CHECK(reread("ast = UOp.const(dtypes.float, 1_000.5)") == "ast = UOp.const(dtypes.float, 1000.5)");
  CHECK(reread("ast = UOp.const(dtypes.int, 2**40-1)") == "ast = UOp.const(dtypes.int, 1099511627775)");
}

TEST_CASE("pyrender: reads tags, metadata, images, kernels in functions and several devices") {
  for (
      const char* text : {
          "ast = UOp.sink().rtag((1, 'a'))",
          "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.imagef((4, 16, 4)), (), 0)",
          "ast = UOp(Ops.DEFINE_LOCAL, dtypes.half.vec(4).ptr(64, AddrSpace.LOCAL), (), 'temp')",
          "def k0():\n  ast = UOp.sink()\n  return ast\n\n"
          "ast = UOp(Ops.KERNEL, src=(), arg=Kernel(k0(), (Metadata(name='relu', caller='f::3', backward=True),)))",
          "ast = UOp(Ops.BUFFERIZE, dtypes.float, (UOp.const(dtypes.float, 1.0),), BufferizeOpts(device=('CPU:0', "
          "'CPU:1'), addrspace=AddrSpace.LOCAL, removable=False))",
          "ast = UOp(Ops.CUSTOM_KERNEL, dtypes.void, (), CustomKernel(panic))",
          "c2 = UOp.new_buffer(('CPU:0', 'CPU:1'), 8, dtypes.float, 3)\nast = UOp(Ops.MULTI, dtypes.float, (c2,), 0)",
      })
    CHECK(reread(text) == text);
}

TEST_CASE("pyrender: with several devices, a constant is on the device of the nodes it is used with") {
  Graph g;
  auto root = read_pyrender(g, R"(
c2 = UOp(Ops.BUFFER, dtypes.int, (UOp(Ops.LUNIQUE, dtypes.void, (), 0), UOp(Ops.DEVICE, dtypes.void, (), 'PYTHON')), 3)
c4 = c2.copy_to_device('CPU')
c5 = UOp.const(dtypes.int, 1).reshape((1,)).expand((3,))
ast = ((c5+2)*c4).sink()
)");
  REQUIRE(root.ok());
  size_t constants = 0;
  for (UOp u : toposort(*root))
    if (u.is(Op::CONST) && u.dtype() == dtypes::int32 && u.num_src()) {
      CHECK(u.src(0).arg().text() == "CPU");
      constants++;
    }
  CHECK(constants == 2);
}

TEST_CASE("pyrender: a parenthesis in a name keeps the parentheses around it, as in tinygrad") {
  for (const char* text : {
           R"x(ast = ((UOp.variable("a)", 0, 9)+UOp.variable("b", 0, 9))+UOp.variable("c", 0, 9)))x",
           R"x(ast = (UOp.variable("c", 0, 9)+(UOp.variable("a)", 0, 9)+UOp.variable("b", 0, 9))))x",
           R"x(ast = ((UOp.variable("(a", 0, 9)+UOp.variable("b", 0, 9))*UOp.variable("c", 0, 9)))x",
       })
    CHECK(reread(text) == text);
  CHECK(reread("ast = UOp.variable(\"a()\", 0, 9)+UOp.variable(\"b\", 0, 9)") ==
        "ast = UOp.variable(\"a()\", 0, 9)+UOp.variable(\"b\", 0, 9)");
}

TEST_CASE("pyrender: a constant next to a bare number in a kernel needs no device") {
  CHECK(
      reread("b = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\nast = b.index(UOp.const(dtypes.index, 1)+1)") ==
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\n"
      "ast = c0.index((UOp.const(dtypes.index, 1)+UOp.const(dtypes.index, 1)))");
}

TEST_CASE("pyrender: omitted dtypes are inferred from the uses, or a warning is given") {
  const std::string head =
      "c2 = UOp(Ops.VECTORIZE, dtypes.float.vec(4), (UOp.const(dtypes.float, 1.0), UOp.const(dtypes.float, 2.0)))\n"
      "c4 = UOp.range(4, 0, AxisType.REDUCE)\nc5 = c2.reduce(c4, arg=Ops.ADD)\n";
  auto dtype_of_reduce = [&](const std::string& use, size_t warned) {
    Graph g;
    std::vector<std::string> warnings;
    UOp root = read_pyrender(g, head + use, {}, nullptr, &warnings).value_or_throw();
    CHECK(warnings.size() == warned);
    for (UOp u : toposort(root))
      if (u.is(Op::REDUCE)) return std::string(u.dtype().repr());
    return std::string();
  };
  CHECK(dtype_of_reduce("ast = c5*UOp.const(dtypes.float.vec(2), 3.0)", 0) == "dtypes.float.vec(2)");
  CHECK(dtype_of_reduce("ast = c5.exp2()+UOp.const(dtypes.float, 3.0)", 0) == "dtypes.float");
  CHECK(dtype_of_reduce("ast = c5.sqrt().cast(dtypes.half.vec(2))", 0) == "dtypes.float.vec(2)");
  CHECK(dtype_of_reduce(
            "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nast = c0.index(c4, ptr=True).store(c5)", 0) ==
        "dtypes.float");
  CHECK(dtype_of_reduce("ast = c5.sink()", 1) == "dtypes.float.vec(4)");
  CHECK(dtype_of_reduce("# c5: dtypes.float.vec(2)\nast = c5.sink()", 0) == "dtypes.float.vec(2)");
}

TEST_CASE("pyrender: errors have a position and what was expected") {
  CHECK(error_with("") == "in.uop:1:1: the input holds no graph, expected an assignment such as 'ast = c5.sink()'");
  CHECK(error_with("ast = UOp(Ops.ADDD, dtypes.int)") == "in.uop:1:15: unknown op 'ADDD', expected ADD, AND");
  CHECK(error_with("ast = UOp.const(dtypes.flaot, 1.0)")
        .starts_with("in.uop:1:24: unknown dtype 'flaot', expected float"));
  CHECK(error_with("ast = c1.sink()").starts_with("in.uop:1:7: unknown name 'c1'"));
  CHECK(error_with("a = UOp.sink()\nb = a.snik()")
        .starts_with("in.uop:2:7: a UOp has no method 'snik', expected sin, sink"));
  CHECK(error_with("a = (UOp.sink()")
        .starts_with("in.uop:1:16: found the end of the input, expected ')' for the '(' of line 1, column 5"));
  CHECK(error_with("a = UOp.sink() b").starts_with("in.uop:1:16: unexpected 'b', expected the end of the line"));
  CHECK(error_with("ast = UOp.sink()\nast = UOp.sink()").starts_with("in.uop:2:1: a second graph in one text"));
  CHECK(error_with("a = 3").starts_with("in.uop:1:5: found 3, expected a UOp"));
  CHECK(error_with("c1 = c2.sink()\nc2 = c1.sink()").starts_with("in.uop:1:6: unknown name 'c2'"));
  CHECK(error_with(std::string("a = UOp\0", 8)).starts_with("in.uop:1:8: found the byte 0x00"));
  CHECK(error_with("a = UOp.variable('\xFF', 0, 1)").starts_with("in.uop:1:19: a string that is not UTF-8"));
  CHECK(error_with("a = UOp.variable('\\\xFF', 0, 1)").starts_with("in.uop:1:20: a string that is not UTF-8"));
  CHECK(error_with("a = UOp.variable(b'\xC3\xA9', 0, 1)").starts_with("in.uop:1:19: bytes that are not ASCII"));
  CHECK(error_with("a = UOp.variable('x, 0, 1)").starts_with("in.uop:1:18: a string that does not end on its line"));
  CHECK(error_with("a = UOp.const(dtypes.int, " + std::string(6000, '9') + ")")
        .starts_with("in.uop:1:27: an integer of 6000 digits"));
  CHECK(error_with("a = " + std::string(10 << 20, '('))
        .starts_with("in.uop:1:262149: more than 262144 levels of nested brackets"));
  CHECK(error_with("a = UOp(Ops.STORE, dtypes.void, ())")
        .starts_with("in.uop:1:5: Ops.STORE with 0 sources, needs 2 or more"));
  CHECK(error_with("a = UOp.new_buffer('CPU', 8, dtypes.int, 0).reshape((3,))").find("bad reshape") !=
        std::string::npos);
  CHECK(error_with("a = -UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)").starts_with("in.uop:1:5: "));
  CHECK(error_with("def k0():\n  a = UOp.sink()\n")
        .starts_with("in.uop:3:1: the input ends in the function 'k0', expected 'return'"));
  CHECK(error_with("a = UOp.const(dtypes.int, 1).cast(dtypes.int.vec(4).vec(2))").find("can't vectorize") !=
        std::string::npos);
}

TEST_CASE("pyrender: reads and writes deep chains") {
  std::string text = "c0 = UOp.variable(\"x\", 0, 1)\n";
  std::string sum = "c0";
  for (int i = 0; i < 20000; i++) sum += "+c0";
  CHECK(reread(text + "ast = " + sum) == text + "ast = " + sum);
}

TEST_CASE("read_opts: reads lists of Opt") {
  Graph g;
  auto opts = read_opts(g, "[Opt(OptOps.UPCAST, 0, 4), Opt(op=OptOps.LOCAL, axis=1, arg=8)]");
  REQUIRE(opts.ok());
  CHECK(opts->size() == 2);
  CHECK((*opts)[1].repr() == "Opt(op=OptOps.LOCAL, axis=1, arg=8)");
  CHECK(read_opts(g, "()")->empty());
  CHECK(read_opts(g, "[3]", "--opts").diag().text().starts_with("--opts:1:2: found 3, expected Opt("));
  CHECK(!read_opts(g, "[Opt(OptOps.UPCAST, 0, 4)").ok());
  CHECK(read_opts(g, "[Opt(OptOps.UPCASTT, 0, 4)]").diag().text().find("expected an optimization: TC, UPCAST, ") !=
        std::string::npos);
}

TEST_CASE("pyrender: a graph in a tag or arg is written as a function") {
  Graph g;
  UOp x = g.variable("x", 0, 5), one = g.constant(dtypes::index, 1);
  UOp sum = x + one, held = sum * sum;  // `sum` is both sources of `held`
  UOp tags[] = {g.node(Op::NOOP, dtypes::void_, {}, {}, Arg(held)),
                g.node(Op::NOOP, dtypes::void_, {}, {}, g.tuple({Arg(held), g.tuple({Arg(x), Arg(3)}), g.str("a")})),
                g.node(Op::NOOP, dtypes::void_, {}, {}, Arg(g.node(Op::NOOP, dtypes::void_, {}, {}, Arg(held))))};
  UOp root = g.sink(tags);
  for (GraphFormat format : {GraphFormat::Pyrender, GraphFormat::Repr, GraphFormat::Json}) {
    Graph into;
    INFO(name_of(format));
    INFO(*write_graph(format, root));
    CHECK(error_text_of(round_trip_graph(format, root, {}, into)) == "none");
  }
}

TEST_CASE("pyrender: handles any depth in linear time") {
  auto seconds_of = [](int n, bool sums) {
    Graph g, into;
    UOp u = g.variable("x", 0, 5, dtypes::float32), x = u;
    DType f = dtypes::float32;
    for (int i = 0; i < n; i++) u = sums ? g.node(Op::ADD, f, {x, u}) : g.node(Op::SIN, f, u);
    auto begin = std::clock();
    auto text = write_graph(GraphFormat::Pyrender, u);
    REQUIRE(error_text_of(text) == "none");
    auto read = read_graph(into, InputKind::Pyrender, *text);
    REQUIRE(error_text_of(read) == "none");
    double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(toposort(read->root).size() == size_t(n) + 1);
    return seconds;
  };
  for (bool sums : {false, true}) {
    // Other processes can only slow a measurement down, so compare the shortest time of each size: 4 times as many
    // nodes take 4 times as long, or 16 times if the time is quadratic.
    double small = 1e9, large = 1e9;
    for (int i = 0; i < 10 && (i == 0 || large >= 8 * small); i++) {
      small = std::min(small, seconds_of(25000, sums));
      large = std::min(large, seconds_of(100000, sums));
    }
    INFO("25,000 nodes: " << small << " s, 100,000: " << large << " s");
    CHECK(large < 8 * small);
  }
}

TEST_CASE("repr: rejects a graph whose depth makes the text too long") {
  Graph g;
  UOp u = g.variable("x", 0, 5, dtypes::float32);
  for (int i = 0; i < 30000; i++) u = g.node(Op::SIN, dtypes::float32, u);
  auto text = write_graph(GraphFormat::Repr, u);
  REQUIRE(!text.ok());
  CHECK(text.diag().message.starts_with("more than 536870912 unpacked bytes"));
}

TEST_CASE("text: every reader limits the nesting of args") {
  auto nested = [](size_t n, const char* open, const char* close) {
    std::string text;
    for (size_t i = 0; i < n; i++) text += open;
    for (size_t i = 0; i < n; i++) text += close;
    return text;
  };
  for (size_t n : {900, 1100}) {
    std::string py = "ast = UOp(Ops.NOOP, dtypes.void, (), " + nested(n, "(", ",)") + ")";
    py.replace(py.find("(,)"), 3, "()");
    std::string json = R"({"format":"tgc-graph","version":1,"nodes":[{"op":"NOOP","dtype":"dtypes.void","arg":)" +
                       nested(n, "[", "]") + "}]}";
    Graph a, b;
    CHECK(read_graph(a, InputKind::Pyrender, py).ok() == (n < 1000));
    CHECK(read_graph(b, InputKind::Json, json).ok() == (n < 1000));
  }
}
