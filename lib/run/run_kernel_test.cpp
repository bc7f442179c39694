#include "lib/run/run.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "lib/driver/source.h"
#include "lib/execute/lower.h"
#include "lib/run/failure_signature.h"
#include "lib/runtime/npz.h"
#include "lib/support/deadline.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

// The kernel data0[i] = f(a, b) for 64 floats a = data1[i] and b = data2[i]; `f` is an expression.
std::string elementwise(const std::string& f) {
  std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), ";
  return "i = UOp.range(64, 0, AxisType.LOOP)\na = " + global + "1).index(i)\nb = " + global +
         "2).index(i)\nast = " + global + "0).index(i, ptr=True).store(" + f + ").end(i).sink()\n";
}

InputGraph loaded(const std::string& text, const std::string& target = "", const Settings& settings = {}) {
  InputGraph out = std::move(load_graph_text(settings, InputKind::Pyrender, text, "test.uop").value_or_throw());
  out.info.name = "test", out.info.target = target;
  return out;
}

struct TemporaryFile {
  std::string path = (fs::temp_directory_path() / ("tgc_trial_test." + std::to_string(getpid()) + ".npz")).string();
  ~TemporaryFile() { fs::remove(path); }
};

RunReport run(const std::string& text, const RunOptions& spec, const std::string& target = "") {
  InputGraph in = loaded(text, target);
  return run_kernel(Session(), in, spec);
}

void passes(const RunReport& report) {
  INFO(report.error << report.text(1, false));
  CHECK(report.is_passed());
}

}  // namespace

TEST_CASE("run_kernel draws the same inputs for a seed, whatever they are compared with") {
  // the square root of a negative input would be NaN
  for (std::string f : {"a+b", "(a.sqrt()+b)", "(a*a+b*b).sqrt()"}) {
    CAPTURE(f);
    TemporaryFile file;
    RunReport saved = run(elementwise(f), {.device = {.name = "CPU"}, .output = {.save_path = file.path}});
    passes(saved);
    RunReport same = run(elementwise(f), {.device = {.name = "CPU"}, .compare = {.expected_file = file.path}});
    passes(same);
    CHECK(same.float_distribution == saved.float_distribution);
    CHECK(saved.float_distribution.empty() == (f != "(a.sqrt()+b)"));
    passes(run(elementwise(f), {.device = {.name = "REF"}, .compare = {.expected_file = file.path}}));
    passes(run(elementwise(f), {.device = {.name = "CPU:CLANG"}, .compare = {.expected_file = file.path}}));
    const RunOptions with_clang{.device = {.name = "CPU"}, .compare = {.reference_device = "CPU:CLANG"}};
    CHECK(run(elementwise(f), with_clang).float_distribution == saved.float_distribution);
    CHECK(run(elementwise(f), {.device = {.name = "CPU"}, .compare = {.reference_device = "none"}})
          .float_distribution == saved.float_distribution);
    const RunOptions other_seed{
        .input = {.seed = 1}, .device = {.name = "CPU"}, .compare = {.expected_file = file.path}};
    CHECK(run(elementwise(f), other_seed).result() ==
          RunReport::Result::Failed);
  }
}

// tinygrad 0.12.0 rewrites a + 5 < 100 to a < 95, which is wrong if a + 5 overflows; the usual inputs are at most 50.
constexpr const char* kWrongIfLarge =
    "i = UOp.range(64, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.uint.ptr(64), (), 1).index(i)\n"
    "v = (a+5<UOp.const(dtypes.uint, 100)).cast(dtypes.uint)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.uint.ptr(64), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";

TEST_CASE("run_kernel runs a kernel on inputs of all sizes, too, except arrays that decide an address") {
  const RunOptions on_cpu{.device = {.name = "CPU"}};
  for (uint64_t seed = 0; seed < 4; seed++) {
    RunOptions seeded = on_cpu;
    seeded.input.seed = seed;
    const RunReport report = run(kWrongIfLarge, seeded);
    CHECK(report.result() == RunReport::Result::Failed);
    CHECK(report.text(1, false).find("from seed " + std::to_string(seed) + "; of all sizes)") != std::string::npos);
  }
  RunReport floats = run(elementwise("a*b+a"), on_cpu);
  passes(floats);
  CHECK(floats.input_set_note == "also of all sizes");
  // a / b is infinite or NaN in many elements
  passes(run(elementwise("(a*b.reciprocal()).maximum(a)"), on_cpu));
  const RunReport gather = run(
      "i = UOp.range(50, 0, AxisType.LOOP)\n"
      "at = UOp(Ops.DEFINE_GLOBAL, dtypes.uint.ptr(50), (), 1).index(i).cast(dtypes.index)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(51), (), 2).index(at)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(50), (), 0).index(i, ptr=True).store(a).end(i).sink()\n", on_cpu);
  passes(gather);
  CHECK(gather.input_set_note == "also of all sizes");
}

TEST_CASE("run_kernel finds a difference in large inputs that only the AST reads") {
  // tinygrad 0.12.0 assumes that a cast to char is never negative if the uint is not
  std::string text = kWrongIfLarge;
  text.replace(text.find("a+5<UOp.const(dtypes.uint, 100)"), 31, "a.cast(dtypes.char)<UOp.const(dtypes.char, -100)");
  const RunReport report = run(text, {.device = {.name = "CPU"}});
  CHECK(report.result() == RunReport::Result::Failed);
}

TEST_CASE("run_kernel runs on the target that the input names") {
  CHECK(run(elementwise("a+b"), {}).device == "CPU:LLVM");
  CHECK(run(elementwise("a+b"), {}, "CPU:CLANG").device == "CPU:CLANG");
  CHECK(run(elementwise("a+b"), {.device = {.name = "CPU:LLVM"}}, "CPU:CLANG").device == "CPU:LLVM");
  CHECK(run(elementwise("a+b"), {.device = {.name = "REF"}}, "CPU:CLANG").device == "REF");
  // REF runs the linear list that is lowered for Metal
  RunReport metal = run(elementwise("a+b"), {}, "METAL");
  passes(metal);
  CHECK(metal.device == "REF, lowered for METAL:METAL");
}

TEST_CASE("run_kernel does not pass if nothing was compared") {
  RunReport report = run(elementwise("a+b"), {.device = {.name = "REF"}});
  CHECK(report.result() == RunReport::Result::NotCompared);
  CHECK(report.exit_code() == 0);
  CHECK(report.text(1, false).starts_with("test: run, not compared, on REF (inputs from seed 0)"));
  CHECK(report.json().find("\"result\":\"ran\"") != std::string::npos);
  RunCounts counts;
  for (int i = 0; i < 6; i++) counts.add_result(report.result());
  CHECK(counts.text() == "6 of 6 kernels run, none compared\n");
  counts.add_result(run(elementwise("a+b"), {.device = {.name = "CPU"}}).result());
  CHECK(counts.text() == "1 of 7 kernels passed, 6 run, not compared\n");
}

TEST_CASE("run_kernel uses each graph's own settings and target") {
  // the second graph has another target and NOOPT=1
  Session session;
  Settings noopt;
  noopt.NOOPT = 1;
  InputGraph plain = loaded(elementwise("a+b")), slow = loaded(elementwise("a+b"), "CPU:CLANG", noopt);
  RunReport first = run_kernel(session, plain, {.device = {.timed_runs = 1}}),
            second = run_kernel(session, slow, {.device = {.timed_runs = 1}});
  passes(first), passes(second);
  CHECK(second.device == "CPU:CLANG");
  REQUIRE((first.timed_runs && second.timed_runs));
  CHECK(first.timed_runs->name != second.timed_runs->name);
}

TEST_CASE("run_kernel checks names and ranges of variables") {
  std::string text = elementwise("a+b");
  text = "n = UOp.variable('n', 1, 64)\n" + text.replace(text.find("range(64"), 8, "range(n");
  const RunReport drawn = run(text, {.device = {.name = "CPU"}});
  passes(drawn);
  CHECK(drawn.variable_values.at("n").value_source == "drawn");
  CHECK(run(text, {.input = {.variables = {{"n", 65}}}, .device = {.name = "CPU"}}).error ==
        "the variable 'n' cannot be 65, expected 1 to 64");
  RunReport bound = run(text, {.input = {.variables = {{"n", 8}, {"m", 1}}}, .device = {.name = "CPU"}});
  passes(bound);
  CHECK(bound.variables == std::set<std::string>{"n"});
  const InputOptions only{.variables = {{"n", 8}, {"m", 1}}, .is_only_kernel = true};
  CHECK(run(text, {.input = only, .device = {.name = "CPU"}}).error ==
        "the kernel has no variable 'm', expected --var n=N");
  CHECK(parse_variables({"n=3", "m=-1"}).value_or_throw() == VariableValues{{"m", -1}, {"n", 3}});
  CHECK(parse_variables({"n"}).diag().message == "--var takes NAME=INTEGER, not 'n'");
  CHECK(parse_variables({"n=1", "n=2"}).diag().message == "--var gives 'n' twice");
}

TEST_CASE("run_kernel runs every stage in REF") {
  RunReport report = run(elementwise("a+b"), {.device = {.name = "REF"}, .compare = {.should_run_each_stage = true}});
  passes(report);
  REQUIRE(report.stage_difference);
  CHECK(report.stage_difference->num_stages_run > 3);
}

TEST_CASE("run_kernel --each-stage: threads that are still loops have their own registers") {
  // the maximum over r of b[r] - 0.03 * sum(b), in a loop over i
  const std::string text =
      "i = UOp.range(16, 0, AxisType.LOOP)\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(512), (), 1)\n"
      "s = UOp.range(32, 1, AxisType.REDUCE)\n"
      "r = UOp.range(32, 2, AxisType.REDUCE)\n"
      "sum = b.index(i*32+s).reduce(s, arg=Ops.ADD)\n"
      "v = (b.index(i*32+r)+sum*UOp.const(dtypes.float, -0.03)).reduce(r, arg=Ops.MAX)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";
  Session session;
  session.overrides.target = "CUDA";
  for (const char* opts : {"[Opt(OptOps.LOCAL, 0, 8), Opt(OptOps.GROUP, 1, 8), Opt(OptOps.GROUP, 0, 8)]",
                           "[Opt(OptOps.GROUPTOP, 1, 8), Opt(OptOps.LOCAL, 0, 4), Opt(OptOps.GROUP, 0, 4)]"}) {
    session.overrides.opts = opts;
    InputGraph in = loaded(text);
    RunReport report =
        run_kernel(session, in, {.device = {.name = "REF"}, .compare = {.should_run_each_stage = true}});
    INFO(opts);
    passes(report);
    CHECK(report.stage_difference->num_stages_run > 10);
  }
}

// A loop of 2^40 rounds, which does not end in REF. LLVM removes it if `dtype` is "int", but not if it is "float".
std::string endless(const std::string& dtype) {
  auto first = [&](const char* number, const char* ptr) {
    return "UOp(Ops.DEFINE_GLOBAL, dtypes." + dtype + ".ptr(1), (), " + number +
           ").index(UOp.const(dtypes.index, 0)" + ptr + ")";
  };
  return "r = UOp.range(1099511627776, 0, AxisType.REDUCE)\nsum = (" + first("1", "") + "*r.cast(dtypes." + dtype +
         ")).reduce(r, arg=Ops.ADD)\nast = " + first("0", ", ptr=True") + ".store(sum).sink()\n";
}

RunReport run_for_a_second(const std::string& text, RunOptions options) {
  options.device.timeout_seconds = 1;
  const auto begin = Clock::now();
  RunReport out = run(text, options);
  CHECK(seconds_since(begin) < 2 + 2);  // two more seconds for a busy machine
  CHECK(std::isinf(current_deadline().seconds_left()));
  return out;
}

TEST_CASE("run_kernel: a time limit holds for the whole trial of a kernel") {
  const std::string timeout = "did not end within 1 second, expected --timeout=S where it may take longer";
  RunReport report = run_for_a_second(endless("int"), {.device = {.name = "REF"}});
  CHECK(report.error == timeout);
  CHECK(report.exit_code() == 2);
  CHECK(run_for_a_second(endless("float"), {.device = {.name = "CPU"}}).error == timeout);
  report = run_for_a_second(endless("int"), {.device = {.name = "CPU"}});
  CHECK(report.error == "the reference, REF: " + timeout);
  CHECK(report.exit_code() == 2);
  report = run_for_a_second(endless("int"), {.device = {.name = "CPU", .timed_runs = 3}});
  CHECK(report.error == "the reference, REF: " + timeout);
  report = run_for_a_second(endless("int"), {.device = {.name = "CPU"}, .compare = {.should_run_each_stage = true}});
  CHECK(report.error == "the reference, REF: " + timeout);
}

TEST_CASE("run_kernel reports what it left out for lack of time") {
  TemporaryFile expect;
  Arrays wrong;
  wrong.push_back({"data0", Array(dtypes::int32, {1})});
  wrong[0].array.as<int32_t>()[0] = 7;
  write_npz(expect.path, wrong).value_or_throw();
  // the rerun in REF that would tell whether rounding is the reason does not end
  RunReport report = run_for_a_second(
      endless("int"), {.device = {.name = "CPU"}, .compare = {.expected_file = expect.path}});
  CHECK(report.error == "");
  CHECK(report.result() == RunReport::Result::Failed);
  CHECK(report.left_out_runs == std::vector<std::string>{"the rerun that tells rounding from faults"});
  CHECK(report.text(1, false).find("\n  left out for lack of time: the rerun that tells rounding from faults\n") !=
        std::string::npos);
  CHECK(report.json().find("\"out_of_time\":[\"the rerun that tells rounding from faults\"]") != std::string::npos);
  report = run_for_a_second(elementwise("a+b"), {.device = {.name = "CPU", .timed_runs = 100'000'000}});
  passes(report);
  REQUIRE(report.timed_runs);
  CHECK(!report.timed_runs->run_seconds.empty());
  REQUIRE(report.left_out_runs.size() == 1);
  CHECK(report.left_out_runs[0].ends_with(" of 100000000 timed runs"));
}

TEST_CASE("run_kernel: a time limit holds for --repro and for bundles too") {
  TemporaryFile bundle;
  RunReport report =
      run_for_a_second(endless("float"), {.device = {.name = "CPU"}, .output = {.repro_path = bundle.path}});
  CHECK(report.written_files == std::vector<std::string>{bundle.path});
  const auto begin = Clock::now();
  InputGraph slow = loaded(endless("float")), slow_in_ref = loaded(endless("int"));
  const RunOptions options{.device = {.name = "CPU", .timeout_seconds = 1}};
  CHECK(failure_signature_of(Session(), slow, options).value_or_throw().kind == FailureSignature::Kind::Crash);
  CHECK(seconds_since(begin) < 2 + 2);
  CHECK(is_out_of_time(failure_signature_of(Session(), slow_in_ref, options).diag()));
  CHECK(seconds_since(begin) < 2 * (2 + 2));
}

TEST_CASE("run_kernel: lowering and drawing end at the time limit") {
  std::string text = elementwise("a+b"), deep = "a";
  for (int i = 0; i < 3000; i++) deep = "(" + deep + (i % 2 ? "+b)" : "*b)");
  InputGraph in = loaded(elementwise(deep));
  const Target target = lowering_target(make_ref_placement(), {});
  DeadlineScope scope(0.01);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  auto list = lower_kernel({.root = in.root}, target);
  REQUIRE(!list);
  CHECK(is_out_of_time(list.diag()));
  Array a(dtypes::float32, {8});
  CHECK_THROWS_AS(fill_random(a, 0, "data1"), Failure);
  CHECK(!compare_arrays("data0", a, a, {}));
}

TEST_CASE("run_model runs a model without a reference and reports that nothing was compared") {
  std::string model = test_path("models/mlp");
  ModelReport report = run_model(Session(), model + ".onnx", {.device = {.name = "CPU"}});
  REQUIRE_MESSAGE(report.error.empty(), report.error);
  CHECK(report.result() == RunReport::Result::NotCompared);
  CHECK(report.text().starts_with(model + ".onnx: run, not compared, on CPU:LLVM, 5 kernels, inputs drawn"));
  report = run_model(Session(), model + ".onnx",
                     {.device = {.name = "CPU"}, .compare = {.reference_device = "REF"}});
  CHECK(report.result() == RunReport::Result::Passed);
  CHECK(report.num_confirmed_kernels == report.schedule_result.num_kernels);
  CHECK(report.text().starts_with(model + ".onnx: passed on CPU:LLVM, 5 kernels, inputs drawn"));
}

}  // namespace tgc
