#include "lib/import/import.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "lib/import/import_sides.h"
#include "lib/import/upgrade.h"
#include "lib/records/read_graph.h"
#include "lib/text/pyrender.h"
#include "lib/uop/release.h"

using namespace tgc;

namespace {

std::string text_of(UOp u) { return pyrender(u).value_or_throw(); }

// i = RANGE(8), x = a PARAM of 64 floats, n = a PARAM of 64 ints, out = the target of the store
constexpr std::string_view kNames = R"(i = UOp.range(8, 0, AxisType.WEAK)
out = UOp(Ops.PARAM, dtypes.float, (UOp.const(64, dtypes.weakint),), ParamArg(0, dtypes.float, device='CPU'))
x = UOp(Ops.PARAM, dtypes.float, (UOp.const(64, dtypes.weakint),), ParamArg(1, dtypes.float, device='CPU'))
n = UOp(Ops.PARAM, dtypes.int, (UOp.const(64, dtypes.weakint),), ParamArg(2, dtypes.int, device='CPU'))
)";

struct Import {
  explicit Import(std::string_view stored) {
    std::string text(kNames);
    text.append("v = ").append(stored).append("\nast = out.index(i).store(v).end(i).sink()\n");
    read(text);
  }
  Import(std::string_view lines, std::string_view sink) {
    read(std::string(kNames).append(lines).append("\nast = ").append(sink).append("\n"));
  }
  Import(InputKind kind, const std::string& producer, const std::string& nodes) {
    read(R"({"format":"tgc-graph","version":1,"producer":")" + producer + R"(","nodes":[)" + nodes + "]}", kind,
         producer);
  }
  void read(const std::string& text, InputKind kind = InputKind::Pyrender,
            const std::string& producer = "tinygrad 0.14.0") {
    GraphReadReport report;
    report.producer = producer;
    auto read = read_graph(original, kind, text, "in.uop", &report);
    if (!read) FAIL(read.diag().text());
    root = read->root;
    auto made = import_graph(root, {}, {}, &why);
    if (made) imported = std::move(*made);
    else error = made.diag().message;
    static std::vector<std::shared_ptr<Graph>> kept;  // nodes of a temporary Import stay valid
    kept.push_back(imported.graph);
  }
  UOp stored() const {
    if (!error.empty()) FAIL(error);
    for (UOp u : toposort(imported.root))
      if (u.is(Op::STORE)) return u.src(1);
    return {};
  }

  Graph original;
  UOp root;
  ImportedGraph imported;
  NonImportableNode why;
  std::string error;
};

std::string of_0_12(std::string_view text) {
  Graph graph;
  return text_of(read_graph(graph, InputKind::Pyrender, text).value_or_throw().root);
}

}  // namespace

TEST_CASE("import: a kernel's memory, loops and sink") {
  Import k("x.index(i)");
  REQUIRE(k.error == "");
  CHECK(text_of(k.imported.root) == of_0_12("c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 0)\n"
                                            "c1 = UOp.range(8, 0, AxisType.LOOP)\n"
                                            "c3 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 1)\n"
                                            "c6 = c0.index(c1, ptr=True).store(c3.index(c1)).end(c1)\n"
                                            "ast = c6.sink()"));
  UOp store = k.imported.root.src(0).src(0);
  CHECK(k.imported.origins->original_of_node(store).is(Op::STORE));
  CHECK(&k.imported.origins->original_of_node(store).graph() == &k.original);
}

TEST_CASE("import: weak numbers take the dtype of their neighbors") {
  CHECK(Import("x.index(i)*UOp.const(2.5, dtypes.weakfloat)").stored().src(1).arg() == Arg(2.5));
  UOp two = Import("x.index(i)*UOp.const(2, dtypes.weakint)").stored().src(1);
  CHECK(two.dtype() == dtypes::float32);
  CHECK(Arg::is_identical(two.arg(), Arg(2.0)));
  UOp range = Import("x.index(i)+i").stored().src(1);
  CHECK(range.is(Op::CAST));
  CHECK(range.src(0).is(Op::RANGE));
  UOp n = Import("(n.index(i)+UOp.const(-1, dtypes.weakint)).cast(dtypes.float)").stored();
  CHECK(n.src(0).src(1).dtype() == dtypes::int32);
  // a constant is rounded to its dtype; 0.1 of float is not 0.1 of double
  CHECK(Import("x.index(i)+UOp.const(0.1, dtypes.weakfloat)").stored().src(1).arg() == Arg(double(0.1f)));
  CHECK(Import("UOp.const(3, dtypes.weakint)").stored().dtype() == dtypes::float32);
  CHECK(Import("(i<UOp.const(3, dtypes.weakint)).cast(dtypes.float)").stored().src(0).src(0).dtype() == dtypes::index);
}

TEST_CASE("import: a weakfloat expression is computed in double for a double") {
  std::string weak = "(i.cast(dtypes.weakfloat)*UOp.const(0.1, dtypes.weakfloat))";
  CHECK(Import(weak).stored().dtype() == dtypes::float32);
  UOp wide = Import("(" + weak + "+x.index(i).cast(dtypes.double)).cast(dtypes.float)").stored();
  CHECK(wide.src(0).src(0).is(Op::MUL));
  CHECK(wide.src(0).src(0).dtype() == dtypes::float64);
  CHECK(wide.src(0).src(0).src(1).arg() == Arg(0.1));
}

TEST_CASE("import: -0.0 stays negative") {
  UOp zero = Import("x.index(i)*UOp.const(-0.0, dtypes.weakfloat)+UOp.const(0.0, dtypes.weakfloat)").stored();
  CHECK(zero.src(0).src(1).is(Op::BITCAST));
  CHECK(zero.src(1).is_const());
}

TEST_CASE("import: division rounds down") {
  CHECK(Import("x.index(i//UOp.const(3, dtypes.weakint))").stored().src(1).is(Op::IDIV));
  CHECK(Import("x.index(i%UOp.const(3, dtypes.weakint))").stored().src(1).is(Op::MOD));
  // (i - 5) // 3 = (i + 1) / 3 - 2
  UOp shifted = Import("x.index((i+UOp.const(-5, dtypes.weakint))//UOp.const(3, dtypes.weakint))").stored().src(1);
  CHECK(shifted.is(Op::ADD));
  CHECK(shifted.src(0).is(Op::IDIV));
  CHECK(shifted.src(0).src(0).vmin().as_int() == Int(int64_t(1)));
  CHECK(shifted.vmin().as_int() == Int(int64_t(-2)));
  // loaded ints may have either sign, so the division is corrected
  UOp loaded = Import("(n.index(i)//UOp.const(3, dtypes.weakint)).cast(dtypes.float)").stored().src(0);
  CHECK(loaded.is(Op::ADD));
  CHECK(loaded.src(1).is(Op::WHERE));
  UOp left = Import("(n.index(i)%UOp.const(3, dtypes.weakint)).cast(dtypes.float)").stored().src(0);
  CHECK(left.src(0).is(Op::MOD));
  CHECK(Import("(n.index(i)//UOp.const(4, dtypes.weakint)).cast(dtypes.float)").stored().src(0).is(Op::SHR));
  CHECK(Import("(n.index(i)%UOp.const(4, dtypes.weakint)).cast(dtypes.float)").stored().src(0).is(Op::AND));
  // CDIV and CMOD round to 0; in tgc's pipeline, MOD by a power of 2 does not
  UOp remainder = Import("n.index(i).alu(Ops.CMOD, UOp.const(4, dtypes.weakint)).cast(dtypes.float)").stored().src(0);
  CHECK(remainder.is(Op::ADD));
  CHECK(Import("n.index(i).alu(Ops.CDIV, n.index(i)).cast(dtypes.float)").stored().src(0).is(Op::IDIV));
  CHECK(Import("n.index(i).alu(Ops.CMOD, n.index(i)).cast(dtypes.float)").stored().src(0).is(Op::MOD));
}

TEST_CASE("import: Invalid") {
  const std::string gated = "(i<UOp.const(3, dtypes.weakint)).alu(Ops.WHERE, (i+UOp.const(1, dtypes.weakint)), "
                            "UOp.const(Invalid, dtypes.bool))";
  UOp load = Import("x.index(" + gated + ")").stored();
  CHECK(load.src(1).is(Op::WHERE));
  CHECK(load.src(1).src(2).is_invalid());
  // an Invalid number makes the store conditional; arithmetic keeps it Invalid
  Import store("x.index(i)*(i<UOp.const(3, dtypes.weakint)).alu(Ops.WHERE, x.index(i), "
               "UOp.const(Invalid, dtypes.bool))");
  for (UOp u : toposort(store.imported.root))
    if (u.is(Op::STORE)) CHECK(u.src(0).src(1).get_valid().is(Op::CMPLT));
  // WHERE(False, x, i): the condition of x, which is never chosen, is kept beside the constant condition
  UOp kept = Import("x.index(UOp.const(False, dtypes.bool).alu(Ops.WHERE, " + gated + ", i))").stored();
  CHECK(std::ranges::any_of(toposort(kept), [](UOp u) { return u.is(Op::CMPLT); }));
  // a load at an index that is always Invalid is 0, and a store does nothing
  CHECK(Import("x.index(UOp.const(Invalid, dtypes.bool))").stored().arg() == Arg(0.0));
  Import none("s = x.index(UOp.const(Invalid, dtypes.bool)).store(x.index(i))", "s.end(i).sink()");
  REQUIRE(none.error == "");
  CHECK(none.imported.root.src(0).src(0).is(Op::NOOP));
}

TEST_CASE("import: variables and the DEVICE axis") {
  Import k("p = UOp(Ops.PARAM, dtypes.weakint, (UOp(Ops.STACK, dtypes.void, ()),), ParamArg(-1, dtypes.weakint, "
           "vmin_vmax=(1, 8), multiple_of=1, name='p', addrspace=AddrSpace.ALU))\n"
           "d = UOp.range(2, -1, AxisType.DEVICE)",
           "out.index(i).store(x.index((i+p+d))).end(i, d).sink()");
  REQUIRE(k.error == "");
  std::set<std::string> names;
  for (UOp u : toposort(k.imported.root))
    if (u.is(Op::DEFINE_VAR)) names.insert(u.arg().repr());
  CHECK(names == std::set<std::string>{"('_device_num', 0, 1)", "('p', 1, 8)"});
  CHECK(k.imported.root.src(0).num_src() == 2);
}

TEST_CASE("import: reductions") {
  UOp plain = Import("x.index(i).reduce(i, arg=(Ops.MAX, 0))").stored();
  CHECK(plain.is(Op::REDUCE));
  CHECK(plain.arg().is(Op::MAX));
  UOp across = Import("UOp(Ops.REDUCE, dtypes.float, (UOp(Ops.STACK, dtypes.float, (x.index(i), x.index(UOp.const(3, "
                      "dtypes.weakint)))), i), (Ops.ADD, 1))")
                   .stored();
  CHECK(across.is(Op::REDUCE));
  CHECK(across.src(0).is(Op::ADD));
  // the expander has replaced a range by its values, 0 and 1
  UOp expanded = Import("UOp(Ops.REDUCE, dtypes.float, (UOp(Ops.STACK, dtypes.float, (x.index(i), x.index(UOp.const(3, "
                        "dtypes.weakint)))), i, UOp(Ops.STACK, dtypes.weakint, (UOp.const(0, dtypes.weakint), "
                        "UOp.const(1, dtypes.weakint)))), (Ops.ADD, 0))")
                     .stored();
  REQUIRE(expanded.is(Op::REDUCE));
  CHECK(expanded.num_src() == 2);
  CHECK(expanded.src(0).is(Op::ADD));
}

TEST_CASE("SidesImporter: a constant may replace a vector, but no vector a constant") {
  Import k("v = UOp(Ops.STACK, dtypes.float, (UOp.const(2.0, dtypes.float), x.index(i)))",
           "out.index(i).store(v).end(i).sink()");
  UOp vector, number;
  for (UOp u : toposort(k.root)) {
    if (u.is(Op::STACK)) vector = u;
    if (u.is(Op::CONST) && dtypes::is_float(u.dtype())) number = u;
  }
  SidesImporter sides({});
  CHECK(sides.import(vector, number).value_or_throw().pairs.size() == 2);
  CHECK(sides.import(number, vector).value_or_throw().pairs.empty());
}

TEST_CASE("SidesImporter: a store to a loaded place, as tinygrad 0.13 makes it, stores to this place") {
  Import k("x.index(i)");
  UOp store;
  for (UOp u : toposort(k.root))
    if (u.is(Op::STORE)) store = u;
  Graph& g = store.graph();
  auto store_to = [&](UOp place) {
    std::vector<UOp> src(store.src().begin(), store.src().end());
    src[0] = place;
    return store.with_src(src);
  };
  const UOp place = store.src(0), place_src[] = {place};
  const UOp loaded = store_to(g.node(Op::LOAD, place.dtype(), place_src));
  SidesImporter sides({});
  auto pairs = sides.import(loaded, store).value_or_throw().pairs;
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].first == pairs[0].second);
  pairs = sides.import(loaded, store_to(store.src(1))).value_or_throw().pairs;  // to x[i] instead of out[i]
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].first != pairs[0].second);
  CHECK_THROWS_AS((void)sides.import(store, loaded).value_or_throw(), Failure);  // only `before` may store to a LOAD
}

TEST_CASE("SidesImporter: values of different shapes are not the same, although they have the same elements") {
  const std::string eight = "UOp.const(8, dtypes.weakint)";
  Import k("r = UOp(Ops.RESHAPE, dtypes.float, (x, UOp(Ops.STACK, dtypes.weakint, (" + eight + ", " + eight + "))))",
           "out.index(i).store(r.index(i, i)).end(i).sink()");
  UOp reshaped, buffer;
  for (UOp u : toposort(k.root))
    if (u.is(Op::RESHAPE)) reshaped = u, buffer = u.src(0);
  SidesImporter sides({});
  CHECK(sides.import(reshaped, buffer).value_or_throw().pairs.empty());
  CHECK(sides.import(reshaped, reshaped).value_or_throw().pairs.size() == 64);
}

TEST_CASE("import: buffers with several axes") {
  const std::string shape =
      "s = UOp(Ops.STACK, dtypes.weakint, (UOp.const(8, dtypes.weakint), UOp.const(8, dtypes.weakint)))\n"
      "r = UOp(Ops.RESHAPE, dtypes.float, (x, s))\nj = UOp.range(8, 1, AxisType.WEAK)\n";
  auto index = [&](const std::string& value) {
    Import k(shape, "out.index(i).store(" + value + ").end(i, j).sink()");
    return text_of(k.stored().src(1));
  };
  CHECK(index("r.index(i, j)") == of_0_12("c1 = UOp.range(8, 0, AxisType.LOOP)\nc2 = UOp.range(8, 1, AxisType.LOOP)\n"
                                          "ast = c1*UOp.const(dtypes.index, 8)+c2"));
  CHECK(index("UOp(Ops.PERMUTE, dtypes.float, (r,), (1, 0)).index(j, i)") == index("r.index(i, j)"));
}

TEST_CASE("import: an index into a part of a buffer may be a loop or a variable") {
  const std::string eight = "UOp.const(8, dtypes.weakint)";
  const std::string sizes = "UOp(Ops.STACK, dtypes.weakint, (" + eight + ", " + eight + "))";
  Import row("UOp(Ops.RESHAPE, dtypes.float, (x, " + sizes + ")).index(UOp.const(2, dtypes.weakint)).index(i)");
  UOp place = row.stored().src(1);  // the index into x: 16 if i is 0, 17 if i is 1, ...
  CHECK(py_equal(place.vmin(), 16));
  CHECK(py_equal(place.vmax(), 23));
  Import part("UOp(Ops.SHRINK, dtypes.float, (x, UOp.const(3, dtypes.weakint), UOp.const(4, dtypes.weakint)))"
              ".index(i)");
  CHECK(py_equal(part.stored().src(1).vmin(), 3));
}

TEST_CASE("import: WGSL's words of several small numbers") {
  const std::string names =
      "b = UOp(Ops.PARAM, dtypes.uchar, (UOp.const(6, dtypes.weakint),), ParamArg(3, dtypes.uchar, device='CPU'))\n"
      "w = b.index((i.cast(dtypes.int)>>UOp.const(2, dtypes.int)))\nword = UOp(Ops.LOAD, dtypes.uint, (w,))\n";
  Import load(names, "out.index(i).store(word.cast(dtypes.float)).end(i).sink()");
  REQUIRE(load.error == "");
  auto accesses = [](const Import& k, Op op) {
    return std::ranges::count_if(toposort(k.imported.root), [&](UOp u) { return u.is(op); });
  };
  CHECK(accesses(load, Op::LOAD) == 4);
  for (UOp u : toposort(load.imported.root))
    if (u.is(Op::LOAD)) CHECK(u.dtype() == dtypes::uint8);
  // no byte is loaded to be stored again: another thread may store it
  Import store(names, "w.store(((word&UOp.const(4294967040, dtypes.uint))|UOp.const(7, dtypes.uint))).end(i).sink()");
  REQUIRE(store.error == "");
  CHECK(accesses(store, Op::LOAD) == 0);
  CHECK(accesses(store, Op::STORE) == 4);
}

TEST_CASE("import: a power of ints is computed in float32") {
  UOp power = Import("UOp(Ops.POW, dtypes.int, (n.index(i), n.index(i))).cast(dtypes.float)").stored().src(0);
  CHECK(power.is(Op::CAST));
  CHECK(power.src(0).is(Op::POW));
  CHECK(power.src(0).dtype() == dtypes::float32);
}

TEST_CASE("import: vectors of 0.13") {
  const std::string graph = R"j({"op":"PARAM","dtype":"dtypes.float.ptr(8)","arg":0},
{"op":"CONST","dtype":"dtypes.int","arg":4},
{"op":"INDEX","dtype":"dtypes.float.ptr(8)","src":[0,1]},
{"op":"CAST","dtype":"dtypes.float.vec(4).ptr(8)","src":[2]},
{"op":"LOAD","dtype":"dtypes.float.vec(4)","src":[3]},
{"op":"CONST","dtype":"dtypes.float.vec(4)","arg":2.0},
{"op":"MUL","dtype":"dtypes.float.vec(4)","src":[4,5]},
)j";
  auto loads = [](const Import& k) {
    std::set<int64_t> out;
    for (UOp u : toposort(k.imported.root))
      if (u.is(Op::LOAD)) out.insert(u.src(0).src(1).vmax().as_int().small_value());
    return out;
  };
  Import vector(InputKind::Json, "tinygrad 0.13.0", graph + R"j({"op":"STORE","dtype":"dtypes.void","src":[3,6]},
{"op":"SINK","dtype":"dtypes.void","src":[7]})j");
  REQUIRE(vector.error == "");
  CHECK(loads(vector) == std::set<int64_t>{4, 5, 6, 7});
  Import element(InputKind::Json, "tinygrad 0.13.0", graph +
                 R"j({"op":"GEP","dtype":"dtypes.float","src":[6],"arg":[2]},
{"op":"STORE","dtype":"dtypes.void","src":[2,7]},{"op":"SINK","dtype":"dtypes.void","src":[8]})j");
  REQUIRE(element.error == "");
  CHECK(element.stored().src(0).src(0).src(1).vmax().as_int().small_value() == 6);
  Import sum(InputKind::Json, "tinygrad 0.13.0", graph +
                               R"j({"op":"REDUCE","dtype":"dtypes.float","src":[6],"arg":[{"value":"Ops.ADD"},[]]},
{"op":"STORE","dtype":"dtypes.void","src":[2,7]},{"op":"SINK","dtype":"dtypes.void","src":[8]})j");
  REQUIRE(sum.error == "");
  CHECK(loads(sum).size() == 4);
  CHECK(sum.stored().is(Op::ADD));
}

TEST_CASE("import: an AST of 0.11, whose VIEWs become ranges and indices") {
  auto view = [](const std::string& dtype, int source, const std::string& shape, const std::string& strides,
                 const std::string& mask) {
    return R"j({"op":"VIEW","dtype":"dtypes.float.ptr()j" + dtype + R"j()","src":[)j" + std::to_string(source) +
           R"j(],"arg":{"ShapeTracker":{"views":[{"View":{"shape":)j" + shape + R"j(,"strides":)j" + strides +
           R"j(,"offset":0,"mask":)j" + mask + R"j(,"contiguous":false}}]}}},)j";
  };
  auto kernel = [&](const std::string& value_view) {
    return R"j({"op":"DEFINE_GLOBAL","dtype":"dtypes.float.ptr(4)","arg":0},)j" +
           view("4", 0, "[4,1]", "[1,0]", "null") +
           R"j({"op":"DEFINE_GLOBAL","dtype":"dtypes.float.ptr(8)","arg":1},)j" + value_view +
           R"j({"op":"LOAD","dtype":"dtypes.float","src":[3]},
{"op":"REDUCE_AXIS","dtype":"dtypes.float","src":[4],"arg":[{"value":"Ops.ADD"},[1]]},
{"op":"STORE","dtype":"dtypes.void","src":[1,5]},{"op":"SINK","dtype":"dtypes.void","src":[6]})j";
  };
  Import k(InputKind::Json, "tinygrad 0.11.0", kernel(view("8", 2, "[4,3]", "[2,1]", "[[1,4],[0,3]]")));
  REQUIRE(k.error == "");
  CHECK(text_of(k.imported.root) ==
        of_0_12("c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\nc1 = UOp.range(4, 0, AxisType.LOOP)\n"
                "c2 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 1)\nc3 = UOp.range(3, 1, AxisType.REDUCE)\n"
                "c4 = (c1<UOp.const(dtypes.index, 1))!=UOp.const(dtypes.bool, True)\n"
                "c5 = c1*UOp.const(dtypes.index, 2)+c3\n"
                "c6 = c2.index(c4.where(c5, UOp.const(dtypes.index, Invalid))).reduce(c3, arg=Ops.ADD)\n"
                "ast = c0.index(c1, ptr=True).store(c6).end(c1).sink()"));
  Import variable(InputKind::Json, "tinygrad 0.11.0", kernel(view("8", 2, "[4,3]", "[\"n\",1]", "null")));
  CHECK(variable.error == "cannot import Ops.LOAD: its shape depends on a variable");
}

TEST_CASE("import: a PARAM that is a pointer and has a ParamArg") {
  Import k(InputKind::Json, "tinygrad 0.13.0.post",
           R"j({"op":"PARAM","dtype":"dtypes.float.ptr(4)","arg":{"ParamArg":{"*":[2]}}},
{"op":"CONST","dtype":"dtypes.weakint","arg":0},{"op":"INDEX","dtype":"dtypes.float","src":[0,1]},
{"op":"CONST","dtype":"dtypes.float","arg":1.0},{"op":"STORE","dtype":"dtypes.void","src":[2,3]},
{"op":"SINK","dtype":"dtypes.void","src":[4]})j");
  REQUIRE(k.error == "");
  UOp buffer = k.imported.root.src(0).src(0).src(0);
  CHECK(buffer.dtype() == dtypes::float32.ptr(4));
  CHECK(buffer.arg() == Arg(2));
}

TEST_CASE("import: a compiled program is its list, in which stores with one condition keep their IFs") {
  Import k(InputKind::Json, "tinygrad 0.14.0", R"j({"op":"CONST","dtype":"dtypes.int","arg":8},
{"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"slot":0,"dtype":{"value":"dtypes.float"}}}},
{"op":"SPECIAL","dtype":"dtypes.int","src":[0],"arg":"gidx0"},{"op":"CONST","dtype":"dtypes.int","arg":3},
{"op":"CMPLT","dtype":"dtypes.bool","src":[2,3]},{"op":"CONST","dtype":"dtypes.float","arg":1.0},
{"op":"INDEX","dtype":"dtypes.float","src":[1,2]},{"op":"IF","dtype":"dtypes.void","src":[4,6]},
{"op":"STORE","dtype":"dtypes.void","src":[6,5]},{"op":"ENDIF","dtype":"dtypes.void","src":[7]},
{"op":"INDEX","dtype":"dtypes.float","src":[1,3]},{"op":"IF","dtype":"dtypes.void","src":[4,10]},
{"op":"STORE","dtype":"dtypes.void","src":[10,5]},{"op":"ENDIF","dtype":"dtypes.void","src":[11]},
{"op":"SINK","dtype":"dtypes.void","src":[8,12]},
{"op":"LINEAR","dtype":"dtypes.void","src":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]},
{"op":"PROGRAM","dtype":"dtypes.void","src":[14,15]})j");
  REQUIRE(k.error == "");
  CHECK(std::ranges::count_if(k.imported.list, [](UOp u) { return u.is(Op::IF); }) == 2);
  CHECK(std::ranges::count_if(k.imported.list, [](UOp u) { return u.is(Op::ENDIF); }) == 2);
}

TEST_CASE("import: what has no counterpart is an error") {
  Import call("c = UOp(Ops.CALL, dtypes.void, (x,), None)", "UOp(Ops.SINK, dtypes.void, (c,))");
  CHECK(call.error == "cannot import Ops.CALL: it calls a function");
  CHECK(call.why.node.is(Op::CALL));
  Import unknown("c = UOp(Ops.BRAND_NEW, dtypes.float, (x,), None)", "UOp(Ops.SINK, dtypes.void, (c,))");
  CHECK(unknown.error.starts_with("cannot import Ops.BRAND_NEW: tgc does not know Ops.BRAND_NEW; --upgrades=FILE"));
  Import loop("c = UOp(Ops.RANGE, dtypes.void, (), (1, AxisType.WEAK))", "UOp(Ops.SINK, dtypes.void, (c,))");
  CHECK(loop.error == "cannot import Ops.RANGE: it is a loop without a bound");
  Import dtype("c = x.index(i).cast(dtypes.fp8e4m3fnuz)", "out.index(i).store(c).end(i).sink()");
  CHECK(dtype.error == "cannot import Ops.CAST: tgc has no dtypes.fp8e4m3fnuz");
  Import pointer("p = UOp(Ops.PARAM, dtypes.weakint.ptr(4), (), 7)",
                 "out.index(i).store(p.index(i).cast(dtypes.float)).end(i).sink()");
  for (UOp u : toposort(pointer.imported.root)) CHECK(u.dtype().scalar_kind() != Scalar::Other);
}

TEST_CASE("import: the table of upgrades") {
  std::set<std::string_view> names;
  for (const import::OpUpgrade& row : import::all_op_upgrades()) {
    INFO(std::string(row.name));
    CHECK(names.insert(row.name).second);
    CHECK((row.make != nullptr) == row.refusal_reason.empty());
    CHECK(row.first_op_release <= row.last_release);
    bool used = false;
    row.ops.for_each([&](Op op) {
      for (Release r : known_releases())
        used |= row.first_op_release <= r && r <= row.last_release && has_op(r, op);
    });
    CHECK(used);
  }
}
