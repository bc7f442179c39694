// The compilers under test (ports) are lines of shell.
#include <algorithm>
#include <filesystem>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

const std::string kOne = test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0";

// Writes shell commands that act as the compiler under test to a script, and returns the option to run it.
std::string port(const std::string& name, const std::string& text) {
  return "--with='exec sh " + write_scratch_file(name, text) + "'";
}

// Returns the option to run a compiler that gives the recorded answers, changed by `sed`, a part of a pipe ("| ...").
std::string true_port(const std::string& name, const std::string& sed = "") {
  std::string answers = (scratch_folder() / (name + ".answers")).string();
  const std::string as_json = "sed 's/\\\\/\\\\\\\\/g; s/\"/\\\\\"/g' $f | awk '{printf \"%s\\\\n\", $0}'";
  run_in_shell("tgc dump '" + kOne + "' --recorded --stage=all -o '" + name + ".d'; for f in " + name + ".d/*.uop* " +
               name + ".d/*.src; do case $f in *.src) key=source;; *) key=graph;; esac; printf '{\"%s\":\"' $key; " +
               as_json + "; echo '\"}'; done | sed 1d " + sed + " >" + answers);
  return port(name, "exec 3<" + answers + "; while read -r q; do read -r a <&3 || exit 9; printf '%s\\n' \"$a\"; done");
}

TEST_CASE("conform: a port that supports no stage is trouble, because nothing is compared") {
  CommandResult r =
      run_tgc("conform '" + kOne + "' " + port("none", "while read -r q; do echo '\"not supported\"'; done"));
  CHECK(r.code == 2);
  CHECK(contains_text(r.out, "not supported at all: "));
  CHECK(contains_text(r.err, "nothing was compared"));
}

TEST_CASE("conform: a port that dies, answers nonsense or answers too much fails only at that question") {
  const std::string stage = "'" + kOne + "' --stage=expander ";
  auto check = [&](const std::string& name, const std::string& script, const std::string& words) {
    CommandResult r = run_tgc("conform " + stage + port(name, script));
    CAPTURE(name);
    CAPTURE(r.out);
    CAPTURE(r.err);
    CHECK(contains_text(r.out + r.err, words));
    return r.code;
  };
  CHECK(check("dies", "read -r q; exit 7", "the command ended with exit code 7") == 2);
  CHECK(check("gone", "exec no-such-program-is-here 2>/dev/null", "ended with exit code 127") == 2);
  CHECK(check("killed", "read -r q; kill -9 $$", "the command was ended by signal 9") == 2);
  CHECK(check("garbage", "while read -r q; do echo fine; done", "the answer") == 2);
  CHECK(check("empty", "while read -r q; do echo '{}'; done", "an answer that says nothing") == 2);
  CHECK(check("typo", "while read -r q; do echo '{\"error\":\"x\",\"graf\":{}}'; done", "unknown field 'graf'") == 2);
  CHECK(check("wrong", "while read -r q; do echo '{\"error\":\"no luck\"}'; done", "error: no luck") == 1);
  CHECK(check("text", "while read -r q; do echo '{\"graph\":\"c0 = UOp(\"}'; done", "+ c0 = UOp(") == 1);
  CHECK(check("early", "echo ready; while read -r q; do echo '{\"not_supported\":true}'; done", "'ready'") == 2);
}

TEST_CASE("conform: a port that hangs is restarted, and a late answer is not taken for the next question's") {
  // The compiler answers its first question after each start at once, and its second question too late.
  CommandResult r = run_tgc("conform '" + kOne + "' --timeout=0.2 " +
                  port("late", "while read -r q; do echo '{\"error\":\"in time\"}'; read -r q; sleep 5; done"));
  CHECK(r.code == 1);
  CHECK(contains_text(r.out, "the command did not answer within 0.2 s"));
  CHECK(contains_text(r.out, "error: in time"));
  CHECK_FALSE(contains_text(r.out, "says more"));
}

TEST_CASE("conform: standard error of a port is passed on and does not affect the comparison") {
  CommandResult r = run_tgc("conform '" + kOne + "' --stage=expand " +
                            port("talks", "while read -r q; do echo hello >&2; echo '{\"error\":\"x\"}'; done"));
  CHECK(r.code == 1);
  CHECK(contains_text(r.err, "hello"));
  CHECK(contains_text(r.out, "0 of 1 conform"));
}

TEST_CASE("conform: the recorded graphs conform as text, structure and values") {
  for (const char* as : {"text", "structure", "values"}) {
    CommandResult r = run_tgc("conform '" + kOne + "' --as=" + as + " " + true_port(std::string("true_") + as));
    CAPTURE(r.out + r.err);
    CHECK(r.code == 0);
  }
}

TEST_CASE("conform: tinygrad's number of a kernel name is no difference, but another name is") {
  const std::string base = (scratch_folder() / "names.txt").string();
  for (const char* as : {"text", "structure"}) {
    auto answered = [&](const std::string& name, const std::string& sed, const std::string& more = "") {
      CommandResult r = run_tgc("conform '" + kOne + "' --json --as=" + as + " " + true_port(as + name, sed) + more);
      CAPTURE(r.out + r.err);
      CHECK(contains_text(r.out, "\"verdict\":\"different\"") == (r.code == 1));
      return r.code;
    };
    std::filesystem::remove(base);
    const std::string held = " --baseline=" + base;
    const std::string number = "| sed \"s/90m\\(.\\{1,9\\}0m'\\)/90mn1\\1/; s/E_22_3_4/E_22_3_4n1/\"";
    CHECK(answered("_number", number, held + " --write-baseline") == 0);
    CHECK(contains_text(read_text(scratch_folder() / (as + std::string("_number.answers"))), "90mn1"));
    CHECK(answered("_name", "| sed \"s/name='E/name='r/; s/E_22_3_4/r_22_3_4/\"", held) == 1);
  }
}

TEST_CASE("conform: the linear list is compared in order and the source to the letter") {
  auto asked = [](const std::string& as, const std::string& name, const std::string& sed) {
    CommandResult r = run_tgc("conform '" + kOne + "' --json --as=" + as + " " + true_port(name, sed));
    CAPTURE(r.err);
    CHECK(r.code == (contains_text(r.out, "\"verdict\"") ? 1 : 0));
    return r.out;
  };
  const std::string plus = "| sed '$s/+/-/'";  // replaces one + by - in the last answer
  CHECK(contains_text(asked("text", "other_source", plus), "\"stage\":\"source\",\"verdict\":\"different\""));
  CHECK_FALSE(contains_text(asked("structure", "other_source_2", plus), "\"source\""));
  CommandResult r = run_tgc("conform '" + kOne + "' --stage=linear " +
                            port("graph", "while read -r q; do echo '{\"graph\":\"ast = UOp.sink()\"}'; done"));
  CHECK(contains_text(r.out, "a graph without the order of its nodes, expected a listing of print_uops"));
}

TEST_CASE("conform: a defect is found at its stage, and by values only if it changes a result") {
  auto kept = [] {  // also counts files that other tests made
    return std::ranges::count_if(std::filesystem::directory_iterator(scratch_folder()), [](const auto& file) {
      return file.path().extension() == ".npz";
    });
  };
  const auto before = kept();
  // `sed` changes a stride in the answer to the stage 'expander'.
  for (const char* as : {"text", "structure", "values"}) {
    CommandResult r = run_tgc("conform '" + kOne + "' --json --as=" + as + " " +
                              true_port(std::string("defect_") + as, "| sed '9s/ 12)/ 11)/'"));
    CAPTURE(r.out + r.err);
    CHECK(r.code == 1);
    CHECK(contains_text(r.out, "\"stage\":\"expander\",\"verdict\":\"different\""));
    CHECK(r.out.find("\"verdict\"") == r.out.rfind("\"verdict\""));
  }
  CHECK(kept() == before);
}

TEST_CASE("conform: facts that pyrender text omits are compared if the answer states them") {
  run_in_shell("tgc dump '" + kOne + "' --stage=loads --format=json -o right.json");
  const std::string load = "\"op\":\"LOAD\",\"dtype\":\"dtypes.";
  run_in_shell("sed 's/" + load + "half.vec/" + load + "bfloat16.vec/' right.json > wrong.json");
  CHECK(run_in_shell("cmp -s right.json wrong.json").code == 1);
  for (const char* as : {"text", "structure"})
    for (const char* answer : {"right", "wrong"}) {
      CommandResult r = run_tgc("conform '" + kOne + "' --stage=loads --as=" + as + " " +
                      port(std::string("whole_") + answer, std::string("while read -r q; do printf '{\"graph\":%s}\\n' "
                           "\"$(tr -d '\\n' < ") + answer + ".json)\"; done"));
      CAPTURE(r.out + r.err);
      CHECK(r.code == (answer == std::string("wrong")));
      CHECK(contains_text(r.out, "dtypes.half") == (answer == std::string("wrong")));
    }
}

TEST_CASE("conform: a baseline is written on request, fails regressions, and ignores stages that were not asked") {
  const std::string file = (scratch_folder() / "base.txt").string(), held = " --baseline=" + file;
  std::filesystem::remove(file);
  const std::string good = "conform '" + kOne + "' " + true_port("good");
  CommandResult none = run_tgc(good + held);
  CHECK(none.code == 2);
  CHECK(contains_text(none.err, "there is no such baseline yet"));
  expect_error(good + " --write-baseline", "--write-baseline requires --baseline");
  CHECK(run_tgc(good + held + " --write-baseline").code == 0);
  CHECK(contains_text(run_tgc(good + held).out, "nothing is worse than the baseline"));

  CommandResult worse =
      run_tgc("conform '" + kOne + "' " + port("worse", "while read -r q; do echo '{\"error\":\"x\"}'; done") + held +
              " --stage=expander");
  CHECK(worse.code == 1);
  CHECK(
      contains_text(worse.out, "worse than the baseline: bin_add_half.0 (CUDA:CUDA:sm_90): expander is an error now"));
  CHECK(contains_text(worse.out, " of the baseline were not asked"));

  // If the baseline lacks a stage, failing that stage is no regression, and passing it is an improvement.
  std::string lines = read_text(file);
  size_t at = lines.find("\texpander\n"), begin = lines.rfind('\n', at) + 1;
  write_scratch_file("base.txt", lines.substr(0, begin) + lines.substr(at + 10));
  CHECK(run_tgc("conform '" + kOne + "' " + port("same", "while read -r q; do echo '{\"error\":\"x\"}'; done") + held +
                " --stage=expander")
            .code == 0);
  CHECK(contains_text(run_tgc(good + held).out, "1 more conform than the baseline has: --write-baseline keeps them"));
  write_scratch_file("base.txt", "something else\n");
  expect_error(good + held, "is no line of a baseline");
}

TEST_CASE("conform: a missing record, stage or map is an error") {
  const std::string with = " " + port("any", "cat");
  expect_error("conform '" + kOne.substr(0, kOne.find('#')) + "#nothing'" + with, "no record 'nothing'");
  expect_error("conform '" + kOne + "' --stage=expandre" + with, "expected expander");
  expect_error("conform '" + kOne + "' --stage=source --as=values" + with, "a source is compared as text only");
  expect_error("conform '" + kOne + "' --map=nowhere.map" + with, "nowhere.map");
  expect_error("conform '" + kOne + "' --map=" + write_scratch_file("bad.map", "member nodes\n") + with,
               "the line is not a mapping");
}

}  // namespace
}  // namespace tgc
