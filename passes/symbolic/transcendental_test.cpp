#include "passes/symbolic/transcendental.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Const value_of_node(UOp u, const UOpMap<Const>& known) {
  if (u.is_const()) return truncate(u.arg().to_const(), u.dtype());
  auto operand = [&](size_t i) { return *known.find(u.src(i)); };
  if (u.is(Op::CAST)) return truncate(dtypes::as_const(operand(0), u.dtype()), u.dtype());
  if (u.is(Op::BITCAST))
    return u.graph().constant(u.src(0).dtype(), operand(0)).bitcast(u.dtype()).simplify().arg().to_const();
  if (u.is(Op::WHERE)) return operand(0).truthy() ? operand(1) : operand(2);
  std::vector<Arg> operands;
  for (size_t i = 0; i < u.num_src(); i++) operands.push_back(operand(i));
  return exec_alu(u.graph(), u.op(), u.dtype(), operands).to_const();
}

// Evaluates an expression of constants, rounding each step to its dtype as a processor does.
double evaluate(UOp root) {
  UOpMap<Const> known(root.graph());
  for (UOp u : toposort(root)) {
    // evaluating a branch that a WHERE does not select may fail, for example by overflow; its value is then unused
    auto v = catch_failures([&] { return value_of_node(u, known); });
    known[u] = v ? *v : Const(kNan);
  }
  return known[root].to_double();
}

double at(UOp (*function)(UOp), DType dtype, double x) {
  Graph g;
  return evaluate(function(g.constant(dtype, x)));
}

bool near(double got, double wanted, double tolerance) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted)) return got == wanted;
  return std::fabs(got - wanted) <= tolerance * std::max(std::fabs(wanted), 1e-6);
}

const double kValues[] = {0.0,   0.5,   1.0,   1.5,  2.0,   3.25,  7.0,  10.0,  12.5,
                          100.0, 0.001, -0.25, -1.0, -3.75, -10.0, kInf, -kInf, kNan};

TEST_CASE("exp2 is accurate in every dtype and exact at overflow and underflow") {
  for (double x : kValues) {
    CAPTURE(x);
    CHECK(near(at(xexp2, dtypes::float64, x), std::exp2(x), 1e-15));
    CHECK(near(at(xexp2, dtypes::float32, x), std::exp2(x), 2e-7));
    if (std::fabs(x) <= 12.5 || std::isinf(x))
      CHECK(near(at(xexp2, dtypes::float16, truncate(x, dtypes::float16).as_float()),
                 std::exp2(truncate(x, dtypes::float16).as_float()), 2e-3));
  }
  CHECK(at(xexp2, dtypes::float32, 128) == kInf);
  CHECK(at(xexp2, dtypes::float32, 127) == std::exp2(127));
  CHECK(at(xexp2, dtypes::float32, -151) == 0);
  CHECK(at(xexp2, dtypes::float64, 1024) == kInf);
  CHECK(at(xexp2, dtypes::float64, 1023) == std::exp2(1023));
  CHECK(at(xexp2, dtypes::float64, -2001) == 0);
  CHECK(at(xexp2, dtypes::float16, 23) == kInf);
  CHECK(at(xexp2, dtypes::float16, -23) == 0);
}

TEST_CASE("log2 is accurate in every dtype, for denormals, and for zero and negative arguments") {
  for (double x : kValues) {
    CAPTURE(x);
    CHECK(near(at(xlog2, dtypes::float64, x), std::log2(x), 1e-14));
    CHECK(near(at(xlog2, dtypes::float32, x), std::log2(truncate(x, dtypes::float32).as_float()), 4e-7));
    CHECK(near(at(xlog2, dtypes::float16, truncate(x, dtypes::float16).as_float()),
               std::log2(truncate(x, dtypes::float16).as_float()), 4e-3));
  }
  CHECK(near(at(xlog2, dtypes::float32, 1e-40), std::log2(truncate(1e-40, dtypes::float32).as_float()), 1e-6));
  CHECK(near(at(xlog2, dtypes::float64, 1e-310), std::log2(1e-310), 1e-14));
  CHECK(near(at(xlog2, dtypes::float16, truncate(2e-6, dtypes::float16).as_float()),
             std::log2(truncate(2e-6, dtypes::float16).as_float()), 4e-3));
  CHECK(at(xlog2, dtypes::float32, -0.0) == -kInf);
}

TEST_CASE("sin is accurate for small and large arguments") {
  for (double x : kValues) {
    CAPTURE(x);
    CHECK(near(at(xsin, dtypes::float64, x), std::sin(x), 1e-13));
    CHECK(near(at(xsin, dtypes::float32, x), std::sin(truncate(x, dtypes::float32).as_float()), 2e-6));
  }
  // xsin uses Payne-Hanek reduction for arguments of magnitude 30 or more
  for (double x :
       {30.5, 31.0, 100.0, 1000.0, 12345.5, 39800.0, 1e5, 1e6 + 0.5, 16777216.0, 123456789.0, 1e10, -77.0, -1e6}) {
    CAPTURE(x);
    double f = truncate(x, dtypes::float32).as_float();
    CHECK(std::fabs(at(xsin, dtypes::float32, f) - std::sin(f)) < 2e-6);
    CHECK(std::fabs(at(xsin, dtypes::float64, x) - std::sin(x)) < 1e-6);  // the reduction is less exact than float64
  }
  for (double x : {0.5, 3.0, 10.0, 29.0, 31.0, 100.0, 1000.0, 40000.0}) {
    CAPTURE(x);
    double h = truncate(x, dtypes::float16).as_float();
    CHECK(std::fabs(at(xsin, dtypes::float16, h) - std::sin(h)) < 4e-3);
  }
}

TEST_CASE("vectors expand element by element") {
  Graph g;
  UOp x = g.node(Op::DEFINE_VAR, dtypes::float32.vec(4), {}, g.tuple({g.str("x"), 0, 1}));
  for (auto function : {xexp2, xlog2, xsin}) {
    UOp y = function(x);
    CHECK(y.dtype() == dtypes::float32.vec(4));
    for (UOp u : toposort(y)) CHECK(u.dtype().count() == 4);
  }
}

TEST_CASE("expansions throw Failure for dtypes other than float16, float32 and float64") {
  Graph g;
  for (DType d : {dtypes::bfloat16, dtypes::fp8e4m3, dtypes::int32, dtypes::bool_}) {
    UOp x = g.variable("x", 0, 1, d);
    CHECK_THROWS_WITH_AS(xexp2(x), ("no expansion of a transcendental function for " + std::string(d.repr())).c_str(),
                         Failure);
    CHECK_THROWS_AS(xlog2(x), Failure);
    CHECK_THROWS_AS(xsin(x), Failure);
  }
}

TEST_CASE("expansions have as many nodes as tinygrad's") {
  // expected numbers of nodes of f(x): a difference would change every kernel with an exp2, log2 or sin
  auto size = [](UOp (*function)(UOp), DType d) {
    Graph g;
    return toposort(function(g.variable("x", 0, 1, d))).size();
  };
  CHECK(size(xexp2, dtypes::float16) == 66);
  CHECK(size(xexp2, dtypes::float32) == 66);
  CHECK(size(xexp2, dtypes::float64) == 81);
  CHECK(size(xlog2, dtypes::float16) == 63);
  CHECK(size(xlog2, dtypes::float32) == 65);
  CHECK(size(xlog2, dtypes::float64) == 74);
  CHECK(size(xsin, dtypes::float16) == 213);
  CHECK(size(xsin, dtypes::float32) == 207);
  CHECK(size(xsin, dtypes::float64) == 246);
}

TEST_CASE("mantissa_and_exponent and exponent_of split a float") {
  Graph g;
  for (DType d : {dtypes::float16, dtypes::float32, dtypes::float64})
    for (double v : {1.0, 0.75, 6.0, 1000.0}) {
      auto [m, e] = mantissa_and_exponent(g.constant(d, v));
      CHECK(std::ldexp(evaluate(m), int(evaluate(e))) == v);
      CHECK(evaluate(m) >= 0.5);
      CHECK(evaluate(m) < 1.0);
      CHECK(evaluate(exponent_of(g.constant(d, v))) == std::floor(std::log2(v)));
    }
}

TEST_CASE("round_to_int rounds halves away from zero") {
  Graph g;
  for (auto [v, wanted] :
       std::initializer_list<std::pair<double, double>>{{0.5, 1}, {-0.5, -1}, {1.49, 1}, {-2.5, -3}, {0.0, 0}})
    CHECK(evaluate(round_to_int(g.constant(dtypes::float32, v))) == wanted);
}

}  // namespace
}  // namespace tgc
