#include "lib/prove/approximations.h"

#include <doctest/doctest.h>

#include "lib/compilation/compilation.h"
#include "lib/prove/prove_kernel.h"
#include "lib/rewrite/rewrite.h"
#include "lib/support/deadline.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {
namespace {

struct ApproximatedFunction {
  Op op;
  UOp (*expand)(UOp);
};
const ApproximatedFunction kApproximated[] = {{Op::EXP2, xexp2}, {Op::LOG2, xlog2}, {Op::SIN, xsin}};

UOp element(Graph& g, DType d) {
  return g.node(Op::DEFINE_GLOBAL, d.ptr(16), {}, 1).index(g.constant(dtypes::index, 3));
}

// Multiplies the largest float constant between 0 and 1, except 0.5, by `factor`.
UOp with_changed_coefficient(UOp expansion, double factor) {
  UOp largest;
  auto number = [](UOp u) { return u.is(Op::CONST) && u.arg().is_float() ? u.arg().to_const().as_float() : 0; };
  for (UOp u : toposort(expansion)) {
    const double c = number(u);
    if (c > 0 && c < 1 && c != 0.5 && (!largest || c > number(largest))) largest = u;
  }
  return substitute(expansion, {{largest, largest.const_like(Const(number(largest) * factor))}});
}

TEST_CASE("error_of: approximations of 16-bit floats are measured for all operands") {
  for (auto [op, expand] : kApproximated) {
    CAPTURE(std::string(name_of(op)));
    Graph g;
    const UOp x = element(g, dtypes::float16), function = g.node(op, dtypes::float16, {x});
    const auto right = find_approximation(function, expand(x), x);
    REQUIRE(right);
    const ApproximationError error = measure_error(*right).value_or_throw();
    CHECK(error.max_ulp >= 0.5);
    CHECK(error.max_ulp < 100);
    const auto other = find_approximation(function, with_changed_coefficient(expand(x), 1.5), x);
    REQUIRE(other);
    CHECK(other->key != right->key);
    CHECK(measure_error(*other).value_or_throw().max_ulp > kMaxUlp);
  }
}

TEST_CASE("error_of: those of 32-bit floats are known, others need time") {
  const DeadlineScope limit(30);
  for (auto [op, expand] : kApproximated) {
    CAPTURE(std::string(name_of(op)));
    Graph g;
    const UOp x = element(g, dtypes::float32), function = g.node(op, dtypes::float32, {x});
    const auto other = find_approximation(function, with_changed_coefficient(expand(x), 1.0000001), x);
    REQUIRE(other);
    CHECK(!measure_error(*other));
    CHECK(!find_approximation(function, expand(x) * element(g, dtypes::float32).alu(Op::SQRT), x + x));
    CHECK(!find_approximation(function, expand(x * x), x + x));
    CHECK(!find_approximation(g.node(Op::SQRT, dtypes::float32, {x}), expand(x), x));
  }
}

std::unique_ptr<KernelProof> proof_of_value(const std::function<UOp(UOp)>& value) {
  InputGraph in;
  in.graph = std::make_shared<Graph>();
  Graph& g = *in.graph;
  const UOp i = g.range(Const(8), 0, AxisType::LOOP);
  const UOp out = value(g.node(Op::DEFINE_GLOBAL, dtypes::float16.ptr(8), {}, 1).index(i));
  in.root = g.sink({g.node(Op::DEFINE_GLOBAL, out.dtype().ptr(8), {}, 0).index_ptr(i).store(out).end({i})});
  auto c = Compilation::begin(std::move(in), {.target = "CPU:CLANG"});
  ProofCache cache;
  return prove_kernel(std::move(c.value_or_throw()), cache);
}

TEST_CASE("prove_kernel: approximations of functions are proven as wholes") {
  for (Op op : {Op::EXP2, Op::LOG2, Op::SIN}) {
    CAPTURE(std::string(name_of(op)));
    auto proof = proof_of_value([&](UOp x) { return x.graph().node(op, x.dtype(), {x * Const(2.5) + Const(1.5)}); });
    INFO(proof_text(*proof));
    CHECK(proof->verdict == RewriteProof::Kind::Proven);
    CHECK(proof->weakest_sense() >= FloatSense::Rounding);
    CHECK(proof->approximations.size() == 1);
  }
}

TEST_CASE("prove_kernel: a comparison of an approximation is not proven") {
  auto proof = proof_of_value([&](UOp x) {
    const UOp log = x.graph().node(Op::LOG2, x.dtype(), {x});
    return log.alu(Op::CMPLT, log.const_like(0.25)).where(x, x * x);
  });
  INFO(proof_text(*proof));
  CHECK(proof->verdict == RewriteProof::Kind::Sampled);
  CHECK(proof_text(*proof).find("CMPLT depends on it") != std::string::npos);
}

}  // namespace
}  // namespace tgc
