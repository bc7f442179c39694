// Files of a stranger that once crashed tgc, took its memory, overwrote a file or forged its output: rows of
// testdata/hostile/doors2. Variants of each kind are beside the code that reads them.
#include <chrono>
#include <string>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

std::string door(const std::string& name) { return test_path("hostile/doors2/" + name); }

// Checks that a command ends with exit code 2 and a message, within `seconds` and 20 GB of addresses.
void refused(const std::string& arguments, double seconds = 20) {
  const auto begin = std::chrono::steady_clock::now();
  const Ran r = shell("ulimit -v 20000000; tgc " + arguments);
  INFO(arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(has(r.err, "tgc: "));
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds);
}

}  // namespace

TEST_CASE("doors: numbers of a recording that lie outside of what they index are errors") {
  for (const char* name : {"badfree", "slot_-2147483648", "stack0", "shrinkshort", "floordiv"})
    for (const char* command : {"run ", "bisect "}) refused(command + door(name + std::string(".jsonl.gz")));
  // sizes of zero are no error: the graph adds what an array without elements pads to, and computes the same
  for (const char* command : {"run ", "bisect "}) CHECK(run_tgc(command + door("zero.jsonl.gz")).code == 0);
}

TEST_CASE("doors: a pickle expands to no more than the limit for inputs") {
  refused("records " + door("bomb40.pkl"));
  refused("profile " + door("pmc.pkl.gz"));
}

TEST_CASE("doors: names and ids are of one line, without control characters") {
  for (const char* command : {"diff ", "run --recorded ", "records ", "check ", "bisect "}) {
    for (const char* name : {"id.jsonl.gz", "slow.jsonl.gz"}) {
      const Ran r = shell(std::string("CI=1 GITHUB_ACTIONS=1 tgc ") + command + door(name) + " " +
                          (std::string(command) == "diff " ? door("rec.jsonl.gz") : ""));
      INFO(command << name << "\n" << r.err);
      CHECK(r.code == 2);
      CHECK_FALSE(has("\n" + r.out + r.err, "\n::"));
      CHECK_FALSE(has(r.out + r.err, "\x1b]"));
      if (std::string(command) != "check ") CHECK(has(r.err, "has a line break or a control character"));
    }
  }
}

TEST_CASE("doors: in a CI job, no text of a file begins a workflow command") {
  const std::string file = put("lines.uop", "ast = UOp(Ops.SINK, dtypes.void, (), KernelInfo(name='k'))\n::error::x\n");
  const Ran r = shell("CI=1 tgc dump " + file + " --stage=source");
  CHECK_FALSE(has("\n" + r.out + r.err, "\n::"));
}

TEST_CASE("doors: nothing is written through a link that is there already, and nothing that no option names") {
  const std::string target = put("precious", "precious");
  for (const char* name : {"failed-prog-actual.npz", "failed-prog-inputs.npz", "failed-prog-expected.npz"})
    std::filesystem::create_symlink(target, scratch() / name);
  const Ran r = run_tgc("run --recorded " + door("rec.jsonl.gz"));
  INFO(r.err);
  CHECK(read_text(target) == "precious");
  for (const char* name : {"failed-prog-actual.npz", "failed-prog-inputs.npz", "failed-prog-expected.npz"})
    std::filesystem::remove(scratch() / name);
}

TEST_CASE("doors: --timeout bounds lowering, linearizing and rendering") {
  std::string text = "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0)\nc1 = UOp.range(16, 0, AxisType.LOOP)\n"
                     "d0 = c1.cast(dtypes.float)\n";
  constexpr int kLength = 3000;
  for (int i = 0; i < kLength; i++) text += "d" + std::to_string(i + 1) + " = d" + std::to_string(i) + ".sin()\n";
  text += "ast = c0.index(c1, ptr=True).store(d" + std::to_string(kLength) + ").end(c1).sink()\n";
  const std::string file = put("long_sin.uop", text);
  for (const char* seconds : {"0.2", "1"}) {
    const auto begin = std::chrono::steady_clock::now();
    const Ran r = run_tgc("run " + file + " --timeout=" + seconds);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    INFO(took << " s\n" << r.err);
    CHECK(r.code == 2);
    CHECK(has(r.err, "did not end within"));
    CHECK(took < std::stod(seconds) + 2);  // 1, and 1 for a busy machine
  }
}
