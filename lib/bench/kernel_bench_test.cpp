#include "lib/bench/kernel_bench.h"

#include <doctest/doctest.h>

#include "lib/bench/measure_opts.h"
#include "lib/compilation/input_graph.h"
#include "lib/contain/temporary_folder.h"
#include "lib/execute/lower.h"
#include "lib/support/write_file.h"

using namespace tgc;

namespace {

// Typical costs on an idle thread of a server's CPU.
PeakRates costs() {
  return {.bytes_per_second = 14e9,
          .operations_per_second = 1e11,
          .instruction_seconds = 0.28e-9,
          .addition_latency_seconds = 0.8e-9,
          .near_load_seconds = 0.5e-9,
          .far_load_seconds = 5e-9,
          .source = "a test",
          .cache_rates = {{1 << 20, 1e11}, {16 << 20, 16e9}}};
}

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
  return load_graph_text(Settings(), InputKind::Pyrender, product_text(n), "product").value_or_throw();
}

}  // namespace

TEST_CASE("the cost of a kernel is counted on its AST") {
  InputGraph in = product(64);
  const KernelCost cost = cost_of_ast(in.root);
  CHECK(cost.num_operations == 2.0 * 64 * 64 * 64);
  CHECK(cost.bytes_read == 2.0 * 64 * 64 * 4);
  CHECK(cost.bytes_written == 64 * 64 * 4);
}

TEST_CASE("a matrix product without opts is slow because nothing is unrolled, and an opt that helps is suggested") {
  InputGraph in = product(64);
  Session session;
  auto kernel = kernel_to_optimize(session, in, "CPU:CLANG");
  REQUIRE_MESSAGE(kernel, kernel.diag().text());
  const Target target = parse_target("CPU:CLANG", Settings()).value_or_throw();
  Settings plain;
  REQUIRE(plain.set_value("NOOPT", "1"));
  InputGraph again = load_graph_text(plain, InputKind::Pyrender, product_text(64), "product").value_or_throw();
  const auto list = lower_kernel({.root = again.root}, target).value_or_throw();
  auto reasons = slowness_reasons(
      {.linear_list = list, .cost = cost_of_ast(again.root), .fastest_seconds = 1e-3, .peaks = costs()});
  REQUIRE(!reasons.empty());
  CHECK(reasons[0].kind == SlownessKind::NotUnrolled);
  suggest_opts(reasons, *kernel, {});
  CHECK(reasons[0].opts.starts_with("[Opt(op=OptOps.UPCAST, axis="));
}

TEST_CASE("opts that address a reason pad an axis first if no size can be split") {
  InputGraph in = product(127);
  Session session;
  auto kernel = kernel_to_optimize(session, in, "CPU:CLANG");
  REQUIRE_MESSAGE(kernel, kernel.diag().text());
  std::vector<SlownessReason> reasons(1);
  reasons[0].kind = SlownessKind::NotUnrolled;
  suggest_opts(reasons, *kernel, {});
  CHECK(reasons[0].opts == "[Opt(op=OptOps.PADTO, axis=1, arg=32), Opt(op=OptOps.UPCAST, axis=1, arg=4)]");
}

TEST_CASE("--try measures how much faster the opts of a reason make a kernel") {
  const TemporaryFolder folder;
  const std::string file = folder.file("product.uop");
  REQUIRE(write_file(file, product_text(128)));
  Session session;
  session.overrides = {.settings_texts = {"NOOPT=1"}, .imports_kernels = true};
  auto done = bench_kernels(
      session, {.inputs = {file}, .device = "CPU:CLANG", .num_explained_kernels = 1, .should_measure_opts = true});
  REQUIRE_MESSAGE(done, done.diag().text());
  REQUIRE((done->kernels.size() == 1 && !done->kernels[0].reasons.empty()));
  CHECK(done->kernels[0].reasons[0].measured_speedup.value_or(0) > 1.3);  // the speedup is 4 on an idle machine
}

TEST_CASE("the first reason is what costs the most: a column that is summed, an accumulator, an idle thread") {
  const Target target = parse_target("CPU:CLANG", Settings()).value_or_throw();
  Settings plain;
  REQUIRE(plain.set_value("NOOPT", "1"));
  auto reasons_for = [&](const std::string& index, uint32_t units, double seconds) {
    const std::string text = "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1024), (), 0)\n"
                             "c1 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1048576), (), 1)\n"
                             "i = UOp.range(1024, 0, AxisType.LOOP)\nk = UOp.range(1024, 1, AxisType.REDUCE)\n"
                             "ast = c0.index(i, ptr=True).store(c1.index(" + index +
                             ").reduce(k, arg=Ops.ADD)).end(i).sink()\n";
    InputGraph in = load_graph_text(plain, InputKind::Pyrender, text, "sum").value_or_throw();
    const auto list = lower_kernel({.root = in.root}, target).value_or_throw();
    SlowKernel kernel{.linear_list = list,
                      .num_units = units,
                      .cost = cost_of_ast(in.root),
                      .fastest_seconds = seconds,
                      .peaks = costs()};
    kernel.resources = KernelResources{.vector_bits = 0};
    return slowness_reasons(kernel);
  };
  auto columns = reasons_for("k*1024+i", 1, 6e-3), rows = reasons_for("i*1024+k", 1, 1e-3);
  auto idle = reasons_for("i*1024+k", 8, 1e-3);
  REQUIRE(!columns.empty());
  CHECK(columns[0].kind == SlownessKind::StridedLoads);
  CHECK(columns[0].possible_speedup > 2);
  REQUIRE(!rows.empty());
  CHECK(rows[0].kind == SlownessKind::SerialReduction);
  CHECK(rows[0].possible_speedup == doctest::Approx(1 / (1 - 1024 * 1024 * 0.8e-9 * 7 / 8 / 1e-3)));
  REQUIRE(!idle.empty());
  CHECK(idle[0].kind == SlownessKind::FewThreads);
}
