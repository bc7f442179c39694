#include "lib/validate/perturb_rounding.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/runtime/ref/ref.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

// The result of an expression, and the number of ways of perturbing that change it. The expression may use the floats
// a = data1[0] and b = data2[0], and the ints i and j (a and b cast to int32).
struct Results {
  float plain;
  int jumps = 0;  // number of ways in which the result differs by more than a millionth
};

Results results(const std::string& expression, float a, float b) {
  Graph graph;
  std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), ";
  UOp root =
      read_pyrender(graph, "r = UOp.range(1, 0, AxisType.LOOP)\na = " + global + "1).index(r)\nb = " + global +
                    "2).index(r)\ni = a.cast(dtypes.int)\nj = b.cast(dtypes.int)\nast = " + global +
                    "0).index(r, ptr=True).store((" + expression + ").cast(dtypes.float)).end(r).sink()\n")
          .value_or_throw();
  auto run = [&](UOp graph_to_run) {
    float out = 0;
    RefBuffer buffers[] = {{0, &out, 4}, {1, &a, 4}, {2, &b, 4}};
    RefProgram program = std::move(RefProgram::make_from_graph(graph_to_run).value_or_throw());
    program.run(buffers).value_or_throw();
    return out;
  };
  Results out{.plain = run(root)};
  for (int way = 0; way < kNumPerturbations; way++) {
    float other = run(perturb_rounding(root, way));
    bool both_nan = std::isnan(other) && std::isnan(out.plain);
    out.jumps += !both_nan && other != out.plain && !(std::fabs(other - out.plain) <= 1e-6f * std::fabs(out.plain));
  }
  return out;
}

}  // namespace

TEST_CASE("perturb_rounding: results that are defined and do not jump do not change") {
  for (std::string e : {"a*b+a", "a.sqrt()", "(a<b)", "(a!=b)", "i//j", "i+j", "i<<j", "a.maximum(b)",
                        "((a*b)<UOp.const(dtypes.float, 5.0))", "(a*b).cast(dtypes.int)"}) {
    CAPTURE(e);
    CHECK(results(e, 2.5f, 3.f).jumps == 0);
  }
  CHECK(results("(a!=b)", 3.f, 3.f).jumps == 0);
}

TEST_CASE("perturb_rounding: a comparison of floats that are equal up to rounding jumps") {
  float third = 1.f / 3;
  for (float b : {third * 2.5f, std::nextafter(third * 2.5f, 1.f)}) {
    CHECK(results("((a*UOp.const(dtypes.float, 2.5))!=b)", third, b).jumps > 0);
    CHECK(results("(b<(a*UOp.const(dtypes.float, 2.5)))", third, b).jumps > 0);
  }
  CHECK(results("((a*UOp.const(dtypes.float, 2.5))!=b)", third, 0.84f).jumps == 0);
}

TEST_CASE("perturb_rounding: results that C leaves undefined change in every way") {
  CHECK(results("i//j", 7, 0).jumps == kNumPerturbations);
  CHECK(results("i<<j", 1, 32).jumps == kNumPerturbations);
  CHECK(results("UOp(Ops.POW, dtypes.int, (i, j))", 0, -1).jumps == kNumPerturbations);
  CHECK(results("UOp(Ops.POW, dtypes.int, (i, j))", -1, -3).jumps == 0);
  CHECK(results("a.cast(dtypes.int8)", 128, 0).jumps == kNumPerturbations);
  CHECK(results("a.cast(dtypes.int8)", 127.5f, 0).jumps == 0);
  CHECK(results("a.cast(dtypes.uint8)", -1, 0).jumps == kNumPerturbations);
  CHECK(results("a.cast(dtypes.half).cast(dtypes.int)", -INFINITY, 0).jumps == kNumPerturbations);
  CHECK(results("a.cast(dtypes.half).cast(dtypes.int)", -0.5, 0).jumps == 0);
  CHECK(results("i.cast(dtypes.int8)+j.cast(dtypes.int8)", 100, 100).jumps == kNumPerturbations);
  CHECK(results("i.cast(dtypes.int8)<<j.cast(dtypes.int8)", 16, 3).jumps == kNumPerturbations);
  CHECK(results("i.cast(dtypes.int8)<<j.cast(dtypes.int8)", -16, 3).jumps == 0);
  CHECK(results("i.cast(dtypes.uint8)<<j.cast(dtypes.uint8)", 16, 4).jumps == 0);
  CHECK(results("i<<j", 3, 30).jumps > 0);
  CHECK(results("i.cast(dtypes.uint8)+j.cast(dtypes.uint8)", 200, 100).jumps == 0);
  for (const char* bound : {"127", "-128", "100"}) {
    const std::string sum = "(i.cast(dtypes.int8)+j.cast(dtypes.int8))", b = std::string(bound) + ")";
    CHECK(results("(" + sum + "<UOp.const(dtypes.int8, " + b + ")", 100, 100).jumps +
          results("(UOp.const(dtypes.int8, " + b + "<" + sum + ")", 100, 100).jumps > 0);
  }
}

TEST_CASE("perturb_rounding: the bits of a computed NaN change, those of a loaded NaN do not") {
  const std::string bits = ".bitcast(dtypes.int)";
  CHECK(results("(a*UOp.const(dtypes.float, -1.0))" + bits, NAN, 0).jumps == kNumPerturbations);
  CHECK(results("(a<b).where(a, b)" + bits, 1, NAN).jumps == 0);
  CHECK(results("(b!=b).where(a*b, b)" + bits, 1, NAN).jumps == kNumPerturbations);
  CHECK(results("(a*UOp.const(dtypes.float, -1.0))" + bits, 3, 0).jumps == 0);
  CHECK(results("a" + bits, NAN, 0).jumps == 0);
}

TEST_CASE("perturb_rounding: a cast of a float near an integer jumps, and so does a small difference") {
  CHECK(results("(a*b).cast(dtypes.int)", 3.f, 1.f / 3).jumps > 0);
  CHECK(results("(a*b).cast(dtypes.int)", 3.f, 0.5f).jumps == 0);
  CHECK(results("UOp(Ops.TRUNC, dtypes.float, (a*b,))", 3.f, 1.f / 3).jumps > 0);
  CHECK(results("UOp(Ops.TRUNC, dtypes.float, (a*b,))", 3.f, 0.5f).jumps == 0);
  CHECK(results("UOp(Ops.TRUNC, dtypes.float, (a,))", 3.f, 0.f).jumps == 0);
  CHECK(results("(a*b+UOp.const(dtypes.float, -1.0))", 3.f, 1.0001f / 3).jumps > 0);
}

TEST_CASE("perturb_rounding: a maximum with a NaN is either operand") {
  int jumps = results("(a.sqrt()).maximum(b)", -1.f, 2.f).jumps;
  CHECK((jumps > 0 && jumps < kNumPerturbations));
  CHECK(results("a.sqrt().reduce(UOp.range(2, 1, AxisType.REDUCE), arg=Ops.MAX)", -1.f, 0.f).jumps > 0);
  // For a NaN and an infinity, a maximum may also return the operand that comes first.
  const std::string either = "UOp.range(2, 1, AxisType.REDUCE).ne(UOp.const(dtypes.index, 0)).where(a.sqrt(), b)";
  CHECK(results("(" + either + ").reduce(UOp.range(2, 1, AxisType.REDUCE), arg=Ops.MAX)", -1.f, INFINITY).jumps > 0);
  CHECK(results("(" + either + ").reduce(UOp.range(2, 1, AxisType.REDUCE), arg=Ops.MAX)", 1.f, INFINITY).jumps == 0);
}

TEST_CASE("perturb_rounding: subnormal numbers are perturbed by their last bit, and zero is not") {
  const std::string square = "(a.cast(dtypes.fp8e4m3)*a.cast(dtypes.fp8e4m3))";
  CHECK(results(square, 0.0703125f, 0.f).jumps > 0);
  CHECK(results(square, 0.f, 0.f).jumps == 0);
}

}  // namespace tgc
