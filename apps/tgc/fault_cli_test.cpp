#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

CommandResult run_with(const std::string& fault, const std::string& arguments) {
  return run_tgc(arguments, "/dev/null", "TGC_FAULT=" + fault);
}

std::string golden(const std::string& id) { return "'" + test_path("golden/kernels.jsonl.gz#" + id) + "'"; }

}  // namespace

TEST_CASE("cli: a fault in an unknown renderer or op is an error with the nearest names") {
  for (auto [fault, said] : {std::pair("renderer:CLAN.ADD", "no renderer is called 'CLAN', expected CLANG"),
                             {"renderer:NOSUCH.ADD", "no renderer is called 'NOSUCH', expected CLANG, LLVM, CL, "},
                             {"renderer:CLANG.ADDD", "no op that can be printed otherwise is called 'ADDD', expected"},
                             {"renderer:CLANG.LOAD", "no op that can be printed otherwise is called 'LOAD'"},
                             {"renderer:NOSUCH", "no op that can be printed otherwise is called 'NOSUCH'"},
                             {"llvm:subtrac", "no fault in LLVM is called 'subtrac', expected subtract"}}) {
    CommandResult r = run_with(fault, "stages");
    INFO(fault << "\n" << r.err);
    CHECK(r.code == 2);
    CHECK(contains_text(r.err, "TGC_FAULT: " + std::string(said)));
  }
  std::string help = run_tgc("help faults").out;
  for (const char* word : {"CLANG", "LLVM", "PTX", "WGSL", "a + a", "op(b, a)", "CMPLT", "WHERE", "CONST"})
    CHECK(contains_text(help, word));
}

TEST_CASE("cli: a fault that changed nothing is reported in one line") {
  struct Case {
    const char *fault, *device, *warning;
  };
  for (const Case& c :
       {Case{"renderer:CLANG.ADD", "CPU:LLVM", "renderer:CLANG.ADD was in no node that was printed"},
        {"renderer:LLVM.ADD@900", "CPU:LLVM", "renderer:LLVM.ADD@900 was in no node that was printed"},
        {"renderer:LLVM.ADD", "REF", "renderer:LLVM.ADD was in no node that was printed"},
        {"llvm:xor", "CPU:LLVM", "llvm:xor found no place in the code"},
        {"llvm:xor", "CPU:CLANG", "llvm:xor found no place in the code"},
        {"renderer:LLVM.ADD", "CPU:LLVM", ""},
        {"llvm:subtract", "CPU:LLVM", ""},
        {"llvm:subtract", "CPU:CLANG", ""}}) {
    CommandResult r = run_with(c.fault, "bisect " + golden("bin_add_half.0") + " --device=" + c.device);
    INFO(c.fault << " on " << c.device << "\n" << r.out << r.err);
    CHECK(contains_text(r.err, "TGC_FAULT: ") == (c.warning[0] != 0));
    CHECK(contains_text(r.err, c.warning));
    CHECK(r.code == (c.warning[0] == 0));
  }
}

TEST_CASE("cli: the command that repeats a failure contains its fault") {
  std::string again = "again: TGC_FAULT=renderer:LLVM.ADD tgc run ";
  CommandResult r = run_with("renderer:LLVM.ADD", "run " + golden("bin_add_half.0") + " --device=CPU:LLVM");
  INFO(r.out << r.err);
  CHECK(r.code == 1);
  CHECK(contains_text(r.out, again));
  CommandResult json = run_with("renderer:LLVM.ADD", "run " + golden("bin_add_half.0") + " --device=CPU:LLVM --json");
  CHECK(contains_text(json.out, "\"again\":\"TGC_FAULT=renderer:LLVM.ADD tgc run "));
}

TEST_CASE("cli: the warning about an unused fault names the bundle that it comes from") {
  CommandResult made =
      run_with("renderer:LLVM.ADD", "run " + golden("bin_add_half.0") + " --device=CPU:LLVM --repro=own.repro");
  REQUIRE(made.code == 1);
  CommandResult same = run_tgc("run own.repro");
  INFO(same.out << same.err);
  CHECK(same.code == 1);
  CHECK(same.err.empty());
  CHECK(run_tgc("dump own.repro").err.empty());  // no stage runs, so tgc does not warn of the fault
  CommandResult other = run_tgc("run own.repro --device=CPU:CLANG");
  INFO(other.out << other.err);
  CHECK(contains_text(other.err, "the bundle's fault: renderer:LLVM.ADD was in no node that was printed"));
  CHECK(!contains_text(other.err, "TGC_FAULT"));
}
