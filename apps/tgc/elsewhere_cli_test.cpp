#include <sys/stat.h>

#include "apps/tgc/cli_testing.h"
#include "lib/runtime/npz.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

const char* kText =
    "c1 = UOp.new_buffer('CPU', 8, dtypes.float, 3)\n"
    "c2 = UOp.range(8, 0, AxisType.WEAK)\n"
    "c6 = c1.index((c2%UOp.const(3, dtypes.weakint))).load()\n"
    "c8 = c1.store(c6).end(c2)\n"
    "ast = c8.sink()\n";

TEST_CASE("cli: a text of tinygrad 0.14 is detected and can be dumped, compared, counted and verified") {
  std::string file = write_scratch_file("new.uop", kText);
  CommandResult json = run_tgc("dump --format=json " + file);
  CHECK(json.code == 0);
  CHECK(contains_text(json.out, "\"producer\":\"tinygrad 0.14\""));
  CHECK(contains_text(json.out, R"({"op":"FLOORMOD","dtype":"dtypes.weakint",)"));
  CHECK(run_tgc("dump " + file).out == kText);
  std::string spaced = json.out;
  spaced.replace(spaced.find("\"producer\":"), 11, "\"producer\" : ");
  expect_error("dump --stage=mine " + write_scratch_file("spaced.json", spaced), "unknown stage 'mine'");
  CHECK(run_tgc("diff " + file + " " + write_scratch_file("new.json", json.out)).code == 0);
  std::string other = kText;
  other.replace(other.find("const(3"), 7, "const(5");
  CHECK(run_tgc("diff " + file + " " + write_scratch_file("other.uop", other)).code == 1);
  CommandResult verified = run_tgc("verify --structure " + file);
  CHECK(verified.code == 0);
  CHECK_FALSE(contains_text(verified.out, "not known"));
  CHECK(contains_text(run_tgc("stats " + file).out, "FLOORMOD"));
}

TEST_CASE("cli: a printed tensor of tinygrad 0.14 without buffers is a tensor graph") {
  const char* text =
      "UOp(Ops.PAD, dtypes.int, arg=None, src=(\n"
      "  UOp(Ops.STACK, dtypes.int, arg=None, src=(UOp(Ops.CONST, dtypes.int, arg=1, src=()),)),\n"
      "  UOp(Ops.CONST, dtypes.weakint, arg=1, src=()),\n"
      "  UOp(Ops.CONST, dtypes.weakint, arg=3, src=()),))\n";
  const std::string file = write_scratch_file("arange.txt", text);
  expect_error("run " + file, "without a recorded schedule, expected --live=PYTHON");
  expect_error("dump --stage=schedule " + file, "no graph of the input has 'schedule', expected --live=PYTHON");
}

TEST_CASE("diff: recordings, records and graphs of two releases are compared by the later release's names") {
  auto graph = [](const std::string& release, const std::string& op, const std::string& dtype) {
    return R"({"format":"tgc-graph","version":1,"producer":"tinygrad )" + release + R"(","nodes":[{"op":")" + op +
           R"j(","dtype":"dtypes.float.ptr(8)","arg":0},{"op":"CONST","dtype":")j" + dtype +
           R"j(","arg":4},{"op":"INDEX","dtype":"dtypes.float.ptr(8)","src":[0,1]}]})j";
  };
  auto recording = [](const std::string& release, const std::string& target, const std::string& graph) {
    std::string escaped, out = R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad )" +
                               release + "\",\"settings\":{}}\n";
    for (char c : graph) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
    for (const char* id : {"k0", "k1"})
      out += std::string(R"({"id":")") + id + R"(","target":")" + target + R"(","ast":")" + escaped +
             "\",\"stages\":[]}\n";
    return out;
  };
  const std::string old_graph = graph("0.12.0", "DEFINE_GLOBAL", "dtypes.index"),
                    new_graph = graph("0.13.0", "PARAM", "dtypes.weakint"),
                    a = write_scratch_file("old.jsonl", recording("0.12.0", "CL:CL", old_graph)),
                    b = write_scratch_file("new.jsonl", recording("0.13.0", "CL:CL:cl_khr_fp64", new_graph)),
                    graphs =
                        write_scratch_file("old.json", old_graph) + " " + write_scratch_file("new.json", new_graph);
  CHECK(run_tgc("diff " + a + " " + b).out.find("\n2 compared, 2 the same, 0 different\n") != std::string::npos);
  CHECK(run_tgc("diff " + a + "#k0 " + b + "#k0").code == 0);
  CHECK(run_tgc("diff " + graphs).code == 0);
  for (const std::string& sides : {a + " " + b, a + "#k0 " + b + "#k0", graphs}) {
    CommandResult none = run_tgc("diff --renames=none " + sides);
    CHECK(none.code == 1);
    CHECK(none.out.find("DEFINE_GLOBAL") != std::string::npos);
    CHECK(none.out.find(" 4 -> 4\n") == std::string::npos);
  }
  expect_error("diff " + b, "the recorded pipeline of tinygrad 0.13.0 is not compiled by tgc's own stages");
  expect_error("diff --stage=linear " + a + " " + b,
               "old.jsonl: 2 records, and one stage is compared of one record alone");
  expect_error("diff --renames=no-such-file " + graphs, "no-such-file");
  const std::string empty = write_scratch_file("empty", "");
  expect_error("diff " + empty + " " + empty, "the file is empty");
}

TEST_CASE("lint: the whole calls of a truncated recording are checked, with exit code 2") {
  const std::string whole = read_text(test_path("jit.jsonl.gz"));
  CommandResult ran = run_tgc("lint " + write_scratch_file("cut.jit.jsonl.gz", whole.substr(0, whole.size() / 2)));
  CHECK(ran.code == 2);
  CHECK(contains_text(ran.err, "warning: the file is cut short"));
  CHECK(contains_text(ran.out, "lost-assign in running_statistics_lost.step"));
  CHECK(contains_text(run_tgc("lint --kinds").out, "shared-output\tnote: "));
}

// The recorded program makes a gradient during the capture of a TinyJit, and evaluates it after the capture. The memory
// planner of tinygrad 0.13.0 moves the gradient's buffer.
TEST_CASE("lint: a tensor of a capture that reads a buffer that no replay writes is a finding") {
  CommandResult ran = run_tgc("lint " + test_path("jit_late.jsonl.gz"));
  INFO(ran.out, ran.err);
  CHECK(ran.code == 1);
  CHECK(contains_text(ran.out, "jit_grad13.py:18::<module>: unwritten-buffer in step"));
  CHECK(contains_text(ran.out, ", 1 finding"));
}

TEST_CASE("lint: a recording without findings that lacks facts is not decided, with exit code 2") {
  CommandResult ran = run_tgc("lint " + test_path("verdicts/jit_grad13.jit.jsonl.gz"));
  INFO(ran.out, ran.err);
  CHECK(ran.code == 2);
  CHECK(contains_text(ran.out, "not decided"));
  CHECK(!contains_text(ran.out, "0 findings"));
  CHECK(
      contains_text(run_tgc("lint --json " + test_path("verdicts/jit_grad13.jit.jsonl.gz")).out, "\"decided\":false"));
}

TEST_CASE("run: each kernel of a tensor graph of 0.12.0 is compared with REF by default") {
  CommandResult ran = run_tgc("run " + test_path("verdicts/assign_right12.tensor.jsonl.gz"));
  INFO(ran.out, ran.err);
  CHECK(ran.code == 0);
  CHECK(contains_text(ran.out, "every kernel compares well with REF: 1"));
  CHECK(contains_text(ran.out, "4 of 4 tensor graphs passed"));
}

TEST_CASE("cli: commands that need the native pipeline refuse a graph of another release and name the release") {
  std::string file = write_scratch_file("new.uop", kText);
  for (const char* command : {"run ", "bench ", "dump --stage=source "}) {
    CommandResult ran = run_tgc(command + file);
    INFO(command, ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
  }
  expect_error("run " + file, "a tensor graph of tinygrad 0.14 without a recorded schedule");
  expect_error("reduce -o x " + file, "with --live=PYTHON");
  expect_error("bench " + file, "the recorded pipeline of tinygrad 0.14 is not compiled by tgc's own stages");
}

TEST_CASE("check: the texts of a recording of another release are parsed and printed back, and no stage is compared") {
  std::string graph = run_tgc("dump --format=json " + write_scratch_file("new.uop", kText)).out, escaped;
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
  std::string head =
      R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.14.0","settings":{}})";
  std::string file =
      write_scratch_file("new.jsonl", head + "\n" + R"({"id":"a","target":"CPU:CLANG","ast":")" + escape(graph) +
                                          R"(","stages":[{"name":"s","ir":")" + escape(graph) + R"(","letters":")" +
                                          escape(letters) + "\"}]}\n");
  CommandResult text = run_tgc("check --stages=text " + file);
  INFO(text.out, text.err);
  CHECK(text.code == 0);
  CHECK(contains_text(text.out, "letters read"));
  expect_error("check " + file, "the recorded pipeline of tinygrad 0.14.0 is not compiled by tgc's own stages");
  CHECK(run_tgc("diff " + file + " " + file).code == 0);
  CHECK(run_tgc("dump " + file + " --stage=s").code == 0);
  for (const char* what : {"--target=CUDA", "--set NOOPT=1"})  // both need compiling, which tgc refuses for this graph
    expect_error("dump " + file + " --stage=s " + what,
                 "expected --live=PYTHON, or --native, or what was recorded, without --target");
}

TEST_CASE("cli: a pipe is an INPUT of every command, although commands open it more than once") {
  REQUIRE(::mkfifo((scratch_folder() / "pipe").c_str(), 0600) == 0);
  const std::string golden = test_path("golden/kernels.jsonl.gz");
  for (const char* command : {"dump pipe#bin_add_half.0", "check pipe", "stats pipe#bin_add_half.0", "verify pipe",
                              "diff pipe pipe", "bench pipe#bin_add_half.0"}) {
    CommandResult ran = run_in_shell("cat " + golden + " >pipe & tgc " + command);
    INFO(command, ran.err);
    CHECK(ran.code == 0);
  }
}

TEST_CASE("cli: a compilation that tinygrad did not finish is trouble, with its error and its last stage") {
  const std::string file = test_path("import/refused.jsonl.gz");
  const std::string said = "tinygrad did not finish the kernel 'f2i.4' after the stage 'split ranges': KeyError(";
  expect_error("run " + file, said);
  expect_error("bisect " + file, said);
  CommandResult listed = run_tgc("records " + file);
  CHECK(listed.code == 2);
  CHECK(contains_text(listed.out, "refused: KeyError("));
  CommandResult page = run_tgc("view -o " + (scratch_folder() / "page.html").string() + " " + file);
  CHECK(page.code == 2);
  CHECK(contains_text(page.err, said));
}

TEST_CASE("cli: a variable has the value of --var, else of --inputs, else of the record") {
  const std::string file = test_path("import/variable.jsonl.gz");
  CHECK(contains_text(run_tgc("run " + file).out, "\n  with pos=3, recorded\n"));
  CHECK(contains_text(run_tgc("run --var=pos=5 " + file).out, "\n  with pos=5, --var\n"));
  CHECK(contains_text(run_tgc("run --json " + file).out, R"("variables":{"pos":{"value":3,"from":"recorded"}})"));
  Arrays arrays;
  arrays.push_back({"pos", Array(dtypes::int32, {})});
  arrays[0].array.as<int32_t>()[0] = 7;
  write_npz((scratch_folder() / "pos.npz").string(), arrays).value_or_throw();
  CHECK(contains_text(run_tgc("run --inputs=pos.npz " + file).out, "\n  with pos=7, --inputs\n"));
}

TEST_CASE("cli: a recorded kernel whose device is not here runs as its recorded list in REF") {
  const std::string file = test_path("import/variable.jsonl.gz");
  CommandResult r = run_tgc("run --device=REF " + file);
  CHECK(r.code == 0);
  CHECK(contains_text(r.out, "passed on REF, the recorded list"));
  CHECK(contains_text(r.out, "1 array as REF has it"));
}

}  // namespace
}  // namespace tgc
