// Files of a stranger that once crashed tgc, took its memory, overwrote a file or forged its output: rows of
// testdata/hostile/doors2, and variants of each kind.
#include <chrono>
#include <string>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

std::string door(const std::string& name) { return test_path("hostile/doors2/" + name); }

// Checks that a command ends with exit code 2 and a message, within `seconds` and 2 GB of memory.
void refused(const std::string& arguments, double seconds = 20) {
  const auto begin = std::chrono::steady_clock::now();
  const Ran r = shell("ulimit -v 20000000; tgc " + arguments);
  INFO(arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(has(r.err, "tgc: "));
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds);
}

// A recording of one tensor graph of tinygrad 0.14.0 with these nodes.
std::string tensor_record(const std::string& name, const std::string& nodes) {
  std::string graph = R"({"format":"tgc-graph","version":1,"producer":"tinygrad 0.14.0","nodes":[)" + nodes + "]}";
  std::string quoted;
  for (char c : graph) (c == '"' ? quoted += '\\' : quoted) += c;
  return put(name, R"({"format": "tgc-golden", "version": 1, "level": "tensor", "producer": "tinygrad 0.14.0", "settings": {}})"
                   "\n" R"({"id": "g", "what": "x", "device": "CPU", "nodes": 9, "ast": ")" + quoted +
                       R"(", "stages": [], "kernels": []})" "\n");
}

const std::string kArray = R"({"op":"CONST","dtype":"dtypes.weakint","arg":4},{"op":"PARAM","dtype":"dtypes.uint","src":[0],)"
                           R"("arg":{"ParamArg":{"*":[0,{"value":"dtypes.uint"}],"device":"CPU"}}})";
std::string number(const std::string& n) { return R"({"op":"CONST","dtype":"dtypes.weakint","arg":)" + n + "}"; }

}  // namespace

TEST_CASE("doors: numbers of a recording that lie outside of what they index are errors") {
  for (const char* name : {"badfree", "slot_-2147483648", "stack0", "shrinkshort", "floordiv", "zero"})
    for (const char* command : {"run ", "bisect "}) refused(command + door(name + std::string(".jsonl.gz")));
}

TEST_CASE("doors: variants of such numbers") {
  const std::string end = R"({"op":"SINK","dtype":"dtypes.void","src":[)";
  auto graph = [&](const std::string& name, const std::string& node, int last) {
    refused("run " + tensor_record(name, kArray + "," + node + "," + end + std::to_string(last) + "]}"));
  };
  graph("axis.jsonl", R"({"op":"PERMUTE","dtype":"dtypes.uint","src":[1],"arg":[-1]})", 2);
  graph("axes.jsonl", R"({"op":"REDUCE","dtype":"dtypes.uint","src":[1],"arg":[{"value":"Ops.ADD"},1000000000]})", 2);
  graph("huge.jsonl", number("4611686018427387904") + R"(,{"op":"EXPAND","dtype":"dtypes.uint","src":[1,2]})", 3);
  graph("negative.jsonl", number("-4") + R"(,{"op":"RESHAPE","dtype":"dtypes.uint","src":[1,2]})", 3);
  graph("select.jsonl", R"({"op":"MSELECT","dtype":"dtypes.uint","src":[1],"arg":-7})", 2);
  graph("device.jsonl", R"({"op":"MULTI","dtype":"dtypes.uint","src":[1],"arg":9})", 2);
  graph("sources.jsonl", R"({"op":"REDUCE","dtype":"dtypes.uint","arg":[{"value":"Ops.ADD"},1]})", 2);
  graph("shrink.jsonl", number("9223372036854775807") + R"(,{"op":"SHRINK","dtype":"dtypes.uint","src":[1,2,2]})", 3);
}

TEST_CASE("doors: sizes that double from node to node end at once") {
  std::string nodes = kArray + "," + number("1");
  for (int i = 0; i < 60; i++)
    nodes += R"(,{"op":"ADD","dtype":"dtypes.weakint","src":[)" + std::to_string(i + 2) + "," + std::to_string(i + 2) + "]}";
  nodes += R"(,{"op":"EXPAND","dtype":"dtypes.uint","src":[1,62]},{"op":"SINK","dtype":"dtypes.void","src":[63]})";
  refused("run " + tensor_record("double.jsonl", nodes));
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
      CHECK(has(r.err, "has a line break or a control character"));
    }
  }
}

TEST_CASE("doors: in a CI job, no text of a file begins a workflow command") {
  const std::string file = put("lines.uop", "ast = UOp(Ops.SINK, dtypes.void, (), KernelInfo(name='k'))\n::error::x\n");
  const Ran r = shell("CI=1 tgc dump " + file);
  CHECK(r.code == 2);
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
