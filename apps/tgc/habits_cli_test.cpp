// Habits of users that must work or get a helpful error.
#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

const std::string kRecords = test_path("golden/kernels.jsonl.gz");
const std::string kRecord = "'" + kRecords + "#bin_add_half.0'";

}  // namespace

TEST_CASE("cli: --set and --var take one value each, so that INPUT may follow") {
  CommandResult set = run_tgc("dump --set NOOPT=1 " + kRecord + " --stage=optimize");
  INFO(set.err);
  CHECK(set.code == 0);
  CHECK_FALSE(contains_text(set.out, "AxisType.UPCAST"));
  CommandResult two = run_tgc("dump --set NOOPT=1 --set THREADS=0 " + kRecord + " --stage=ast");
  CHECK(two.code == 0);
  CHECK(run_tgc("run --var n=3 " + kRecord + " --device=REF").err.find("the kernel has no variable 'n'") !=
        std::string::npos);
}

TEST_CASE("cli: tinygrad's variables choose the target, count rules, or are reported as ignored") {
  std::string kernel = write_scratch_file("k.uop", run_tgc("dump " + kRecord).out);
  CHECK(contains_text(run_tgc("dump --stage=source " + kernel, "/dev/null", "CPU_LLVM=1").out, "define void"));
  CHECK(contains_text(run_tgc("dump --stage=source " + kernel, "/dev/null", "DEV=metal").out, "kernel void"));
  CHECK(contains_text(run_tgc("dump --stage=source --target=CPU " + kernel, "/dev/null", "METAL=1").out, "void "));
  for (const char* variable : {"VIZ=1", "JIT=1", "PROFILE=1", "DEVICE=CPU", "CLANG=1"}) {
    CommandResult r = run_tgc("dump " + kernel, "/dev/null", variable);
    CHECK(r.code == 0);
    CHECK(contains_text(r.err, std::string("tgc: note: ") + variable + " does nothing here: "));
  }
  CHECK(run_tgc("dump " + kernel, "/dev/null", "VIZ=0").err.empty());
  CommandResult counted = run_tgc("dump --stage=source " + kernel, "/dev/null", "TRACK_MATCH_STATS=1");
  CHECK(contains_text(counted.err, "-- TOTAL"));
  CHECK(counted.out == run_tgc("dump --stage=source " + kernel).out);
}

TEST_CASE("cli: dump prints several stages as one JSON document") {
  CommandResult r = run_tgc("dump --json --stage=expander,source " + kRecord);
  CHECK(r.out.starts_with("{\"texts\":["));
  CHECK(contains_text(r.out, "{\"kernel\":\"bin_add_half.0\",\"stage\":\"source\",\"text\":\""));
  // The JSON of a single stage is that of its graph.
  CHECK(run_tgc("dump --json --stage=expander " + kRecord).out.starts_with("{\"format\":"));
}

TEST_CASE("cli: common mistakes get a specific message") {
  expect_error("trace " + kRecord + " --rule=nosuch", "no rule is called 'nosuch'");
  expect_error("trace " + kRecord + " --rule=mul-distribut", "expected mul-distribute");
  CHECK(run_tgc("trace " + kRecord + " --rule='mul-*' -q").code == 0);
  expect_error("run " + kRecord + " --weights=w.npz", "--weights w.npz is for a model");
  expect_error("dump --stage=schedule " + kRecord, "no graph of the input has 'schedule'");
  expect_error("dump --from=expandr " + kRecord, "unknown stage 'expandr', expected expander");
  std::string later = run_tgc("dump --stage=expander --format=nodes " + kRecord).out;
  CHECK_FALSE(later.empty());
}

TEST_CASE("cli: --recorded dumps and runs a broken tinygrad's record, and --each-stage names the wrong stage") {
  std::string broken = test_path("wrong.jsonl.gz"), id = "#bin_add_half.0";
  CommandResult ours = run_tgc("dump '" + broken + id + "' --stage=postopt"),
      theirs = run_tgc("dump '" + broken + id + "' --stage=postopt --recorded");
  CommandResult as_json = run_tgc("dump '" + broken + id + "' --stage=postopt --recorded --json");
  CHECK(contains_text(as_json.out, "\"stage\":\"postopt symbolic\""));
  CHECK(ours.code == 0);
  CHECK(theirs.code == 0);
  CHECK(ours.out != theirs.out);
  CommandResult all = run_tgc("run --device=REF --each-stage '" + broken + id + "'");
  CHECK(contains_text(all.out, "computes the same"));
  CommandResult recorded = run_tgc("run --device=REF --each-stage --recorded --reference=REF '" + broken + id + "'");
  INFO(recorded.out << recorded.err);
  CHECK(recorded.code != 0);
  CHECK(contains_text(recorded.out + recorded.err, "postopt symbolic"));
  expect_error("run --recorded " + write_scratch_file("k.uop", run_tgc("dump " + kRecord).out) + " --device=REF",
               "holds no recorded list");
}

TEST_CASE("cli: diff of a record alone compares it with what tgc makes of it") {
  CommandResult good = run_tgc("diff " + kRecord), bad = run_tgc("diff '" + test_path("wrong.jsonl.gz") + "'");
  INFO(good.out << good.err << bad.out << bad.err);
  CHECK(good.code == 0);
  CHECK(contains_text(good.out, "1 run compared, 1 the same"));
  CHECK(bad.code == 1);
  CHECK(contains_text(bad.out, "the first stage that differs is 'postopt symbolic'"));
  CHECK(run_tgc("diff " + test_path("golden/tensor.jsonl.gz")).code == 0);
  expect_error("diff " + write_scratch_file("k.uop", run_tgc("dump " + kRecord).out),
               "a graph alone has nothing to be compared with");
}

TEST_CASE("cli: run --reference=FILE compares two graphs by what they compute") {
  std::string text =
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 0)\nc1 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 1)\n"
      "c2 = UOp.range(8, 0, AxisType.LOOP)\nc6 = c0.index(c2, ptr=True).store(VALUE).end(c2)\nast = c6.sink()\n";
  auto with = [&](const char* name, const std::string& value) {
    std::string copy = text;
    return write_scratch_file(name, copy.replace(copy.find("VALUE"), 5, value));
  };
  std::string twice = with("twice.uop", "c1.index(c2)*UOp.const(dtypes.int, 2)"),
              sum = with("sum.uop", "c1.index(c2)+c1.index(c2)"),
              other = with("other.uop", "c1.index(c2)+UOp.const(dtypes.int, 1)");
  CHECK(run_tgc("run " + twice + " --reference=" + sum).code == 0);
  CHECK(run_tgc("run " + twice + " --device=REF --reference=" + sum).code == 0);
  CommandResult differs =
      run_tgc("run " + twice + " --reference=" + other, "/dev/null", "cd " + scratch_folder().string() + " &&");
  CHECK(differs.code == 1);
}

TEST_CASE("cli: a run that compared nothing does not pass") {
  for (const char* json : {"", " --json"}) {
    CommandResult none = run_tgc("check " + kRecords + " --filter=nosuch" + json),
        skipped = run_tgc("check " + kRecords + " --stages=kernels" + json);
    CHECK(none.code == 2);
    CHECK(contains_text(none.err, "nothing was compared: no record was chosen"));
    CHECK(skipped.code == 2);
    CHECK(contains_text(skipped.err, "nothing was compared"));
  }
  CommandResult both = run_tgc("check --json '" + kRecords + "#bin_add_half.0' " + kRecords);
  CHECK(both.code == 0);
  // the record of the first INPUT, FILE#ID, and all records of the second
  CHECK(contains_text(both.out, "{\"records\":117,"));
}
