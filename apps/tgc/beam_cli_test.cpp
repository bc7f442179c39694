#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

const std::string kRecords = test_path("golden/kernels.jsonl.gz");
const std::string kRecord = "'" + kRecords + "#bert_mini.31' --target=CPU:LLVM";
const std::string kResults = "TGC_BEAM_DB=results.db";

}  // namespace

TEST_CASE("cli: beam results are listed, used under BEAM=N, merged, exported to tinygrad, imported and removed") {
  CommandResult found = run_tgc("beam " + kRecord + " --width=1 --set BEAM_UPCAST_MAX=8 --json", "/dev/null", kResults);
  CHECK(found.code == 0);
  for (const char* key : {"\"opts\":[", "\"seconds\":", "\"before\":", "\"candidates\":", "\"wall\":"})
    CHECK(contains_text(found.out, key));
  CHECK(contains_text(run_tgc("beam --list", "/dev/null", kResults).out, "bert_mini.31  CPU:LLVM  BEAM=1"));

  CommandResult with = run_tgc("dump " + kRecord + " --stage=optimize", "/dev/null", kResults + " BEAM=1");
  CHECK(contains_text(with.err, "BEAM=1: 1 kernel with opts that `tgc beam` has found, 0 kernels by hand-coded opts"));
  CommandResult wider = run_tgc("dump " + kRecord + " --stage=optimize --set BEAM=2", "/dev/null", kResults);
  CHECK(contains_text(wider.err, "BEAM=2: 0 kernels with opts"));
  CHECK(run_tgc("dump " + kRecord + " --stage=optimize", "/dev/null", kResults).err.empty());

  CHECK(run_tgc("beam merge results.db results.db -o both.db").code == 0);
  CHECK(contains_text(run_tgc("beam --list --results=both.db").out, "1 result\n"));
  CHECK(contains_text(run_tgc("beam --export-cache=cache.db", "/dev/null", kResults).out, "1 result exported"));
  CHECK(contains_text(run_tgc("beam --import-cache=cache.db --results=back.db --target=CPU:LLVM").out,
                      "1 result imported"));
  CommandResult back = run_tgc("dump " + kRecord + " --stage=optimize", "/dev/null", "TGC_BEAM_DB=back.db BEAM=1");
  CHECK(back.out == with.out);
  CHECK(contains_text(run_tgc("beam --remove=CPU:LLVM", "/dev/null", kResults).out, "1 removed"));
  CommandResult nothing = run_tgc("beam --remove=CPU:LLVM", "/dev/null", kResults);
  CHECK(nothing.code == 2);
  CHECK(contains_text(nothing.err, "no result has the kernel, the target or the key 'CPU:LLVM'"));
}

TEST_CASE("cli: beam lowers kernels for the device of --device") {
  CommandResult r = run_tgc("beam '" + kRecords + "#bcast_div.0' --device=CPU:LLVM --width=1 --results=there.db");
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(contains_text(run_tgc("beam --list --results=there.db").out, "bcast_div.0  CPU:LLVM  BEAM=1"));
}

TEST_CASE("cli: beam reports unusable inputs, targets, shards, settings and result files") {
  expect_error("beam '" + kRecords + "#nosuch'", "nosuch");
  const std::string metal = "beam '" + kRecords + "#bert_mini.102' --results=there.db";
  expect_error(metal, "its target 'METAL:METAL' does not work here, expected --device=CPU");
  expect_error(metal + " --budget=1", "its target 'METAL:METAL' does not work here");
  expect_error("beam " + kRecord + " --shard=3/2", "'3/2' is no shard, expected K/N");
  expect_error("beam " + kRecord + " --replay-times=" + kRecords, "no file of times");
  expect_error("beam " + kRecord + " --set BEAM_UOPS_MAX=x", "BEAM_UOPS_MAX");
  expect_error("beam --list --results=" + kRecords, "SQLite");
  expect_error("beam --list --results=none.db", "none.db");
}

TEST_CASE("cli: check merge of all shards equals the report of the whole file") {
  CommandResult whole = run_tgc("check " + kRecords + " --stages=source --json");
  for (const char* k : {"1", "2", "3"})
    CHECK(run_in_shell(std::string("tgc check ") + kRecords + " --stages=source --json --shard=" + k + "/3 >s" + k)
          .code == 0);
  CommandResult merged = run_tgc("check merge s1 s2 s3");
  CHECK(merged.code == 0);
  CHECK(merged.out == whole.out);
}

}  // namespace tgc
