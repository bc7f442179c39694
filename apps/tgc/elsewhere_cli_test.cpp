// Graphs of another release than 0.12.0 on the command line: what can be done with them is, and what cannot is said.
// And pipes as INPUT.
#include <sys/stat.h>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

const char* kText =
    "c1 = UOp.new_buffer('CPU', 8, dtypes.float, 3)\n"
    "c2 = UOp.range(8, 0, AxisType.WEAK)\n"
    "c6 = c1.index((c2%UOp.const(3, dtypes.weakint))).load()\n"
    "c8 = c1.store(c6).end(c2)\n"
    "ast = c8.sink()\n";

TEST_CASE("tgc: a text of tinygrad 0.14 is known by what it holds, and is dumped, compared, counted, verified") {
  std::string file = put("new.uop", kText);
  Ran json = run_tgc("dump --format=json " + file);
  CHECK(json.code == 0);
  CHECK(has(json.out, "\"producer\":\"tinygrad 0.14\""));
  CHECK(has(json.out, R"({"op":"FLOORMOD","dtype":"dtypes.weakint",)"));
  CHECK(run_tgc("dump " + file).out == kText);
  std::string spaced = json.out;
  spaced.replace(spaced.find("\"producer\":"), 11, "\"producer\" : ");
  trouble("dump --stage=mine " + put("spaced.json", spaced), "nothing was recorded of a stage 'mine'");
  CHECK(run_tgc("diff " + file + " " + put("new.json", json.out)).code == 0);
  std::string other = kText;
  other.replace(other.find("const(3"), 7, "const(5");
  CHECK(run_tgc("diff " + file + " " + put("other.uop", other)).code == 1);
  Ran verified = run_tgc("verify --structure " + file);
  CHECK(verified.code == 0);
  CHECK_FALSE(has(verified.out, "not known"));
  CHECK(has(run_tgc("stats " + file).out, "FLOORMOD"));
}

TEST_CASE("tgc: what needs the pipeline says whose the graph is, exit code 2") {
  std::string file = put("new.uop", kText);
  for (const char* command : {"run ", "bench ", "dump --stage=source "}) {
    Ran ran = run_tgc(command + file);
    INFO(command, ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
  }
  trouble("run " + file, "records of tinygrad 0.14; the pipeline here is 0.12.0's; compare recordings with tgc diff");
  trouble("bench " + file, "records of tinygrad 0.14; the pipeline here is 0.12.0's");
}

TEST_CASE("tgc: a recording of another release is read and written back by check, and no stage is compared") {
  std::string graph = run_tgc("dump --format=json " + put("new.uop", kText)).out, escaped;
  auto escape = [](const std::string& text) {
    std::string out;
    for (char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      c == '\n' ? out += "\\n" : out += c;
    }
    return out;
  };
  std::string letters(kText);
  letters.pop_back();
  std::string head = R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.14.0","settings":{}})";
  std::string file = put("new.jsonl", head + "\n" + R"({"id":"a","target":"CPU:CLANG","ast":")" + escape(graph) +
                                          R"(","stages":[{"name":"s","ir":")" + escape(graph) + R"(","letters":")" +
                                          escape(letters) + "\"}]}\n");
  Ran text = run_tgc("check --stages=text " + file);
  INFO(text.out, text.err);
  CHECK(text.code == 0);
  CHECK(has(text.out, "letters read"));
  trouble("check " + file, "the pipeline here is 0.12.0's; compare recordings with tgc diff");
  CHECK(run_tgc("diff " + file + " " + file).code == 0);
  CHECK(run_tgc("dump " + file + " --stage=s").code == 0);
  for (const char* what : {"--target=CUDA", "--set NOOPT=1"})  // nothing here compiles it anew
    trouble("dump " + file + " --stage=s " + what, "expected what was recorded, without --target, --set or --opts");
}

TEST_CASE("tgc: a pipe is an INPUT of every command, though it is opened more than once") {
  REQUIRE(::mkfifo((scratch() / "pipe").c_str(), 0600) == 0);
  const std::string golden = test_path("golden/kernels.jsonl.gz");
  for (const char* command : {"dump pipe#bin_add_half.0", "check pipe", "stats pipe#bin_add_half.0", "verify pipe",
                              "diff pipe pipe", "bench pipe#bin_add_half.0"}) {
    Ran ran = shell("cat " + golden + " >pipe & tgc " + command);
    INFO(command, ran.err);
    CHECK(ran.code == 0);
  }
}

}  // namespace
}  // namespace tgc
