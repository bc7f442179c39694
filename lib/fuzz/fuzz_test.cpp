// Campaigns without a shell: what is generated is well formed and means something, equivalents compute the same, and a
// seeded fault is found, reduced and told of once.
#include "lib/fuzz/fuzz.h"

#include <doctest/doctest.h>

#include "lib/fuzz/from_pattern.h"
#include "lib/fuzz/tensor_graph.h"
#include "lib/fuzz/trial_graph.h"
#include "lib/inspect/rule_catalog.h"
#include "lib/rewrite/fault.h"
#include "lib/spec/loops.h"
#include "lib/support/testing.h"
#include "lib/text/pyrender.h"
#include "lib/uop/facts.h"
#include "passes/symbolic/symbolic.h"

using namespace tgc;

TEST_CASE("fuzz: kernels of index algebra are well formed, mostly run, and are the same for the same seed") {
  size_t compared = 0;
  for (uint64_t seed = 0; seed < 60; seed++) {
    Chance first(seed), second(seed), trial(seed);
    Graph other;
    FuzzKernel kernel{.graph = std::make_shared<Graph>(), .target = "CPU:LLVM"};
    kernel.ast = algebra_kernel(*kernel.graph, first);
    CHECK(pyrender(kernel.ast).value_or_throw() == pyrender(algebra_kernel(other, second)).value_or_throw());
    CAPTURE(seed);
    CHECK(is_sound(kernel.ast, Spec::Kernel));
    FuzzOutcome outcome = try_kernel(kernel, trial, {}, [](const Application&) {});
    compared += outcome.kind != FuzzOutcome::Kind::LeftOut;
  }
  CHECK(compared > 40);
}

TEST_CASE("fuzz: what is grown is another kernel, and well formed; an equivalent one keeps its outputs") {
  size_t grown = 0, equivalent = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    Chance chance(seed);
    Graph g;
    UOp ast = algebra_kernel(g, chance);
    if (UOp other = grown_kernel(ast, chance)) {
      CHECK(!(other == ast));
      grown++;
    }
    if (UOp same = equivalent_kernel(ast, chance)) {
      CHECK(is_sound(same, Spec::Kernel));
      equivalent++;
    }
  }
  CHECK(grown > 5);
  CHECK(equivalent > 20);
}

TEST_CASE("fuzz: kernels made from left sides are well formed, and most of them hit their rule") {
  size_t tried = 0, hit = 0;
  for (const CatalogRule& r : catalog_rules(&symbolic())) {
    bool made = false, applied = false;
    for (uint64_t seed = 0; seed < 6 && !applied; seed++) {
      Chance chance(seed);
      auto g = std::make_shared<Graph>();
      UOp ast = pattern_kernel(*g, chance, *r.rule);
      if (!ast || !is_sound(ast, Spec::Kernel)) continue;
      made = true;
      ApplicationLog log;
      Compilation c = std::move(
          Compilation::begin({.graph = g, .root = ast}, {.target = "CPU:LLVM"}).value_or_throw());
      c.watch(&log);
      (void)c.list();
      applied = std::ranges::any_of(log.list(), [&](const Application& a) { return a.rule->name == r.rule->name; });
      c.watch(nullptr);
    }
    tried += made, hit += applied;
  }
  CHECK(tried > 30);
  CHECK(2 * hit > tried);
}

TEST_CASE("fuzz: a sum of halves in another order is no finding, and something else is") {
  for (double factor : {1.0, 1.5}) {
    FuzzKernel kernel{.graph = std::make_shared<Graph>(), .target = "CUDA:CUDA:sm_80"};
    Graph& g = *kernel.graph;
    UOp i = g.range(4, 0, AxisType::LOOP), r = g.range(1024, 1, AxisType::REDUCE);
    UOp in = g.node(Op::DEFINE_GLOBAL, dtypes::float16.ptr(4096), {}, Arg(int64_t(1)));
    UOp out = g.node(Op::DEFINE_GLOBAL, dtypes::float16.ptr(4), {}, Arg(int64_t(0)));
    UOp sum = in.index(i * Const(1024) + r).reduce(std::vector<UOp>{r}, Op::ADD);
    kernel.ast = g.sink(out.index_ptr(i).store(sum).end(std::vector<UOp>{i}));
    if (factor > 1) set_fault_of_thread(FaultSpec{"group-for-reduce", 1});
    Chance chance(1);
    FuzzOutcome outcome = try_kernel(kernel, chance, {}, [](const Application&) {});
    set_fault_of_thread(std::nullopt);
    CHECK((outcome.kind == FuzzOutcome::Kind::Compared) == (factor == 1));
  }
}

TEST_CASE("fuzz: matrix products are well formed, and tensor cores take some of them") {
  size_t products = 0;
  for (uint64_t seed = 0; seed < 12; seed++) {
    Chance chance(seed), trial(seed);
    FuzzKernel kernel{.graph = std::make_shared<Graph>(), .target = "AMD:HIP:gfx942"};
    kernel.ast = matmul_kernel(*kernel.graph, chance);
    CHECK(is_sound(kernel.ast, Spec::Kernel));
    Compilation c = std::move(
        Compilation::begin({.graph = kernel.graph, .root = kernel.ast}, {.target = kernel.target}).value_or_throw());
    auto& list = c.list();
    REQUIRE(list);
    products += std::ranges::any_of(*list, [](UOp u) { return u.is(Op::WMMA); });
  }
  CHECK(products > 0);
}

TEST_CASE("fuzz: tensor graphs are the same for the same seed, and most are scheduled, some on several devices") {
  size_t scheduled = 0, on_several = 0;
  for (uint64_t seed = 0; seed < 60; seed++) {
    CAPTURE(seed);
    auto made = [&] {
      Loaded out{.graph = std::make_shared<Graph>(), .is_tensor_graph = true};
      Chance chance(seed);
      auto sink = catch_failures([&] { return tensor_graph(*out.graph, chance); });
      if (sink && is_sound(*sink, Spec::Tensor)) out.root = *sink;
      return out;
    };
    Loaded first = made(), second = made();
    if (!first.root) continue;
    CHECK(to_hex(key_of(first.root)) == to_hex(key_of(second.root)));
    on_several += std::ranges::any_of(toposort(first.root), [](UOp u) { return u.in({Op::MULTI, Op::MSELECT}); });
    Compilation c = std::move(Compilation::begin(std::move(first), {}).value_or_throw());
    scheduled += c.schedule().ok();
  }
  CHECK(scheduled > 30);
  CHECK(on_several > 3);
}

TEST_CASE("fuzz: a kernel that reads what another iteration stores is none") {
  for (int64_t next : {0, 1}) {
    Graph g;
    UOp i = g.range(4, 0, AxisType::LOOP);
    UOp buffer = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(8), {}, Arg(int64_t(0)));
    UOp value = buffer.index(next ? i + i.const_like(next) : i) + g.constant(dtypes::int32, 1);
    CHECK(is_kernel(g.sink(buffer.index_ptr(i).store(value).end(std::vector<UOp>{i}))) == (next == 0));
  }
}

TEST_CASE("fuzz: a seeded fault is found, reduced, and told of once") {
  WithEnvironment fault("TGC_FAULT", "lower-binary");
  FuzzReport report = fuzz(Session(), {.count = 60});
  CHECK(report.error == "");
  auto is_it = [](const FuzzFinding& f) { return f.rule == "lower-binary"; };
  REQUIRE(std::ranges::count_if(report.findings, is_it) >= 1);
  CHECK(report.exit_code() == 1);
  const FuzzFinding& found = *std::ranges::find_if(report.findings, is_it);
  CHECK(found.times > 1);
  CHECK(found.nodes > 0);
  CHECK(found.nodes < 30);
  CHECK(report.rules_hit > 50);
  CHECK(report.json().find("\"rule\":\"lower-binary\"") != std::string::npos);
}

TEST_CASE("fuzz: rules that are known to be unsound are read from their headings") {
  auto rules = known_rules(test_path("known_unsound.md"));
  REQUIRE(rules.ok());
  CHECK(!rules->empty());
  CHECK(!known_rules(test_path("no_such_file.md")).ok());
}
