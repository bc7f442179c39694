// Options of run and bisect have an effect, or are refused.
#include "apps/tgc/cli_testing.h"
#include "lib/runtime/npz.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::string schedule() { return test_path("verdicts/options_ignored14.tensor.jsonl.gz"); }
std::string kernel() { return test_path("import/variable.jsonl.gz"); }

TEST_CASE("cli: run and bisect refuse each option that has no effect on a recorded schedule") {
  for (const char* option : {"--recorded", "--sanitize", "--repro=r.repro", "--reference=CPU"})
    for (const char* command : {"run ", "bisect "})
      expect_error(command + schedule() + " " + option, "has no effect on the recorded schedule 'q_v14.3'");
  for (const char* option : {"--crash", "--from=ast", "--cmd='true {}'", "--reference=none"})
    expect_error("bisect " + schedule() + " " + option, "has no effect on the ");
  expect_error("run --var=q=1 " + schedule(), "the graph has no variable 'q'");
  expect_error("run --emulate " + schedule(), "--emulate does nothing for REF");
  expect_error("run --expect=missing.npz " + schedule(), "missing.npz");
  expect_error("bisect --expect=missing.npz " + schedule(), "missing.npz");
  expect_error("run --weights=w.npz " + schedule(), "--weights w.npz is for a model");
  for (const char* option : {"--opts='[]'", "--target=CPU:CLANG", "--set=NOOPT=1"})
    expect_error("run " + schedule() + " " + option, "without --target, --set or --opts");
}

TEST_CASE("cli: a recorded schedule that is not compared for lack of time names --timeout") {
  for (const char* command : {"run ", "bisect "}) {
    expect_error(command + schedule() + " --timeout=1e-4",
                 "'q_v14.3': the comparison did not end within 0.0001 seconds");
    expect_error(command + schedule() + " --timeout=1e-4", "expected --timeout=S, which allows more time");
  }
}

TEST_CASE("cli: run compares a recorded schedule with --expect, and --save writes its results") {
  CommandResult wrong = run_tgc("run " + schedule() + " --expect=" + test_path("verdicts/wrong_data2.npz"));
  CHECK(wrong.code == 1);
  CommandResult kept =
      run_tgc("run " + schedule() + " --save-failures=kept --expect=" + test_path("verdicts/wrong_data2.npz"));
  CHECK(kept.code == 1);
  CHECK(contains_text(kept.out, "again: tgc run "));
  for (const char* what : {"inputs", "expected", "actual"})
    CHECK(std::filesystem::exists(scratch_folder() / "kept" / ("q_v14.3-" + std::string(what) + ".npz")));
  CommandResult saved = run_tgc("run " + schedule() + " --save=s.npz");
  CHECK(saved.code == 0);
  auto arrays = read_arrays((scratch_folder() / "s.npz").string());
  REQUIRE(arrays.ok());
  CHECK(find_array(*arrays, "data2"));
  CHECK(run_tgc("run " + schedule() + " --expect=s.npz").code == 0);
  // without --expect, an element whose value rounding decides is not compared; with --expect, it is compared
  const std::string near = test_path("verdicts/lt_float13.tensor.jsonl.gz");
  const std::string inputs = " --inputs=" + test_path("verdicts/lt_float13.in.npz");
  CHECK(run_tgc("run " + near + inputs).code == 0);
  CHECK(run_tgc("run " + near + inputs + " --expect=" + test_path("verdicts/lt_float13.want.npz")).code == 1);
}

TEST_CASE("cli: run and bisect of a schedule say what was not compared") {
  const std::string near = test_path("verdicts/lt_float13.tensor.jsonl.gz");
  const std::string inputs = " --inputs=" + test_path("verdicts/lt_float13.in.npz");
  const CommandResult part = run_tgc("bisect " + near + inputs);
  CHECK(part.code == 0);
  CHECK(contains_text(part.out, ": no failure in 3 of 4 elements, its kernels compute what the tensor graph says"));
  CHECK(contains_text(part.out, "; 1 of 4 elements left out: rounding, or what C leaves undefined, decides them"));
  CHECK(contains_text(run_tgc("bisect --json " + near + inputs).out, "\"elements\":4,\"left_out\":1,"));
  // rounding decides whether x + 1 < 1 for all four elements of x
  Arrays all = std::move(read_arrays(test_path("verdicts/lt_float13.in.npz")).value_or_throw());
  for (float& x : all[0].array.as<float>()) x = -1e-9F;
  REQUIRE(write_npz((scratch_folder() / "all.npz").string(), all));
  expect_error("bisect " + near + " --inputs=all.npz",
               "'p05.3': not decided: nothing was compared: rounding, or what C leaves undefined, decides every "
               "element");
  CHECK(contains_text(run_tgc("run " + near + " --inputs=all.npz").out, "run, not compared,"));
}

TEST_CASE("cli: the arrays of --inputs are those of the graph, and reports name their file") {
  const std::string near = test_path("verdicts/lt_float13.tensor.jsonl.gz");
  const std::string file = test_path("verdicts/lt_float13.in.npz");
  const CommandResult given = run_tgc("run " + near + " --inputs=" + file);
  CHECK(contains_text(given.out, ", inputs of " + file + "\n"));
  CHECK(contains_text(run_tgc("run --json " + near + " --inputs=" + file).out, "\"inputs\":"));
  CHECK(contains_text(run_tgc("bisect " + near + " --inputs=" + file).out, " for the inputs of " + file));
  CHECK(contains_text(run_tgc("run " + near).out, ", inputs drawn with --seed 0"));
  Arrays other = std::move(read_arrays(file).value_or_throw());
  other[0].name = "data7";
  REQUIRE(write_npz((scratch_folder() / "other.npz").string(), other));
  const std::string model = test_path("models/mlp.onnx");
  for (const std::string command : {"run ", "bisect "}) {
    expect_error(command + near + " --inputs=other.npz",
                 "the schedule 'p05.3' has no array 'data7', expected data1, data2");
    expect_error(command + kernel() + " --inputs=other.npz", "the kernel has no array 'data7', expected data0, ");
    expect_error(command + model + " --inputs=other.npz", "the model has no input 'data7', expected ");
  }
  // a file for several graphs may have arrays that not all of them have
  run_in_shell("zcat " + near + " > several.jsonl; tail -n 1 several.jsonl | sed 's/p05.3/p05.4/' >> several.jsonl");
  const CommandResult several = run_tgc("run several.jsonl --inputs=other.npz");
  CHECK(several.code == 0);
  CHECK(contains_text(several.out, ", inputs drawn with --seed 0"));
}

TEST_CASE("cli: bisect refuses each option that has no effect on a recorded kernel") {
  for (const char* option : {"--recorded", "--sanitize", "--repro=r.repro", "--reference=CPU", "--reference=none",
                             "--crash", "--from=ast", "--cmd='true {}'", "--against=x.jsonl"})
    expect_error("bisect " + kernel() + " " + option, "has no effect on the recorded kernel");
  expect_error("bisect --device=CUDA " + kernel(), "the kernel's source was recorded for ");
  expect_error("bisect --var=q=1 " + kernel(), "the kernel has no variable 'q'");
  run_in_shell("zcat " + kernel() + " > two.jsonl; tail -n 1 two.jsonl | sed 's/kv.1/kv.9/' >> two.jsonl");
  CHECK(run_tgc("bisect --var=pos=2 two.jsonl").code == 0);
  CHECK(run_tgc("bisect --var=q=2 two.jsonl").code == 2);
}

TEST_CASE("cli: bisect refuses the searches for one kernel on a model") {
  const std::string model = test_path("models/mlp.onnx");
  for (const char* option : {"--crash", "--from=ast", "--cmd='true {}'", "--against=x.jsonl"})
    expect_error("bisect " + model + " " + option, "has no effect on the model");
}

TEST_CASE("cli: run also tries the smallest and the largest value of a variable, except of --var") {
  CommandResult both = run_tgc("run --device=REF " + kernel());
  CHECK(both.code == 0);
  CHECK(contains_text(both.out, "\n  also with pos="));
  CHECK(contains_text(both.out, ", the largest\n"));
  CHECK_FALSE(contains_text(run_tgc("run --device=REF --var=pos=5 " + kernel()).out, "also with"));
}

}  // namespace
}  // namespace tgc
