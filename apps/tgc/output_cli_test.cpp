#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>

#include "apps/tgc/cli_testing.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

using namespace tgc;
namespace fs = std::filesystem;

namespace {

const std::string kKernel = "'" + test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0'";

// Returns calls of commands that succeed and print to standard output.
std::vector<std::string> printing_commands() {
  return {"--help", "--version", "dump --help", "help", "help targets", "help --man", "completion bash",
          "complete -- du", "stages", "stages --json", "patterns --in=sym", "devices", "cache",
          "dump " + kKernel, "dump " + kKernel + " --stage=all --json", "check " + kKernel, "check --json " + kKernel,
          "verify " + kKernel, "stats " + kKernel, "trace " + kKernel, "bench --repeat=1 " + kKernel,
          "diff " + kKernel, "compile --target=CPU:LLVM " + kKernel, "run --device=REF " + kKernel};
}

// Returns two records with the same id. The second kernel stores twice the value that the first kernel stores.
std::string two_records(const std::string& id) {
  std::string out = R"({"format":"tgc-golden","version":1,"level":"kernel","settings":{"CPU_COUNT":"2"}})" "\n";
  for (const char* value : {"1.0", "2.0"})
    out += R"~({"id":")~" + id + R"~(","target":"CPU:CLANG","ast":")~" +
           R"~(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\nc1 = UOp.range(4, 0, AxisType.LOOP)\n)~" +
           R"~(c2 = c0.index(c1, ptr=True).store(UOp.const(dtypes.float, )~" + value +
           R"~()).end(c1)\nast = c2.sink(arg=KernelInfo(name='test', axis_types=(), dont_use_locals=False, )~" +
           R"~(applied_opts=(), opts_to_apply=None))","stages":[]})~" "\n";
  return out;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (auto& e : fs::directory_iterator(folder)) out.push_back(e.path().filename().string());
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("output: every command exits with 2 if it cannot write") {
  for (const std::string& command : printing_commands()) {
    INFO(command);
    REQUIRE(run_tgc(command).code == 0);
    for (std::string broken : {">/dev/full", ">&-"}) {
      INFO(broken);
      CommandResult r = run_in_shell("tgc " + command + " " + broken);
      CHECK(r.code == 2);
      CHECK(contains_text(r.err, "tgc: <stdout>: cannot write: "));
    }
    CommandResult gone = run_in_shell("{ tgc " + command + "; echo $? >code; } | true");
    CHECK(gone.err.find("cannot write") == std::string::npos);
    std::string code = read_text(scratch_folder() / "code");
    CHECK((code == "2\n" || code == "0\n"));  // 0 if tgc finished before the reader closed the pipe
  }
}

TEST_CASE("output: a closed pipe ends tgc without a message") {
  CommandResult r = run_in_shell("{ tgc dump " + kKernel + " --stage=all; echo $? >code; } | head -n1");
  CHECK(r.err == "");
  CHECK(!r.out.empty());
}

TEST_CASE("output: a closed standard stream does not become a file that tgc opens") {
  CommandResult r = run_in_shell("tgc dump " + kKernel + " -o closed.uop >&- 2>&- <&-");
  CHECK(r.code == 0);
  CHECK(contains_text(read_text(scratch_folder() / "closed.uop"), "DEFINE_GLOBAL"));
}

TEST_CASE("output: devices, FIFOs, links and permissions of output files are preserved") {
  for (std::string command : {"dump " + kKernel + " -o ", "trace " + kKernel + " --stage=expand -o ",
                              "run --device=REF " + kKernel + " --save="}) {
    INFO(command);
    CHECK(run_tgc(command + "/dev/null").code == 0);
    CHECK(fs::is_character_file("/dev/null"));
    CommandResult full = run_tgc(command + "/dev/full");
    CHECK(full.code == 2);
    CommandResult through = run_in_shell("tgc " + command + "/dev/stdout | wc -c");
    CHECK(std::atoi(through.out.c_str()) > 100);

    write_scratch_file("secret", "old");
    REQUIRE(::chmod((scratch_folder() / "secret").c_str(), 0600) == 0);
    fs::remove(scratch_folder() / "link");
    fs::create_symlink("secret", scratch_folder() / "link");
    CHECK(run_tgc(command + "link").code == 0);
    CHECK(fs::is_symlink(scratch_folder() / "link"));
    CHECK(read_text(scratch_folder() / "secret") != "old");
    CHECK((fs::status(scratch_folder() / "secret").permissions() & fs::perms::all) ==
          (fs::perms::owner_read | fs::perms::owner_write));
  }
}

TEST_CASE("output: a failure leaves the old file and no temporary file") {
  std::string bad =
      write_scratch_file("bad.uop", "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\nast = c0.sink(\n");
  fs::create_directories(scratch_folder() / "failing");
  for (std::string command : {"dump " + bad + " -o ", "dump " + kKernel + " --stage=ast,expand -o ",
                              "trace " + bad + " -o ", "run --device=REF " + bad + " --save=",
                              "dump " + kKernel + " --target=NONE -o "}) {
    INFO(command);
    write_scratch_file("failing/out", "old");
    CHECK(run_tgc(command + "failing/out").code == 2);
    CHECK(read_text(scratch_folder() / "failing/out") == "old");
  }
  CommandResult big = run_in_shell("ulimit -f 1; tgc trace " + kKernel + " -o failing/out");
  CHECK(big.code == 2);
  CHECK(big.err.starts_with("tgc: "));
  CHECK(read_text(scratch_folder() / "failing/out") == "old");
  CHECK(names_in(scratch_folder() / "failing") == std::vector<std::string>{"out"});
}

TEST_CASE("output: records of one name, and names with slashes, get distinct files in the folder") {
  write_scratch_file("twice.jsonl", two_records("k"));
  fs::create_directories(scratch_folder() / "names");
  CommandResult dumped = run_in_shell("tgc dump twice.jsonl -o names/");
  CHECK(dumped.code == 0);
  CHECK(names_in(scratch_folder() / "names") == std::vector<std::string>{"k.00.ast.uop", "k~2.00.ast.uop"});
  CHECK(contains_text(read_text(scratch_folder() / "names/k.00.ast.uop"), "1.0"));
  CHECK(contains_text(read_text(scratch_folder() / "names/k~2.00.ast.uop"), "2.0"));

  // the second record of a name is named NAME~2
  CHECK(run_in_shell("rm -f names/*; tgc run --device=REF twice.jsonl --save='names/{}.npz'").code == 0);
  CHECK(names_in(scratch_folder() / "names").size() == 2);
  CommandResult saved = run_in_shell("rm -f names/*; tgc run --device=REF twice.jsonl --save=names/k.npz");
  CHECK(saved.code == 2);
  CHECK(contains_text(saved.err, "another kernel's results are there already"));
  CHECK(names_in(scratch_folder() / "names") == std::vector<std::string>{"k.npz"});

  write_scratch_file("path.jsonl", two_records("../../x"));
  CommandResult path = run_in_shell("rm -f names/*; cd names && tgc run --device=REF --save='{}.npz' - <../path.jsonl");
  CHECK(!fs::exists(scratch_folder().parent_path() / "x.npz"));
  auto names = names_in(scratch_folder() / "names");
  REQUIRE(names.size() == 2);
  for (const std::string& name : names) CHECK(name.starts_with("_.._.._x"));

  write_scratch_file("two.jsonl", two_records("a").substr(0, two_records("a").rfind("{\"id\"")) +
                       two_records("b").substr(two_records("b").rfind("{\"id\"")));
  CHECK(run_in_shell("rm -f names/*; tgc run --device=REF two.jsonl --save='names/{}.npz'").code == 0);
  CHECK(names_in(scratch_folder() / "names") == std::vector<std::string>{"a.npz", "b.npz"});
  CommandResult short_of = run_in_shell("tgc run --device=REF two.jsonl#a --expect=names/a.npz");
  CHECK(short_of.code == 0);
}

TEST_CASE("output: every numeric option has a range") {
  for (std::string option : {"bisect --ulp=-1", "bisect --rtol=nan", "bisect --seed=-1", "bisect --timeout=-1",
                             "run --ulp=-1", "run --ulp=99999999999999999999", "run --ulp=nan", "run --rtol=nan",
                             "run --atol=-1", "run --rtol=inf", "run --seed=-1", "run --seed=18446744073709551616",
                             "run --bench=0", "run --bench=-3", "run --bench=99999999999", "run --timeout=nan",
                             "run --timeout=1e300", "run --timeout=-1", "run --var=n=99999999999999999999",
                             "check --show=-1", "check --show=99999999999", "check -j0", "check -j-1", "check -j010",
                             "check -j4294967297", "diff --max=-1", "trace --max-lines=-1", "bench --repeat=0",
                             "bench --repeat=-1", "compile --every=0", "compile --every=-1",
                             "dump -j99999999999999999999"}) {
    CommandResult r = run_tgc(option + " " + kKernel);
    INFO(option << "\n" << r.err);
    CHECK(r.code == 2);
    CHECK(r.err.starts_with("tgc: "));
    CHECK(r.out == "");
  }
  for (std::string variable : {"TGC_CACHE_MB=-1", "TGC_CACHE_MB=x", "TGC_CACHE_MB=99999999999999999999",
                               "TGC_CACHE_MB=17592186044417", "DEBUG=x", "DEBUG=99999999999999999999", "CPU_COUNT=-1",
                               "CPU_COUNT=99999999", "MV_BLOCKSIZE=0", "REDUCEOP_SPLIT_SIZE=64", "NOOPT=1.5"}) {
    CommandResult r = run_tgc("dump --stage=asm --target=CPU:LLVM " + kKernel, "/dev/null", variable);
    INFO(variable << "\n" << r.err);
    CHECK(r.code == 2);
    CHECK(r.err.starts_with("tgc: "));
  }
}

TEST_CASE("output: low process limits and missing folders give a message or no effect") {
  for (std::string limit : {"ulimit -v 200000", "ulimit -v 60000", "ulimit -n 8", "ulimit -n 4", "ulimit -s 256",
                            "ulimit -f 0", "unset HOME XDG_CACHE_HOME TGC_CACHE_DIR", "export HOME=/dev/null/none",
                            "export TGC_CACHE_DIR=/proc/none", "export TMPDIR=/dev/null/none",
                            "mkdir -p gone && cd gone && rmdir ../gone"}) {
    // the sanitizers need more memory and more files than these limits allow
    if (tgc::kIsSanitized && (limit.starts_with("ulimit -v") || limit.starts_with("ulimit -n"))) continue;
    if (tgc::kIsThreadSanitized && limit.starts_with("ulimit")) continue;
    for (std::string command : {"dump --stage=asm --target=CPU:LLVM ", "check -j2 ", "run --device=CPU:LLVM ",
                                "trace "}) {
      std::string bare = kKernel.substr(1, kKernel.size() - 2);
      CommandResult r = run_in_shell("sh -c '" + limit + "; exec tgc " + command + bare + "' >/dev/null");
      INFO(limit << "; " << command << "\n" << r.err);
      CHECK((r.code == 0 || r.code == 2));
      CHECK((r.code == 0 || contains_text(r.err, "tgc: ")));
    }
  }
}

TEST_CASE("output: a source that does not compile is kept in a private folder") {
  const std::string kKernelC = write_scratch_file("wrong.uop",
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\n"
      "c1 = UOp.range(4, 0, AxisType.LOOP)\n"
      "c2 = c0.index(c1, ptr=True).store(UOp(Ops.CUSTOM, dtypes.float, (), 'no_such_function()')).end(c1)\n"
      "ast = c2.sink(arg=KernelInfo(name='a/../k', axis_types=(), dont_use_locals=False, applied_opts=(), "
      "opts_to_apply=None))\n");
  std::string compile = "tgc dump " + kKernelC + " --stage=asm --target=CPU:CLANG --allow-custom";
  CommandResult kept = run_in_shell("export TGC_CACHE_DIR=$PWD/kept-cache; " + compile);
  CHECK(kept.code == 2);
  REQUIRE(contains_text(kept.err, "does not compile"));
  CHECK(contains_text(kept.err, "/kept-cache/kept/"));
  CHECK((fs::status(scratch_folder() / "kept-cache/kept").permissions() & fs::perms::all) == fs::perms::owner_all);
  REQUIRE(names_in(scratch_folder() / "kept-cache/kept").size() == 1);

  // If the folder `kept` is a symbolic link, tgc does not write the source through the link.
  fs::create_directories(scratch_folder() / "trap-cache");
  fs::create_directories(scratch_folder() / "elsewhere");
  fs::create_symlink(scratch_folder() / "elsewhere", scratch_folder() / "trap-cache/kept");
  CommandResult trapped = run_in_shell("export TGC_CACHE_DIR=$PWD/trap-cache TMPDIR=/dev/null/none; " + compile);
  CHECK(trapped.code == 2);
  CHECK(contains_text(trapped.err, "the source could not be kept: /dev/null/none"));
  CHECK(names_in(scratch_folder() / "elsewhere").empty());
}

TEST_CASE("output: an interrupt stops between two graphs and prints the results so far; a second one ends tgc") {
  std::string golden = " '" + test_path("golden/kernels.jsonl.gz") + "'", many;
  for (int i = 0; i < 200; i++) many += golden;
  std::string start = "env --default-signal=INT tgc check -j1" + many + " & p=$!; sleep 0.5; kill -INT $p; ";
  CommandResult once = run_in_shell(start + "wait $p");
  CHECK(once.code == 2);
  CHECK(contains_text(once.out, " records, "));
  CHECK(contains_text(once.err, "tgc: stopping soon"));
  CHECK(contains_text(once.err, "tgc: cancelled"));

  SKIP_TEST_IF(tgc::kIsThreadSanitized, "ThreadSanitizer is on");
  // tgc waits for input that never comes, until it is interrupted twice
  CommandResult twice = run_in_shell(
      "sleep 3 | env --default-signal=INT tgc dump -o held.uop & p=$!; sleep 0.5; kill -INT $p; "
      "sleep 0.2; kill -INT $p; wait $p; echo $? >code");
  CHECK(read_text(scratch_folder() / "code") == "130\n");
  CHECK(contains_text(twice.err, "tgc: stopping soon"));
  CHECK(!fs::exists(scratch_folder() / "held.uop"));
}

TEST_CASE("output: an interrupt ends the proofs of rules, and the tinygrad that makes their instances") {
  auto interrupted = [](const std::string& arguments, const std::string& wait) {
    return run_in_shell("env --default-signal=INT tgc prove --rules " + arguments + " & p=$!; " + wait +
                        "; kill -INT $p; begin=$(date +%s); wait $p; code=$?; "
                        "echo $(($(date +%s) - begin)); exit $code");
  };
  write_scratch_file("exporter.sh", "echo $$ >exporter.pid; exec sleep 30\n");
  // the process is a shell at first, which may handle the signal itself
  const std::string is_handled =
      "until grep -q '^Name:.*tgc' /proc/$p/status && grep -q '^SigCgt:.*[2367abef]$' /proc/$p/status; "
      "do sleep 0.1; done";
  for (const CommandResult& r :
       {interrupted("--live='sh exporter.sh'", "until [ -s exporter.pid ]; do sleep 0.1; done"),
        interrupted(">rules.out", is_handled)}) {
    CAPTURE(r.out + r.err);
    CHECK(r.code == 2);
    CHECK(contains_text(r.err, "tgc: cancelled"));
    CHECK(std::atoi(r.out.c_str() + r.out.rfind('\n', r.out.size() - 2) + 1) < 15);  // all of it takes 30 s or more
  }
  CHECK(run_in_shell("sleep 0.1; grep -qs '^State:.[RSD]' /proc/$(cat exporter.pid)/status").code != 0);
}

namespace {

// Starts `tgc fuzz`, sends `signal` to the process after its first finding, and returns how the process ended.
CommandResult interrupted_campaign(const std::string& signal) {
  return run_in_shell("ulimit -c 0; rm -rf found state.json; "
                      "tgc fuzz --minutes=5 -j1 --findings=found --state=state.json & p=$!; "
                      "until [ -n \"$(ls found 2>/dev/null)\" ]; do sleep 0.1; done; kill -" + signal + " $p; wait $p");
}

}  // namespace

TEST_CASE("output: a campaign that receives SIGTERM prints its findings so far") {
  CommandResult r = interrupted_campaign("TERM");
  CHECK(r.code == 1);  // there is a finding
  CHECK(contains_text(r.err, "tgc: stopping soon"));
  CHECK(contains_text(r.out, " graphs from seed 0"));
  CHECK(contains_text(read_text(scratch_folder() / "state.json"), "\"found/"));
}

TEST_CASE("output: a campaign that crashes names the graph and the command that makes it again") {
  SKIP_TEST_IF(tgc::kIsSanitized, "sanitizers are on");
  CommandResult r = interrupted_campaign("SEGV");
  CHECK(r.code == 139);
  CHECK(contains_text(r.err, "tgc: internal error: SIGSEGV in "));
  CHECK(contains_text(r.err, "seed"));
}
