#include "lib/bench/kernel_bench.h"

#include <doctest/doctest.h>

#include "lib/bench/measure_opts.h"
#include "lib/compilation/input_graph.h"
#include "lib/execute/lower.h"

using namespace tgc;

namespace {

// A matrix product of n x n floats.
std::string product_text(int n) {
  const std::string size = std::to_string(n), all = std::to_string(n * n);
  return "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(" + all + "), (), 0)\n" +
         "c1 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(" + all + "), (), 1)\n" +
         "c2 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(" + all + "), (), 2)\n" +
         "i = UOp.range(" + size + ", 0, AxisType.LOOP)\nj = UOp.range(" + size + ", 1, AxisType.LOOP)\n" +
         "k = UOp.range(" + size + ", 2, AxisType.REDUCE)\n" +
         "v = (c1.index(i*" + size + "+k)*c2.index(k*" + size + "+j)).reduce(k, arg=Ops.ADD)\n" +
         "ast = c0.index(i*" + size + "+j, ptr=True).store(v).end(i, j).sink()\n";
}

InputGraph product(int n) {
  return load_text(Settings(), InputKind::Pyrender, product_text(n), "product").value_or_throw();
}

}  // namespace

TEST_CASE("the cost of a kernel is counted on its AST") {
  InputGraph in = product(64);
  const KernelCost cost = cost_of(in.root);
  CHECK(cost.ops == 2.0 * 64 * 64 * 64);
  CHECK(cost.read == 2.0 * 64 * 64 * 4);
  CHECK(cost.written == 64 * 64 * 4);
}

TEST_CASE("a matrix product without opts is slow because nothing is unrolled, and an opt that helps is suggested") {
  InputGraph in = product(64);
  Session session;
  auto kernel = kernel_to_optimize(session, in, "CPU:CLANG");
  REQUIRE_MESSAGE(kernel, kernel.diag().text());
  const Target target = parse_target("CPU:CLANG", Settings()).value_or_throw();
  Settings plain;
  REQUIRE(plain.set("NOOPT", "1"));
  InputGraph again = load_text(plain, InputKind::Pyrender, product_text(64), "product").value_or_throw();
  const auto list = lower_kernel({.root = again.root}, target).value_or_throw();
  auto reasons = reasons_of({.list = list, .cost = cost_of(again.root), .seconds = 1e-3});
  REQUIRE(!reasons.empty());
  CHECK(reasons[0].kind == Slowness::NotUnrolled);
  suggest_opts(reasons, *kernel, {});
  CHECK(reasons[0].opts.starts_with("[Opt(op=OptOps.UPCAST, axis="));
}
