#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "lib/bisect/bisect.h"
#include "lib/driver/source.h"
#include "lib/run/run.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

BisectReport bisected_record(const std::string& file, const std::string& id, const std::string& inputs = {},
                             const BisectPlan& plan = {}) {
  Session session;
  session.overrides.imports_kernels = true;
  RunOptions options;
  options.input.name = test_path("verdicts/" + file);
  if (!inputs.empty()) options.input.arrays_file = test_path("verdicts/" + inputs);
  GraphSource source = std::move(GraphSource::open(session, options.input.name, id).value_or_throw());
  auto in = std::move(source.next_graph().value_or_throw());
  REQUIRE(in);
  return in->is_tensor_graph ? bisect_tensor_graph(session, *in, options, plan) : bisect(session, *in, options, plan);
}

}  // namespace

TEST_CASE("a rounding that a known rule drops is known, and a failure if the given arrays show it") {
  const BisectReport report = bisected_record("half_cast14.jsonl.gz", "p16.4");
  INFO(report.text());
  CHECK(report.verdict.kind == Kind::Known);
  CHECK(report.verdict.known_fault_name == "codegen/late/coalesce.py:100");
  CHECK(report.verdict.issue_url.ends_with("issues/17208"));
  CHECK(report.text().find("print(Tensor(") != std::string::npos);
  CHECK(report.exit_code() == 0);
  CHECK(bisected_record("half_cast14.jsonl.gz", "p16.4", "", {.is_strict = true}).exit_code() == 1);
  CHECK(bisected_record("half_cast14.jsonl.gz", "p16.4", "half_cast14.in.npz").exit_code() == 1);
}

TEST_CASE("the rule that splits a long product is the culprit, not the cast that uses the product") {
  const BisectReport report = bisected_record("long_mul_fault13.jsonl.gz", "fl13.0");
  INFO(report.text());
  CHECK(report.verdict.kind == Kind::Rewrite);
  CHECK(report.verdict.location == "uop/decompositions.py:524");
  CHECK(report.verdict.witness.contains("before"));
}

TEST_CASE("the opts of a kernel are named if the stage that applies them makes it wrong") {
  const BisectReport report = bisected_record("hip_nested13.jsonl.gz", "p10h.2");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Rewrite);
  CHECK(report.verdict.stage == "apply opts");
  CHECK(report.verdict.detail.find("OptOps.TC") != std::string::npos);
}

TEST_CASE("a store through a pointer to a wider dtype that the source lacks is the renderer's fault") {
  const BisectReport report = bisected_record("ptr_store.jsonl.gz", "p07.0");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Renderer);
  CHECK(report.failure_text.find("7 of 24 differ") != std::string::npos);
}

// Each fault was made in a copy of tinygrad 0.14.0 (testdata/kernel_faults.tsv).
TEST_CASE("the rule that makes the wrong value is the culprit, not one that changes a loop or splits a load") {
  const std::pair<const char*, const char*> faults[] = {{"weak_const", "uop/weak.py:34"},
                                                        {"dec_carry", "codegen/decomp/dtype.py:160"},
                                                        {"dec_long_lt", "codegen/decomp/dtype.py:147"}};
  for (auto [name, location] : faults) {
    std::string id = name;
    std::ranges::replace(id, '_', '-');
    const BisectReport report = bisected_record(name + std::string("_fault14.jsonl.gz"), id + ".4");
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.location == location);
  }
}

TEST_CASE("faults that only large numbers, infinities or values of a helper's variables show are found") {
  const std::array<const char*, 3> faults[] = {{"large", "p.4", "uop/symbolic.py:442"},
                                               {"simp_clamp", "simp-clamp.4", "codegen/simplify.py:110"},
                                               {"dec_half", "dec-half.4", "codegen/decomp/dtype.py:195"},
                                               {"dec_half_clamp", "dec-half-clamp.4", "codegen/decomp/dtype.py:187"}};
  for (auto [name, id, location] : faults) {
    const BisectReport report = bisected_record(name + std::string("_fault14.jsonl.gz"), id);
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.location == location);
  }
}

TEST_CASE("if the graphs around a rewrite cannot be run, a rewrite is named whose sides differ, or that opens a loop") {
  const BisectReport unroll = bisected_record("stage_unroll_fault14.jsonl.gz", "stage-unroll.4");
  INFO(unroll.text(), unroll.error);
  CHECK(unroll.verdict.location == "codegen/__init__.py:86");
  const BisectReport group = bisected_record("stage_group_fault14.jsonl.gz", "stage-group.0");
  INFO(group.text(), group.error);
  CHECK(group.verdict.kind == Kind::Rewrite);
  CHECK(group.verdict.location == "codegen/__init__.py:229");
}

TEST_CASE("an accumulator that is set to zero in a loop of a STAGE is known") {
  const BisectReport report = bisected_record("pcontig14.jsonl.gz", "pcontig.4");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Known);
  CHECK(report.verdict.known_fault_name == "codegen/__init__.py:231");
}

TEST_CASE("a quotient of equal numbers is known") {
  const BisectReport report = bisected_record("multinomial.jsonl.gz", "test_randomness.50");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Known);
  CHECK(report.verdict.known_fault_name == "uop/symbolic.py:160");
}

TEST_CASE("denormals of an 8-bit float, which tinygrad takes for zero where it emulates the dtype, convict nothing") {
  const BisectReport report = bisected_record("fp8_right14.jsonl.gz", "u_fp8e4m3.6");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Same);
}

TEST_CASE("a barrier that a recorded kernel lacks is named with the rule that drops it or the function that adds it") {
  const BisectReport missing = bisected_record("barrier_missing14.jsonl.gz", "red.4");
  INFO(missing.text(), missing.error);
  CHECK(missing.verdict.kind == Kind::Barrier);
  CHECK(missing.verdict.function == "add_raw_barrier (codegen/__init__.py)");
  CHECK(missing.exit_code() == 1);
  const BisectReport dropped = bisected_record("barrier_dropped14.jsonl.gz", "red.4");
  INFO(dropped.text(), dropped.error);
  CHECK(dropped.verdict.kind == Kind::Barrier);
  CHECK(dropped.verdict.location == "codegen/__init__.py:39");
  CHECK(bisected_record("barrier_right14.jsonl.gz", "red.4").verdict.kind == Kind::Same);
}

TEST_CASE("schedule: a rule inside the rule that makes loops is named, not the outer rule") {
  const BisectReport report = bisected_record("sym.tensor.jsonl.gz", "prog.29");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Rewrite);
  CHECK(report.verdict.location == "uop/symbolic.py:275");
}

TEST_CASE("schedule: the index of a store's target is compared") {
  const BisectReport report = bisected_record("reshape_target14.tensor.jsonl.gz", "schedule_programs.s37");
  INFO(report.text(), report.error);
  CHECK(report.verdict.location == "schedule/indexing.py:142");
  CHECK(report.verdict.before.starts_with("Ops.RESHAPE"));
}

TEST_CASE("schedule: the rewrite that makes a kernel access memory out of bounds is named") {
  const BisectReport report = bisected_record("out_of_bounds14.tensor.jsonl.gz", "schedule_programs.s41");
  INFO(report.text(), report.error);
  CHECK(report.verdict.location == "schedule/rangeify.py:323");
  CHECK(report.failure_text.find("out of bounds") != std::string::npos);
}

TEST_CASE("a maximum that starts with 0 fails if all numbers are negative, which run and bisect try") {
  const std::string file = "max_init_fault14.jsonl.gz", id = "accinit.4";
  const BisectReport report = bisected_record(file, id);
  INFO(report.text(), report.error);
  CHECK(report.verdict.location == "codegen/__init__.py:231");
  Session session;
  session.overrides.imports_kernels = true;
  RunOptions options;
  options.input.name = test_path("verdicts/" + file);
  GraphSource source = std::move(GraphSource::open(session, options.input.name, id).value_or_throw());
  auto in = std::move(source.next_graph().value_or_throw());
  REQUIRE(in);
  const RunReport run = run_kernel(session, *in, options);
  INFO(run.text(1, false));
  CHECK(run.result() == RunReport::Result::Failed);
  CHECK(run.input_set_note == "below zero");
}

TEST_CASE("schedule: buffers of a TinyJit that share memory, or that the program uses, are faults of the planner") {
  const BisectReport shared = bisected_record("plan_overlaps14.tensor.jsonl.gz", "schedule_programs.plan0");
  INFO(shared.text(), shared.error);
  CHECK(shared.verdict.kind == Kind::Order);
  CHECK(shared.verdict.function == "memory_plan_rewrite (schedule/memory.py)");
  CHECK(shared.verdict.kernel_numbers.size() == 2);
  const BisectReport moved = bisected_record("plan_moves14.tensor.jsonl.gz", "schedule_programs.plan0");
  INFO(moved.text(), moved.error);
  CHECK(moved.verdict.kind == Kind::Order);
  CHECK(moved.verdict.detail.find("which the program uses afterwards") != std::string::npos);
}

// Each fault was made in a copy of tinygrad 0.14.0's engine/jit.py.
TEST_CASE("schedule: what a TinyJit makes of its kernels, and what a replay runs, must leave the same contents") {
  struct Fault {
    const char *file, *record, *function, *text;
  };
  const Fault faults[] = {
      {"jit_order14", "jitorder.plan0", "TinyJit.__call__ (engine/jit.py)", "kernel 0 reads data"},
      {"jit_slot14", "jitslot.plan0", "jit_lower (engine/jit.py)", "kernel 0 reads data"},
      {"jit_held14", "jitheld.plan0", "memory_plan_rewrite (schedule/memory.py)", "in the place of data0"},
      {"jit_copy14", "jitcopy.plan0.call1", "CapturedJit.__call__ (engine/jit.py)", "an input that was not copied"},
  };
  for (const Fault& f : faults) {
    const BisectReport report = bisected_record(f.file + std::string(".tensor.jsonl.gz"), f.record);
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Order);
    CHECK(report.verdict.function == f.function);
    CHECK(report.verdict.detail.find(f.text) != std::string::npos);
    CHECK(report.exit_code() == 1);
  }
  for (const char* id : {"jitcopy.plan0", "jitcopy.plan0.call1", "jitheld.plan0", "jitorder.plan0"}) {
    const BisectReport report = bisected_record("jit_right14.tensor.jsonl.gz", id);
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Same);
  }
}

TEST_CASE("schedule: a kernel that loads what an earlier iteration stored through another argument is a hazard") {
  const BisectReport report = bisected_record("shared_arguments14.tensor.jsonl.gz", "attack.s3");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Hazard);
  CHECK(report.verdict.detail.find("iteration r0=1 loads data1[1], which iteration r0=0 stores") != std::string::npos);
}

TEST_CASE("schedule: a kernel that loads what an earlier iteration stored is a hazard, although REF loads first") {
  const BisectReport report = bisected_record("transposed_store14.tensor.jsonl.gz", "schedule_programs.s27");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Hazard);
  CHECK(report.verdict.function == "fix_store_hazard (schedule/rangeify.py)");
}

TEST_CASE("schedule: a plan that gives two arguments of one kernel the same memory is the planner's fault") {
  const BisectReport report = bisected_record("plan_in_kernel14.tensor.jsonl.gz", "schedule_programs.plan0");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Order);
  CHECK(report.verdict.function == "memory_plan_rewrite (schedule/memory.py)");
}

TEST_CASE("schedule: the rule that moves an index out of bounds is named, not the rule that calls it") {
  const BisectReport report = bisected_record("shrink_twice14.tensor.jsonl.gz", "schedule_programs.s52");
  INFO(report.text(), report.error);
  CHECK(report.verdict.location == "schedule/rangeify.py:52");
  CHECK(report.verdict.function == "apply_movement_op (schedule/indexing.py)");
}

TEST_CASE("schedule: a wrong rewrite names the line of the program that made its node, and how to repeat the search") {
  const BisectReport report = bisected_record("both_signs14.tensor.jsonl.gz", "signs.s3");
  INFO(report.text(), report.error);
  CHECK(report.verdict.location == "uop/symbolic.py:238");
  CHECK(report.origin_text == "__add__ at signs.py:3");
  CHECK(report.repro_command.starts_with("tgc bisect "));
}

TEST_CASE("schedule: with the arrays of a failure, sides of rewrites are compared with these arrays") {
  const std::string file = test_path("verdicts/lt_float13.tensor.jsonl.gz");
  RunOptions options;
  options.input.name = file;
  options.input.arrays_file = test_path("verdicts/lt_float13.in.npz");
  options.compare.expected_file = test_path("verdicts/lt_float13.want.npz");
  Session session;
  GraphSource source = std::move(GraphSource::open(session, file, "p05.3").value_or_throw());
  auto in = std::move(source.next_graph().value_or_throw());
  REQUIRE(in);
  const BisectReport report = bisect_tensor_graph(session, *in, options);
  INFO(report.text(), report.error);
  CHECK(report.verdict.location == "uop/symbolic.py:268");
}

}  // namespace tgc
