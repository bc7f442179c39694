#include "lib/prove/prove_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/prove/contracts.h"
#include "lib/records/round_trip.h"
#include "lib/rewrite/fault.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

std::unique_ptr<KernelProof> proof_of(std::optional<FaultSpec> fault = {}) {
  set_fault_of_thread(std::move(fault));
  InputGraph in;
  in.graph = std::make_shared<Graph>();
  Graph& g = *in.graph;
  UOp i = g.range(Const(4), 0, AxisType::LOOP), j = g.range(Const(8), 1, AxisType::LOOP);
  auto data = [&](int64_t n) { return g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(32), {}, n); };
  UOp at = i * Const(8) + j;
  UOp a = data(1).index(at);
  in.root = g.sink({data(0).index_ptr(at).store(a + a * Const(2)).end({i, j})});
  auto c = Compilation::begin(std::move(in), {.target = "CPU:CLANG"});
  ProofCache cache;
  auto out = prove_kernel(std::move(c.value_or_throw()), cache);
  set_fault_of_thread({});
  return out;
}

TEST_CASE("prove_kernel: a right compilation is proven, one with a fault is refuted") {
  auto good = proof_of();
  INFO(proof_text(*good));
  CHECK(good->verdict == RewriteProof::Kind::Proven);
  CHECK(good->rewrites.size() > 10);
  auto bad = proof_of(FaultSpec{.rule = "add-scaled-self"});
  INFO(proof_text(*bad));
  CHECK(bad->verdict == RewriteProof::Kind::Refuted);
  CHECK(bad->num_with_verdict(RewriteProof::Kind::Refuted) >= 1);
  auto shifted = proof_of(FaultSpec{.rule = "substitute"});
  INFO(proof_text(*shifted));
  auto merge = std::ranges::find(shifted->rewrites, "merge-adjacent-ranges", [](auto& r) { return r.place.rule; });
  REQUIRE(merge != shifted->rewrites.end());
  CHECK(merge->kind == RewriteProof::Kind::Refuted);
  CHECK(merge->counterexample["stored"].find("out of bounds: load from data1[32]") != std::string::npos);
}

TEST_CASE("has_same_iterations: only maps that are one to one") {
  Graph g;
  UOp old = g.range(Const(12), 0, AxisType::LOOP), a = g.range(Const(3), 1, AxisType::LOOP);
  UOp b = g.range(Const(4), 2, AxisType::LOOP), whole = g.range(Const(12), 3, AxisType::LOOP);
  CHECK(has_same_iterations({{old, a * Const(4) + b}}));
  CHECK(has_same_iterations({{old, b * Const(3) + a}}));
  CHECK(!has_same_iterations({{old, a * Const(3) + b}}));
  CHECK(!has_same_iterations({{old, a}}));
  CHECK(has_same_iterations({{a, whole / g.constant(dtypes::index, 4)}, {b, whole % g.constant(dtypes::index, 4)}}));
  CHECK(!has_same_iterations({{a, whole / g.constant(dtypes::index, 4)}, {b, whole % g.constant(dtypes::index, 3)}}));
  CHECK(has_same_iterations({{old, whole}}));
}

TEST_CASE("LaneForms: lanes and positions of expanded axes") {
  Graph g;
  LaneForms lanes;
  UOp x = g.variable("x", 0, 9), y = g.variable("y", 0, 9);
  UOp xy = g.node(Op::VECTORIZE, dtypes::index.vec(2), {x, y}),
      yx = g.node(Op::VECTORIZE, dtypes::index.vec(2), {y, x});
  CHECK(lanes.are_same(xy.gep(Arg(g.ints(std::vector<int64_t>{1, 0}))), yx));
  CHECK_FALSE(lanes.are_same(xy, yx));
  Arg axes = g.tuple({g.tuple({Arg(0), Arg(2)})});
  auto unroll = [&](UOp u) { return g.node(Op::UNROLL, dtypes::index, {u}, axes); };
  CHECK(lanes.are_same(unroll(xy) + unroll(yx), unroll(xy + yx)));
  CHECK_FALSE(lanes.are_same(unroll(xy) + unroll(yx), unroll(xy + xy)));
}

}  // namespace
}  // namespace tgc
