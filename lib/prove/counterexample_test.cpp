#include "lib/prove/counterexample.h"

#include <doctest/doctest.h>

#include <functional>

#include "lib/prove/obligation.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

using Make = std::function<std::pair<UOp, UOp>(Graph&)>;
using Point = std::map<std::string, std::string>;

UOp load(Graph& g, DType d, int64_t number = 1) {
  return g.node(Op::DEFINE_GLOBAL, d.ptr(64), {}, number).index_ptr(g.constant(dtypes::index, 0)).load();
}

Point find(const Make& make, bool is_special = false, uint64_t rlimit = 300'000) {
  Graph g;
  auto [before, after] = make(g);
  SideIsolator isolator(g, {{1, 64}, {2, 64}});
  SideExpressions e = isolator.expressions_of({before, after});
  REQUIRE(e.compared_values.size() == 1);
  auto found = is_special ? find_special_float_witness(isolator.isolator(), e.compared_values[0])
                          : find_counterexample(isolator.isolator(), e.compared_values[0], rlimit);
  return found ? found->point : Point();
}

TEST_CASE("counterexample: the smallest numbers come first") {
  auto sum = [](Graph& g) {
    UOp x = load(g, dtypes::int32), y = load(g, dtypes::int32, 2);
    return std::pair(x - y, y - x);
  };
  CHECK(find(sum) == Point{{"data1", "0"}, {"data2", "1"}, {"before", "-1"}, {"after", "1"}});
  auto remainder = [](Graph& g) {
    UOp n = g.variable("n", -8, 99);
    return std::pair(n % Const(8), n & Const(7));
  };
  CHECK(find(remainder) == Point{{"n", "-1"}, {"before", "-1"}, {"after", "7"}});
}

TEST_CASE("counterexample: none where the left side is undefined or an index overflows") {
  CHECK(find([](Graph& g) {
    UOp x = load(g, dtypes::int32);
    return std::pair(x / x, x.const_like(Const(1)));
  }).empty());
  CHECK(find([](Graph& g) {
    UOp x = load(g, dtypes::int32), y = load(g, dtypes::int32, 2);
    return std::pair(y.ne(Const(0)).where(x / y, Const(7)), y.ne(Const(0)).where(x / y, Const(7)) + Const(0));
  }).empty());
  CHECK(find([](Graph& g) {
    UOp x = g.variable("x", -Int::pow2(40), Int::pow2(40)), y = g.variable("y", -Int::pow2(40), Int::pow2(40));
    return std::pair((x * y).lt(x * y + Const(1)), x.lt(x + Const(1)));
  }).empty());
}

TEST_CASE("counterexample: a comparison that rounding turns is not proven over the reals") {
  Graph g;
  UOp n = g.variable("n", 0, 3);
  UOp sum = (n + Const(int64_t(16777216))).cast(dtypes::float32), less = sum.lt(Const(16777220.0));
  SideIsolator isolator(g, {});
  SideExpressions e = isolator.expressions_of({less, g.constant(dtypes::bool_, Const(true))});
  REQUIRE(e.compared_values.size() == 1);
  ProofCache cache;
  CHECK(Prover(isolator.isolator(), cache).prove_values(e.compared_values[0]).kind != ProofOutcome::Kind::Proven);
  CHECK(find_counterexample(isolator.isolator(), e.compared_values[0])->point ==
        Point{{"n", "3"}, {"before", "0"}, {"after", "1"}});
}

TEST_CASE("counterexample: sums over a memory") {
  auto products = [](Graph& g) {
    UOp r = g.range(Const(int64_t(8)), 0, AxisType::REDUCE);
    UOp a = g.node(Op::DEFINE_GLOBAL, dtypes::uint8.ptr(64), {}, 1).index_ptr(r).load(), b = load(g, dtypes::uint8, 2);
    return std::pair((a * b).reduce(r, Op::MAX), a.reduce(r, Op::MAX) * b);
  };
  Point found = find(products);
  CHECK(found.contains("data1"));
  CHECK(found["before"] != found["after"]);
  auto sums = [](Graph& g) {
    UOp r = g.range(Const(int64_t(8)), 0, AxisType::REDUCE);
    UOp a = g.node(Op::DEFINE_GLOBAL, dtypes::uint8.ptr(64), {}, 1).index_ptr(r).load(), b = load(g, dtypes::uint8, 2);
    return std::pair((a * b).reduce(r, Op::ADD), a.reduce(r, Op::ADD) * b);
  };
  CHECK(find(sums).empty());
}

TEST_CASE("counterexample: Z3 finds a value that no sample has") {
  auto rare = [](Graph& g) {
    UOp x = load(g, dtypes::uint32);
    UOp differs = (x * Const(int64_t(2654435761))).ne(Const(int64_t(12345)));
    return std::pair(differs, g.constant(dtypes::bool_, Const(true)));
  };
  CHECK(find(rare, false, 0).empty());
  Point found = find(rare);
  REQUIRE(found.contains("data1"));
  CHECK(uint32_t(std::stoull(found["data1"]) * 2654435761u) == 12345);
}

TEST_CASE("counterexample: special values of floats") {
  auto plus_zero = [](Graph& g) {
    UOp x = load(g, dtypes::float32);
    return std::pair(x + Const(0.0), x);
  };
  CHECK(find(plus_zero).empty());
  CHECK(find(plus_zero, true) == Point{{"data1", "-0.0"}, {"before", "0.0"}, {"after", "-0.0"}});
  auto times_zero = [](Graph& g) {
    UOp x = load(g, dtypes::float16);
    return std::pair(x * Const(0.0), x.const_like(Const(0.0)));
  };
  CHECK(find(times_zero).empty());
  CHECK_FALSE(find(times_zero, true).empty());
  auto not_equal = [](Graph& g) {
    UOp x = load(g, dtypes::float32);
    return std::pair(x.ne(x), g.constant(dtypes::bool_, Const(false)));
  };
  CHECK(find(not_equal).empty());
  CHECK(find(not_equal, true) == Point{{"data1", "nan"}, {"before", "1"}, {"after", "0"}});
  CHECK(find([](Graph& g) {
    UOp x = load(g, dtypes::float32);
    return std::pair(x * Const(0.1) * Const(0.1), x * Const(0.01));
  }).empty());
}

TEST_CASE("counterexample: an error that the right side of the rule has not") {
  Graph g;
  UOp x = load(g, dtypes::float64), half = x.cast(dtypes::float16);
  auto find_error = [&](UOp before, UOp after, UOp right) {
    SideIsolator isolator(g, {{1, 64}});
    SideExpressions wrong = isolator.expressions_of({before, after}), good = isolator.expressions_of({before, right});
    REQUIRE(wrong.compared_values.size() == 1);
    auto found = find_larger_error(isolator.isolator(), wrong.compared_values[0],
                                   right == before ? nullptr : good.compared_values.data());
    return found ? found->point : Point();
  };
  // a double that is slightly more than half a unit of float16 above 1 becomes 1.0 if it is rounded to float32 first
  CHECK(find_error(half, x.cast(dtypes::float32).cast(dtypes::float16), half).at("after") == "1.0");
  CHECK(find_error(half, (x + Const(0.0)).cast(dtypes::float16), half).at("data1") == "-0.0");
  UOp third = x * Const(1.0 / 3), other = x * x.const_like(Const(3.0)).reciprocal();
  CHECK_FALSE(find_error(third, x * Const(0.3336), other).empty());
  CHECK(find_error(third, x * Const(0.1) * Const(10.0 / 3), other).empty());
}

}  // namespace
}  // namespace tgc
