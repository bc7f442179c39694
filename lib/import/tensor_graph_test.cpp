#include "lib/import/tensor_graph.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/import/affine.h"
#include "lib/records/read_graph.h"
#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

// A tensor graph of 0.14 with the buffers `x` and `y`, each of 6 floats.
struct Tensors {
  explicit Tensors(std::string_view lines, std::string_view sources) {
    std::string text = R"(x = UOp.new_buffer('CPU', 6, dtypes.float, 0)
y = UOp.new_buffer('CPU', 6, dtypes.float, 1)
s23 = UOp(Ops.STACK, dtypes.weakint, (UOp.const(2, dtypes.weakint), UOp.const(3, dtypes.weakint)))
)";
    text.append(lines).append("\nast = UOp(Ops.SINK, dtypes.void, (").append(sources).append(",))\n");
    GraphReadReport report;
    report.producer = "tinygrad 0.14.0";
    auto read = read_graph(graph, InputKind::Pyrender, text, "in.uop", &report);
    if (!read) FAIL(read.diag().text());
    root = read->root;
    auto made = import_tensor_graph(root, {.values_by_name = {{"n", 2}}});
    if (made) program = std::move(*made);
    else error = made.diag().message;
  }
  std::string kernel(size_t i) const {
    if (!error.empty()) FAIL(error);
    return pyrender(program.kernels.at(i).ast).value_or_throw();
  }

  Graph graph;
  UOp root;
  TensorProgram program;
  std::string error;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("tensor graph: the reciprocal of a whole number is no whole number") {
  Tensors t("part = UOp.const(32, dtypes.weakint).reciprocal()", "x*part");
  CHECK(t.error == "");
  CHECK(t.program.kernels.size() == 1);
}

TEST_CASE("tensor graph: a store makes a new array, and earlier values keep the old one") {
  Tensors t(R"(two = UOp.const(2.0, dtypes.weakfloat)
later = x.after(x.store(x*two)))", "later, x+y");
  REQUIRE(t.error == "");
  REQUIRE(t.program.kernels.size() == 2);
  const size_t later = t.program.outputs[0].memory_index;
  CHECK_FALSE(t.program.memories[later].buffer);  // not the array of x
  const UOp x = t.program.outputs[0].buffer;
  REQUIRE(x);
  const auto& memories = t.program.memories;
  const size_t before = size_t(std::ranges::find(memories, x, &TensorMemory::buffer) - memories.begin());
  REQUIRE(before < t.program.memories.size());
  for (const TensorKernel& kernel : t.program.kernels)  // each kernel uses x as it was before the store
    CHECK(std::ranges::count(kernel.memories, before) == 1);
}

TEST_CASE("tensor graph: a PAD is a condition on the index") {
  Tensors t("padded = UOp(Ops.PAD, dtypes.float, (x, UOp.const(2, dtypes.weakint), UOp.const(9, dtypes.weakint)))",
            "padded+y.index(UOp.const(0, dtypes.weakint))");
  const std::string kernel = t.kernel(0);
  CHECK(has(kernel, "Invalid"));  // the gate of the load
  CHECK(has(kernel, "UOp.range(9, "));
}

TEST_CASE("tensor graph: axes, sizes, offsets and counts that are out of range are errors") {
  const std::string weak = "dtypes.weakint";
  auto refused = [&](const std::string& lines, const std::string& value = "z+z") {
    Tensors t(lines, value);
    INFO(lines << "\n" << t.error);
    CHECK(t.error.starts_with("cannot import Ops."));
  };
  auto number = [&](const std::string& n) { return "UOp.const(" + n + ", " + weak + ")"; };
  refused("z = UOp(Ops.PERMUTE, dtypes.float, (x,), (-1,))");
  refused("z = UOp(Ops.PERMUTE, dtypes.float, (x,), (9223372036854775807,))");
  refused("z = UOp(Ops.PERMUTE, dtypes.float, (x,), (0, 0, 0))");
  refused("z = UOp(Ops.REDUCE, dtypes.float, (x,), (Ops.ADD, 1000000000))");
  refused("z = UOp(Ops.REDUCE, dtypes.float, (), (Ops.ADD, 1))");
  refused("z = UOp(Ops.RESHAPE, dtypes.float, (x, " + number("-6") + "))");
  refused("z = UOp(Ops.RESHAPE, dtypes.float, (x, " + number("0") + "))");
  refused("z = UOp(Ops.EXPAND, dtypes.float, (x, " + number("4611686018427387904") + "))");
  refused("z = UOp(Ops.EXPAND, dtypes.float, (UOp(Ops.EXPAND, dtypes.float, (x, " + number("1099511627776") + ")), " +
          number("1099511627776") + "))");
  refused("z = UOp(Ops.SHRINK, dtypes.float, (x,))");
  refused("z = UOp(Ops.SHRINK, dtypes.float, (x, UOp(Ops.STACK, dtypes.weakint, ()), " + number("3") + "))");
  refused("z = UOp(Ops.RESHAPE, dtypes.float, (x, UOp(Ops.FLOORDIV, dtypes.weakint, (" +
          number("-9223372036854775808") +
          ", " + number("-1") + "))))");
  refused("z = UOp(Ops.MSELECT, dtypes.float, (x,), -7)");
  refused("z = UOp(Ops.MULTI, dtypes.float, (x,), 9)");
  refused("z = UOp(Ops.STACK, dtypes.float, ())");
  refused("z = UOp(Ops.INDEX, dtypes.float, (x, " + number("0") + ", " + number("0") + "))");
  refused("z = UOp(Ops.RESHAPE, dtypes.float, (x, UOp(Ops.CONST, dtypes.weakint.vec(2), (), 70000)))");
  refused("z = x.after(UOp(Ops.STORE, dtypes.void, (x,)))");
}

TEST_CASE("tensor graph: sizes, indices and calls that double from node to node end at once") {
  std::string doubled = "n0 = UOp.const(1, dtypes.weakint)\n";
  for (int i = 0; i < 70; i++) {
    const std::string n = "n" + std::to_string(i);
    doubled += "n" + std::to_string(i + 1) + " = UOp(Ops.ADD, dtypes.weakint, (" + n + ", " + n + "))\n";
  }
  CHECK(Tensors(doubled + "z = UOp(Ops.EXPAND, dtypes.float, (x, n70))", "z+z").error != "");
  std::string kernels = "k0 = x\n";
  for (int i = 0; i < 11000; i++)
    kernels += "k" + std::to_string(i + 1) + " = k" + std::to_string(i) + ".contiguous()\n";
  CHECK(Tensors(kernels, "k11000").error.find("too many kernels") != std::string::npos);
}

TEST_CASE("tensor graph: a reduction of a reduction is stored, since the loops of each use multiply") {
  Tensors t(R"(ones = UOp(Ops.EXPAND, dtypes.float, (UOp.const(1.0, dtypes.float), s23))
rows = UOp(Ops.REDUCE, dtypes.float, (ones,), (Ops.ADD, 1))
all = UOp(Ops.REDUCE, dtypes.float, (rows,), (Ops.ADD, 1)))", "x+all");
  CHECK(t.error == "");
  CHECK(t.program.kernels.size() == 2);
}

TEST_CASE("tensor graph: variables have values") {
  Tensors t(R"(none = UOp(Ops.STACK, dtypes.void, ())
n = UOp(Ops.PARAM, dtypes.weakint, (none,), ParamArg(-1, vmin_vmax=(1, 6), name='n', addrspace=AddrSpace.ALU))
z = UOp(Ops.SHRINK, dtypes.float, (x, UOp.const(1, dtypes.weakint), n)))", "z+z");
  REQUIRE(t.error == "");
  CHECK(t.program.outputs[0].shape == std::vector<int64_t>{2});
}

TEST_CASE("tensor graph: an unknown op is refused by name") {
  Tensors t("z = UOp(Ops.CUSTOM, dtypes.float, (x,), 'f({0})')", "z+y");
  CHECK(has(t.error, "cannot import Ops."));
}

TEST_CASE("sides of a rewrite: the same places, and loops that a scheduler made") {
  Tensors t("a = x+y", "a");
  UOp x = t.root.src(0).src(0), sum = t.root.src(0);
  auto same = import_tensor_sides(sum, t.graph.node(Op::ADD, sum.dtype(), {sum.src(1), sum.src(0)}), {});
  REQUIRE(same);
  CHECK(same->have_same_shapes);
  CHECK(same->program.outputs.size() == 2);
  UOp range = t.graph.range(Const(6), 0, AxisType::LOOP);
  auto other = import_tensor_sides(x.alu(Op::MAX, x), t.graph.node(Op::INDEX, x.dtype(), {x, range}), {});
  REQUIRE(other);
  CHECK_FALSE(other->have_same_shapes);
  CHECK(other->loops.size() == 1);
  CHECK_FALSE(import_tensor_sides(x, sum.src(1), {}));  // both are buffers
}

TEST_CASE("values before and after loops: each has its place, and a wrong index differs") {
  Tensors t(R"(a = UOp(Ops.RESHAPE, dtypes.float, (x, s23))
b = UOp(Ops.PERMUTE, dtypes.float, (a,), (1, 0))
s32 = UOp(Ops.STACK, dtypes.weakint, (UOp.const(3, dtypes.weakint), UOp.const(2, dtypes.weakint)))
o = UOp(Ops.RESHAPE, dtypes.float, (y, s32))
later = y.after(o.store(b)))", "later");
  REQUIRE(t.error == "");
  UOp before = t.root.src(0), y = before.src(0), b = before.src(1).src(1);
  UOp x = b.src(0).src(0), i = t.graph.range(Const(3), 0, AxisType::LOOP);
  UOp j = t.graph.range(Const(2), 1, AxisType::LOOP);
  auto flat = [&](UOp outer, int64_t size, UOp inner) {
    return outer.alu(Op::MUL, t.graph.constant(dtypes::index, size)).alu(Op::ADD, inner);
  };
  UOp target = t.graph.node(Op::INDEX, y.dtype(), {y, flat(i, 2, j)});
  UOp value = t.graph.node(Op::INDEX, x.dtype(), {x, flat(j, 3, i)});
  UOp end = t.graph.node(Op::END, dtypes::void_, {t.graph.node(Op::STORE, dtypes::void_, {target, value}), i, j});
  UOp after = t.graph.sink({t.graph.node(Op::AFTER, y.dtype(), {y, end})});
  auto pairs = import_tensor_pairs(t.root, after, {}, {});
  if (!pairs) FAIL(pairs.diag().text());
  REQUIRE(pairs->culprits.size() == 2);
  CHECK(pairs->culprits[0] == before.src(1).src(0));  // the target of the store
  CHECK(pairs->culprits[1] == b.src(0));              // the RESHAPE, which uses x
  REQUIRE(pairs->program.kernels.size() == 4);
  for (size_t i : {0, 2})
    CHECK(pyrender(pairs->program.kernels[i].ast).value_or_throw() ==
          pyrender(pairs->program.kernels[i + 1].ast).value_or_throw());
}

TEST_CASE("linear functions of indices") {
  using namespace tgc::import;
  Graph graph;
  AffineMath math(graph);
  const AffineExpr i = math.index(graph.range(Const(4), 0, AxisType::LOOP), 0, 3);
  const AffineExpr j = math.index(graph.range(Const(5), 1, AxisType::LOOP), 0, 4);
  const AffineExpr flat = AffineMath::sum(AffineMath::scale_affine(i, 5), j);
  CHECK(math.make_node(math.quotient(flat, 5)) == math.make_node(i));
  CHECK(math.make_node(math.remainder(flat, 5)) == math.make_node(j));
  CHECK(math.make_node(math.quotient(flat, 7)).is(Op::IDIV));
  CHECK(math.make_node(math.remainder(AffineMath::scale_affine(flat, 6), 5)) == math.make_node(j));  // 6 * j % 5 is j
  CHECK_FALSE(math.between_condition(j, 0, 5));
  CHECK(math.between_condition(AffineMath::add_number(j, -1), 0, 5));
  CHECK(AffineMath::sum(i, AffineMath::scale_affine(i, -1)).is_number());
}

TEST_CASE("tensor graph: a store through a bitcast changes the buffer, and reads after it see the new content") {
  Tensors t(R"(bits = UOp(Ops.BITCAST, dtypes.uint, (x,), dtypes.uint)
part = bits.after(bits.store(UOp(Ops.BITCAST, dtypes.uint, (y,), dtypes.uint)))
later = x.after(part))", "later, later*y");
  REQUIRE(t.error == "");
  CHECK(t.program.outputs[0].buffer);
  CHECK(t.program.outputs[0].memory_index != t.program.outputs[1].memory_index);
  bool stores_as_uint = false;
  for (const TensorMemory& m : t.program.memories) stores_as_uint |= m.view_of && m.dtype == dtypes::uint32;
  CHECK(stores_as_uint);
}

TEST_CASE("tensor graph: an effect below movement ops is an effect, and is applied once") {
  Tensors t(R"(later = x.after(x.store(x*UOp.const(2.0, dtypes.weakfloat)))
view = UOp(Ops.RESHAPE, dtypes.float, (later, s23))
again = x.after(view))", "later, again");
  REQUIRE(t.error == "");
  CHECK(t.program.outputs[0].memory_index == t.program.outputs[1].memory_index);
  CHECK(has(t.kernel(t.program.kernels.size() - 1), "*"));
}

TEST_CASE("tensor graph: a buffer without elements has no kernels") {
  Tensors t(R"(zero = UOp(Ops.STACK, dtypes.weakint, (UOp.const(0, dtypes.weakint),))
none = UOp(Ops.SHRINK, dtypes.float, (x, zero, zero))
s20 = UOp(Ops.STACK, dtypes.weakint, (UOp.const(2, dtypes.weakint), UOp.const(0, dtypes.weakint)))
moved = UOp(Ops.RESHAPE, dtypes.float, (none, s20)))",
            "moved*UOp.const(2.0, dtypes.weakfloat)");
  CHECK(t.error == "");
}

TEST_CASE("tensor graph: a store to another buffer than that of its AFTER is performed") {
  Tensors t(R"(first = y.after(y.store(UOp.const(0.0, dtypes.weakfloat)))
later = x.after(first.store(x*UOp.const(2.0, dtypes.weakfloat))))", "first, later");
  REQUIRE(t.error == "");
  auto last = std::ranges::find_if(t.program.outputs, [&](auto& o) { return o.buffer == t.root.src(0).src(0); });
  REQUIRE(last != t.program.outputs.end());
  CHECK(has(t.kernel(t.program.kernels.size() - 1), "*"));
  CHECK(std::ranges::count(t.program.kernels.back().memories, last->memory_index) == 1);
}

TEST_CASE("tensor graph: a store to a STAGE of a buffer changes the buffer") {
  Tensors t(R"(i = UOp.range(UOp.const(6, dtypes.weakint), 0, AxisType.LOOP)
j = UOp.range(UOp.const(6, dtypes.weakint), 1, AxisType.LOOP)
stage = UOp(Ops.STAGE, dtypes.float, (x.index(i), i))
later = x.after(stage.index(j).store(y.index(j)).end(j)))", "later");
  REQUIRE(t.error == "");
  REQUIRE(t.program.outputs.size() == 1);
  const TensorOutput& o = t.program.outputs[0];
  CHECK(o.buffer == t.root.src(0).src(0));
  CHECK_FALSE(t.program.memories[o.memory_index].buffer);  // not the array of x before the store
}

TEST_CASE("tensor graph: an argument of a kernel that is a value is stored before the call") {
  Tensors t(R"(none = UOp(Ops.STACK, dtypes.weakint, ())
a = UOp(Ops.PARAM, dtypes.float, (UOp.const(6, dtypes.weakint),), ParamArg(0, dtypes.float, device='CPU'))
b = UOp(Ops.PARAM, dtypes.float, (UOp.const(6, dtypes.weakint),), ParamArg(1, dtypes.float, device='CPU'))
i = UOp.range(UOp.const(6, dtypes.weakint), 0, AxisType.LOOP)
kernel = UOp(Ops.SINK, dtypes.void, (a.index(i).store(b.index(i)).end(i),), KernelInfo(name='k'))
later = x.after(UOp(Ops.CALL, dtypes.void, (kernel, x, UOp(Ops.FLIP, dtypes.float, (y,), (True,))))))", "later");
  INFO(t.error);
  CHECK(t.error == "");
  CHECK(t.program.kernels.size() >= 2);
}
