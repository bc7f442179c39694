#include "lib/reduce/reduce.h"

#include <doctest/doctest.h>

#include <optional>

#include "lib/reduce/cuts.h"
#include "lib/reduce/interestingness.h"
#include "lib/reduce/prefilter.h"
#include "lib/reduce/slice_to_rewrite.h"
#include "lib/reduce/steps.h"
#include "lib/reduce/validity_checks.h"
#include "lib/run/repro_bundle.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

using Kind = FailureSignature::Kind;

// the product of a 12 x 8 matrix and an 8 x 16 matrix
constexpr const char* kMatmul =
    "i = UOp.range(12, 0, AxisType.LOOP)\n"
    "j = UOp.range(16, 1, AxisType.LOOP)\n"
    "k = UOp.range(8, 2, AxisType.REDUCE)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(96), (), 1).index(i*8+k)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(128), (), 2).index(k*16+j)\n"
    "s = (a*b).reduce(k, arg=Ops.ADD)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(192), (), 0).index(i*16+j, ptr=True).store(s).end(i, j).sink()\n";

InputGraph loaded(InputKind kind, const std::string& text) {
  InputGraph in = std::move(load_graph_text({}, kind, text, "test").value_or_throw());
  if (in.info.name.empty()) in.info.name = "matmul";
  return in;
}

TestCase matmul() {
  InputGraph in = loaded(InputKind::Pyrender, kMatmul);
  return {.graph = in.graph, .root = in.root, .info = {.name = "matmul", .target = "CPU:LLVM"}, .device = "REF"};
}

UOp the(Op op, UOp root) {
  for (UOp u : toposort(root))
    if (u.is(op)) return u;
  return {};
}

struct WithFault {
  explicit WithFault(const char* rule, uint64_t n = 1) { set_fault_of_thread(FaultSpec{rule, n}); }
  ~WithFault() { set_fault_of_thread(std::nullopt); }
};

}  // namespace

TEST_CASE("reduce: a fault in a matmul becomes a few nodes, and the bundle repeats it") {
  Session session;
  for (const char* rule : {"lower-binary", "mul-distribute", "reduce-unrolled", "load-gep"}) {
    CAPTURE(rule);
    BisectReport before;
    ReduceReport report;
    {
      WithFault fault(rule);
      InputGraph in = loaded(InputKind::Pyrender, kMatmul);
      before = bisect(session, in, {.device = {.name = "CPU:LLVM"}});
      if (before.verdict.kind == Verdict::Kind::Same) continue;
      for (auto kind : {Kind::Wrong, Kind::Crash}) {
        report = reduce_graph(session, in, {.device = {.name = "CPU:LLVM"}}, {kind, ""});
        if (report.error.empty()) break;
      }
    }
    INFO(report.error);
    INFO(report.bundle_text);
    REQUIRE(report.error == "");
    CHECK(report.num_nodes_after <= report.num_nodes_before);
    CHECK(report.num_nodes_after <= 12);
    CHECK(report.num_calls <= 12);  // the prefilter rejects most candidates
    CHECK(report.num_prefiltered > 0);
    InputGraph reduced = loaded(InputKind::Repro, report.bundle_text);
    REQUIRE(reduced.read_report.repro->seeded_fault.starts_with(rule));
    WithFault fault(rule, parse_fault(reduced.read_report.repro->seeded_fault).value_or_throw().application_number);
    CHECK(repeat_failure(session, reduced, {}).is_still_failing());
    BisectReport after = bisect(session, reduced, {});
    CHECK(after.verdict.rule == before.verdict.rule);
    CHECK(after.verdict.stage == before.verdict.stage);
  }
}

TEST_CASE("reduce: the result does not depend on the number of threads") {
  std::optional<std::string> alone;
  for (unsigned num_jobs : {1u, 4u, 4u, 4u}) {
    Session session{.num_jobs = num_jobs};
    InputGraph in = loaded(InputKind::Pyrender, kMatmul);
    ReduceReport report = reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Script, "grep -q REDUCE {}"});
    REQUIRE(report.error == "");
    if (!alone) alone = report.bundle_text;
    CHECK(report.num_nodes_after <= 7);  // the smallest such kernel stores a REDUCE of a constant without a loop
    CHECK(loaded(InputKind::Repro, report.bundle_text).graph->size() == loaded(InputKind::Repro, *alone).graph->size());
  }
}

TEST_CASE("reduce: the bundle keeps a fault of another kind") {
  Session session;
  set_fault_of_thread(FaultSpec{"no-such-rule", 2, FaultSpec::Kind::Endless});
  InputGraph in = loaded(InputKind::Pyrender, kMatmul);
  ReduceReport report = reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Script, "grep -q MUL {}"});
  set_fault_of_thread(std::nullopt);
  REQUIRE(report.error == "");
  CHECK(
      loaded(InputKind::Repro, report.bundle_text).read_report.repro->seeded_fault.starts_with("endless:no-such-rule"));
}

TEST_CASE("Prefilter rejects cases that cannot fail, and no others") {
  Session session;
  TestCase c = matmul();
  CasePrefilter none(session, c, {}, {}, {});
  CHECK(!none.is_useful());
  CHECK(none.may_fail(c));

  // The fault changes application 1 of the rule. No failure is possible with application 1000, or without the rule.
  c.fault = FaultSpec{"lower-binary", 1};
  CasePrefilter rule(session, c, {Kind::Wrong, "", ""},
                     {{"verdict", "rewrite"}, {"stage", "lower all index dtypes"}, {"rule", "lower-binary"}}, {});
  REQUIRE(rule.is_useful());
  CHECK(rule.may_fail(c));
  c.fault->application_number = 1000;
  CHECK(!rule.may_fail(c));
  c.fault->application_number = 1;
  UOp constant = c.graph->constant(dtypes::float32, 1.0), memory = the(Op::DEFINE_GLOBAL, c.root);
  UOp at = c.graph->constant(dtypes::index, int64_t(0));
  CHECK(!rule.may_fail(replace_root(c, c.graph->sink(memory.index_ptr(at).store(constant)))));

  // The faulty rule gives two merged loops a wrong size. No failure is possible if a loop is unused or an END is
  // missing.
  auto loops = [&](const std::string& index, const std::string& end) {
    InputGraph in = loaded(InputKind::Pyrender,
                           "i = UOp.range(8, 0, AxisType.LOOP)\nj = UOp.range(33, 1, AxisType.LOOP)\n"
                           "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(264), (), 0).index(" +
                               index + ", ptr=True).store((" + index + ").cast(dtypes.int))" + end + ".sink()\n");
    return TestCase{.graph = in.graph,
                    .root = in.root,
                    .info = {.name = "loops", .target = "CPU:LLVM"},
                    .device = "REF",
                    .fault = FaultSpec{"fold-binary", 1}};
  };
  TestCase both = loops("i*33+j", ".end(i, j)");
  CasePrefilter merged(session, both, {Kind::Crash, "", "out of bounds: store"},
                       {{"verdict", "rewrite"}, {"stage", "simplify ranges"}, {"rule", "fold-binary"}}, {});
  CHECK(merged.may_fail(both));
  CHECK(!merged.may_fail(loops("j", ".end(i, j)")));
  CHECK(!merged.may_fail(loops("i*33+j", "")));

  CasePrefilter bounds(session, c, {Kind::Crash, "", "out of bounds: store"}, {{"verdict", "crash"}}, {});
  REQUIRE(bounds.is_useful());
  CHECK(!bounds.may_fail(c));
  UOp behind = c.graph->constant(dtypes::index, memory.dtype().size());
  TestCase store = replace_root(c, c.graph->sink(memory.index_ptr(behind).store(constant)));
  TestCase load = replace_root(c, c.graph->sink(memory.index_ptr(at).store(memory.index(behind))));
  CHECK(bounds.may_fail(store));
  CHECK(!bounds.may_fail(load));
  CasePrefilter reads(session, c, {Kind::Crash, "", "out of bounds: load"}, {{"verdict", "crash"}}, {});
  CHECK(reads.may_fail(load));
  CHECK(!reads.may_fail(store));
  // The stages remove the load out of bounds, because its value is multiplied by 0.
  UOp nothing = c.graph->constant(dtypes::float32, 0.0), same = memory.index(behind) * nothing;
  CHECK(!reads.may_fail(replace_root(c, c.graph->sink(memory.index_ptr(at).store(same)))));
}

TEST_CASE("InterestingnessTest rejects cases that fail for another reason than the given one") {
  Session session;
  TestCase c = matmul();
  UOp memory = the(Op::DEFINE_GLOBAL, c.root), one = c.graph->constant(dtypes::float32, 1.0);
  auto storing_at = [&](int64_t at) {
    UOp index = c.graph->constant(dtypes::index, memory.dtype().size() + at);
    return replace_root(c, c.graph->sink(memory.index_ptr(index).store(one)));
  };
  TestCase within = storing_at(-1), outside = storing_at(0), later = outside;
  later.info.stage = "expander";  // after the AST, vmin and vmax prove nothing, so REF must run the kernel
  const FailureCriterion anything{Kind::Script, "true"};
  InterestingnessTest interesting(session, {}, anything);
  REQUIRE(interesting.find_initial_failure(c));
  CHECK(interesting.is_interesting(within));
  CHECK(interesting.cached_answer(outside) == false);
  CHECK(!interesting.cached_answer(later));
  CHECK(!interesting.is_interesting(later));
  InterestingnessTest worse(session, {}, anything);
  REQUIRE(worse.find_initial_failure(outside));
  CHECK(worse.is_interesting(storing_at(1)));

  ValidityChecker checks(c, {}, {});
  CHECK(checks.has_effect(within));
  TestCase idle = replace_root(c, c.graph->sink({one}));
  CHECK(!checks.has_effect(idle));
  CHECK(ValidityChecker(idle, {}, {}).has_effect(idle));
}

TEST_CASE("reduce: an access out of bounds takes two tries") {
  Session session;
  std::string half = kMatmul;
  half.replace(half.find("ptr(128)"), 8, "ptr(64)");
  InputGraph in = loaded(InputKind::Pyrender, half);
  ReduceReport report = reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Crash, ""});
  CHECK(report.error == "");
  CHECK(report.num_nodes_after <= 8);
  CHECK(report.num_calls <= 2);
}

TEST_CASE("reduce: the case is as small as ddmin's if the prefilter is wrong, as for rewrites of loops") {
  Session session;
  WithFault fault("substitute", 2);
  InputGraph in = loaded(InputKind::Pyrender,
                         "i = UOp.range(13, 0, AxisType.REDUCE)\n"
                         "j = UOp.range(57, 1, AxisType.REDUCE)\n"
                         "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(741), (), 1).index(i*57+j)\n"
                         "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), "
                         "ptr=True).store(a.reduce(i, j, arg=Ops.MAX)).sink()\n");
  in.info.target = "CPU:LLVM";
  ReduceReport report = reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Wrong, ""});
  CHECK(report.error == "");
  CHECK(report.num_nodes_before == 14);
  CHECK(report.num_nodes_after <= 11);
}

TEST_CASE("reduce: the reference in REF has the time limit of a kernel") {
  Session session;
  InputGraph in =
      loaded(InputKind::Pyrender,  // REF runs 2^40 iterations; a compiler removes the loop
             "ast = UOp(Ops.NOOP, dtypes.void, ()).end(UOp.range(1099511627776, 0, AxisType.LOOP)).sink()\n");
  const RunOptions options{.device = {.name = "CPU:LLVM", .timeout_seconds = 2.0}};
  ReduceReport report = reduce_graph(session, in, options, {Kind::Wrong, ""});
  CHECK(report.error.find("did not end within 2 seconds") != std::string::npos);
}

TEST_CASE("reduce: a constant of any size is halved") {
  TestCase c = matmul();
  UOp number = c.graph->constant(dtypes::index, Int::pow2(64));
  const TestCase large = replace_root(c, c.graph->sink({number}));
  std::vector<Int> offered;
  for (auto& step : simpler_node_cases(large, number))
    if (UOp root = step().root; root && root.num_src() == 1 && root.src(0).is_const())
      offered.push_back(root.src(0).arg().as_int());
  CHECK(std::ranges::count(offered, Int(2)) == 1);
  CHECK(std::ranges::count(offered, Int::pow2(63)) == 1);
}

TEST_CASE("reduce: a pointer into a buffer keeps the buffer's dtype") {
  TestCase c = matmul();
  UOp memory = the(Op::DEFINE_GLOBAL, c.root), smaller = memory.with_dtype(memory.dtype().base().ptr(4));
  CHECK(memory.dtype().is_ptr());
  for (UOp u : toposort(replace_nodes(c.root, {{memory, smaller}})))
    if (u.is(Op::INDEX) && u.dtype().is_ptr()) CHECK(u.dtype() == u.src(0).dtype());
}

TEST_CASE("Prefilter decides refusals, messages of compilers, and differences from tinygrad") {
  Session session;
  TestCase c = matmul();
  auto without_loops = [](const TestCase& of) {
    UOp memory = the(Op::DEFINE_GLOBAL, of.root), at = of.graph->constant(dtypes::index, int64_t(0));
    return replace_root(of, of.graph->sink(memory.index_ptr(at).store(of.graph->constant(dtypes::float32, 1.0))));
  };

  // This stack limit is too low for the matrix product, but not for a kernel that stores a constant.
  Settings few = c.graph->settings();
  few.REWRITE_STACK_LIMIT = 12;
  TestCase narrow = copy_with_settings(c, few);
  InputGraph in = narrow.input_graph();
  FailureSignature refusal = refusal_signature_of(session, in, narrow.device).value_or_throw();
  REQUIRE(refusal.kind == Kind::Endless);
  CasePrefilter endless(session, narrow, refusal, {}, {});
  REQUIRE(endless.is_useful());
  CHECK(endless.may_fail(narrow));
  CHECK(!endless.may_fail(without_loops(narrow)));
  CHECK(!endless.may_fail(replace_root(narrow, narrow.graph->sink({the(Op::REDUCE, narrow.root)}))));  // has no store

  TestCase in_c = c;
  in_c.info.target = in_c.device = "CPU:CLANG";
  CasePrefilter compiler(session, in_c, {Kind::Compile, "C source does not compile: no 'for' and no 'nonsense'", ""},
                         {}, {});
  REQUIRE(compiler.is_useful());  // the source contains the quoted 'for'
  CHECK(compiler.may_fail(in_c));
  CHECK(!compiler.may_fail(without_loops(in_c)));
  FailureSignature elsewhere{Kind::Compile, "C source does not compile: no 'nonsense'", ""};
  CHECK(!CasePrefilter(session, in_c, elsewhere, {}, {}).is_useful());

  CasePrefilter other(session, c, {Kind::Differs, "", "lower all index dtypes"},
                      {{"verdict", "divergence"}, {"stage", "lower all index dtypes"}, {"rule", "lower-binary"}}, {});
  REQUIRE(other.is_useful());
  CHECK(other.may_fail(c));
  CHECK(!other.may_fail(without_loops(c)));
  c.fault = FaultSpec{"lower-binary", 1000};
  CHECK(!other.may_fail(c));
}

TEST_CASE("reduce: a rewrite that does not end takes a few tries") {
  Session session;
  TestCase c = matmul();
  Settings few = c.graph->settings();
  few.REWRITE_STACK_LIMIT = 12;
  InputGraph in = copy_with_settings(c, few).input_graph();
  ReduceReport report = reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Endless, ""});
  CHECK(report.error == "");
  CHECK(report.verdict.starts_with("endless: deep"));
  CHECK(report.num_nodes_after < report.num_nodes_before);
  CHECK(report.num_calls <= 3);
  CHECK(report.bundle_text.find("\"REWRITE_STACK_LIMIT\":\"12\"") != std::string::npos);
}

TEST_CASE("replaced: a node may become the replacement of a node below it; ENDs drop constant ranges on demand") {
  TestCase c = matmul();
  UOp sum = the(Op::REDUCE, c.root), product = sum.src(0), a = product.src(0);
  UOp one = c.graph->constant(dtypes::float32, 1.0);
  CHECK(the(Op::REDUCE, replace_nodes(c.root, {{product, a}, {a, one}})).src(0) == one);
  UOp loop = sum.src(1), first = replacement_of_node(loop);
  CHECK(first.is(Op::CONST));
  CHECK(!the(Op::REDUCE, replace_nodes(c.root, {{loop, first}})));
  CHECK(the(Op::REDUCE, replace_nodes(c.root, {{loop, first}}, false)));
  CHECK(!replacement_of_node(the(Op::DEFINE_GLOBAL, c.root)));
}

TEST_CASE("RewriteSlice makes a kernel of the nodes around a rewrite") {
  TestCase c = matmul();
  Session session;
  CHECK(!RewriteSlice::find_rewrite(session, c, "no such stage", "lower-binary", 1));
  CHECK(!RewriteSlice::find_rewrite(session, c, "expander", "no-such-rule", 1));
  CHECK(!case_before_stage(session, c, "no such stage"));
  size_t found = 0;
  for (const char* rule : {"lower-binary", "mul-distribute", "load-gep"})
    for (const StageRow& row : stage_rows()) {
      c.fault = FaultSpec{rule, 3};
      auto slice = RewriteSlice::find_rewrite(session, c, std::string(row.name), rule, 1);
      if (!slice) continue;
      CAPTURE(rule);
      CHECK(slice->pattern_depth() >= 1);
      TestCase small = slice->case_around_rewrite(slice->pattern_depth(), {}, {});
      if (!small.root) continue;
      found++;
      CHECK(is_sound(small));
      CHECK(small.fault->application_number == 1);
      auto whole = case_before_stage(session, c, std::string(row.name));
      REQUIRE(whole);
      CHECK(small.info.stage == whole->info.stage);
    }
  CHECK(found > 0);
}

TEST_CASE("reduce: errors if the case passes or fails in another way than asked") {
  Session session;
  InputGraph in = loaded(InputKind::Pyrender, kMatmul);
  CHECK(reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Wrong, ""}).error ==
        "it passes on REF: there is nothing to reduce");
  CHECK(reduce_graph(session, in, {.device = {.name = "CPU:LLVM"}}, {Kind::Compile, ""}).error ==
        "it passes on CPU:LLVM: there is nothing to reduce");
  CHECK(reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Script, "false"}).error ==
        "the command does not say so of it: there is nothing to reduce");
  ScopedEnvironment with("TGC_FAULT", "renderer:LLVM.MUL");
  CHECK(reduce_graph(session, in, {.device = {.name = "CPU:LLVM"}}, {Kind::Compile, ""})
        .error.starts_with("it is not 'compile', but '"));
}

TEST_CASE("reduce: a script decides; an interrupted reduction keeps the best case") {
  Session session;
  InputGraph in = loaded(InputKind::Pyrender, kMatmul);
  FailureCriterion mul{Kind::Script, "grep -q MUL {}"};
  ReduceReport report = reduce_graph(session, in, {.device = {.name = "REF"}}, mul);
  CHECK(report.error == "");
  CHECK(report.num_nodes_after <= 7);
  CHECK(report.num_calls <= 17);  // few, because one failed try shows that the failure needs a MUL
  CHECK(report.bundle_text.find("\"MUL\"") != std::string::npos);
  CancelRequest after_first(nullptr, 0.4);
  session.cancel = &after_first;
  report = reduce_graph(session, in, {.device = {.name = "REF"}}, {Kind::Script, "sleep 0.3; grep -q MUL {}"});
  CHECK(report.error == "");
  CHECK(report.was_interrupted);
  CHECK(report.num_nodes_after <= report.num_nodes_before);
  report = reduce_graph(session, in, {.device = {.name = "REF"}}, mul);
  CHECK(report.error == "cancelled");
}

TEST_CASE("replace_by_buffers() and kernel_storing_only() make sound kernels that compute the cut parts") {
  TestCase c = matmul();
  UOp reduction = the(Op::REDUCE, c.root), product = reduction.src(0);
  UOp alone = single_store_kernel(product, 5, dtypes::index);
  REQUIRE(alone);
  CHECK(is_sound(replace_root(c, alone)));
  CHECK(the(Op::DEFINE_GLOBAL, alone).graph().size() > 0);
  bool has_reduce_loop = false;
  for (UOp u : toposort(alone))
    if (u.is(Op::RANGE)) has_reduce_loop |= u.arg().items().back().axis_type() == AxisType::REDUCE;
  CHECK(!has_reduce_loop);
  UOp back = load_of_stored_value(product, 5, dtypes::index, false);
  TestCase cut = replace_root(c, replace_nodes(c.root, {{product, back}}));
  CHECK(is_sound(cut));
  CHECK(first_free_buffer_number(cut.root) == 6);
  UOp k = reduction.src(1);
  UOp once = replace_nodes(c.root, {{k, c.graph->constant(dtypes::index, int64_t(0))}});
  CHECK(!the(Op::REDUCE, once));
  CHECK(case_sizes_of(replace_root(c, once)) < case_sizes_of(c));
}

TEST_CASE("nodes_by_dominated_count lists the node with the largest dominated part first") {
  TestCase c = matmul();
  auto sizes = nodes_by_dominated_count(c.root);
  CHECK(sizes[0].first == c.root);
  CHECK(sizes[0].second == c.num_nodes());
  for (size_t i = 1; i < sizes.size(); i++) CHECK(sizes[i - 1].second >= sizes[i].second);
  UOp k = the(Op::REDUCE, c.root).src(1);  // both INDEXes use k, so neither dominates it
  for (auto& [u, size] : sizes)
    if (u.is(Op::MUL) && u.dtype() == dtypes::float32) CHECK(size < c.num_nodes() - 2);
  CHECK(std::ranges::any_of(sizes, [&](auto& s) { return s.first == k && s.second == 1; }));
}
