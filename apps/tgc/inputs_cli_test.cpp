#include <doctest/doctest.h>

#include "apps/tgc/cli_testing.h"
#include "lib/records/input_file.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

std::string report(const std::string& name) { return test_path("reports/" + name); }
std::string text_of(const std::string& name) { return *read_file(report(name)); }

TEST_CASE("inputs: a printed tensor is scheduled, of 0.12.0 by stages and of 0.14.0 as it is") {
  CommandResult old = run_tgc("dump " + report("0.12.0.print.txt") + " --stage=all");
  CHECK(old.code == 0);
  CHECK(contains_text(old.out, "apply rangeify"));
  CHECK(contains_text(old.out, "r_4_4"));
  CommandResult now = run_tgc("dump " + report("0.14.0.print.txt") + " --stage=all");
  CHECK(now.code == 0);
  CHECK(contains_text(now.out, ".sink()"));
}

TEST_CASE("inputs: several graphs in one text, in a log or in a Markdown file") {
  const std::string print = text_of("0.12.0.print.txt");
  const std::string two = write_scratch_file("two.txt", print + print);
  CommandResult r = run_tgc("dump " + two + " --format=nodes");
  CHECK(r.code == 0);
  const size_t first = r.out.find("SINK");
  REQUIRE(first != std::string::npos);
  CHECK(r.out.find("SINK", first + 1) != std::string::npos);
  CHECK(run_tgc("dump " + two + " --kernel=two.1").out == run_tgc("dump " + two + " --kernel=1").out);
  expect_error("dump " + two + " --kernel=2", "the input has no graph '2', expected 0 to 1");
  const std::string log = write_scratch_file("log.txt", "opened device CPU\n" + print + "[2.0, 3.0]\n");
  CommandResult logged = run_tgc("dump " + log);
  CHECK(logged.code == 0);
  CHECK(contains_text(logged.err, "1 graph found in " + log + "; other lines skipped"));
  const std::string markdown = write_scratch_file("issue.md", "# Wrong\nThis prints:\n```\n" + print + "```\nWhy?\n");
  CHECK(run_tgc("dump " + markdown).out == run_tgc("dump " + report("0.12.0.print.txt")).out);
  const std::string wrong =
      write_scratch_file("wrong.md", "text\n```\nUOp(Ops.ADD, dtypes.nothing, arg=None, src=())\n```\n");
  CHECK(contains_text(run_tgc("dump " + wrong).err, "wrong.md:3:"));
}

TEST_CASE("inputs: Svod's tree runs as a kernel; a list of another release has no source to compile") {
  CHECK(run_tgc("run " + report("svod_tree.txt") + " --device=REF").code == 0);
  CHECK(run_tgc("dump " + report("head_list.txt") + " --stage=all").code == 0);
  expect_error("compile " + report("head_list.txt"), "a graph of tinygrad 0.14 has no source");
}

TEST_CASE("inputs: --kernel takes a kernel's name, and records lists several files") {
  const std::string kernels = test_path("golden/kernels.jsonl.gz");
  CommandResult list = run_tgc("records " + kernels + " --json");
  const size_t what = list.out.find("\"what\":\"") + 8;
  const std::string name = list.out.substr(what, list.out.find('"', what) - what);
  CAPTURE(name);
  CommandResult by_name = run_tgc("dump " + kernels + " --kernel=" + name + " --stage=ast");
  CHECK(by_name.code == 0);
  CHECK(contains_text(by_name.out, "ast = "));
  CommandResult two = run_tgc("records " + kernels + " " + kernels);
  CHECK(two.code == 2);  // tinygrad refused one of the kernels
  CHECK(two.out.starts_with(kernels + "\nid "));
  CHECK(contains_text(two.out, "\n\n" + kernels + "\nid "));
  CommandResult json = run_tgc("records --json " + kernels + " " + kernels);
  CHECK(json.out.starts_with("{\"files\":["));
}

TEST_CASE("inputs: an unknown name comes with near names, which are not all there are") {
  expect_error("trace " + report("padcopy.uop") + " --stage=expandor",
               "unknown stage 'expandor', expected expander, expand, or a stage that `tgc stages` lists");
  expect_error("stats " + report("padcopy.uop") + " --stage=nosuch", "expected a stage that `tgc stages` lists");
  expect_error("patterns --op=MULT", "expected MUL, MULTI, CMPLT, or an op of tinygrad 0.12.0");
}

TEST_CASE("inputs: bisect names tinygrad's line of the culprit beside tgc's own") {
  const std::string kernel = test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0";
  CommandResult r =
      run_tgc("bisect " + kernel + " --device=REF --target=CUDA", "/dev/null", "TGC_FAULT=mul-distribute");
  CHECK(r.code == 1);
  CHECK(contains_text(r.out.substr(0, r.out.find('\n')), "rewrite mul-distribute, passes/symbolic/sym.cpp:"));
  CHECK(contains_text(r.out.substr(0, r.out.find('\n')), " (uop/symbolic.py:"));
}

TEST_CASE("inputs: VIZ=1 names tgc view, and a missing GPU names --emulate where there is an emulator") {
  CHECK(contains_text(run_tgc("run " + report("svod_tree.txt") + " --device=REF", "/dev/null", "VIZ=1").err,
                      "`tgc view INPUT`"));
  const std::string metal = run_tgc("run " + report("padcopy.uop") + " --device=METAL").err;
  if (contains_text(metal, "does not work here"))
    CHECK(contains_text(metal, "or --emulate, which emulates this device"));
}

}  // namespace
