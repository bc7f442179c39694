#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>

#include "apps/tgc/cli_testing.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"
#include "lib/support/version.h"

using tgc::contains_text, tgc::write_scratch_file, tgc::CommandResult, tgc::run_tgc, tgc::scratch_folder,
    tgc::expect_error;

namespace {

namespace fs = std::filesystem;

const std::string kKernels = tgc::test_path("golden/kernels.jsonl.gz");
const std::string kKernel =
    "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nc2 = UOp.range(8, 0, AxisType.LOOP)\n"
    "c4 = UOp.const(dtypes.float, 1.0)\nc6 = c0.index(c2, ptr=True).store(c4).end(c2)\n"
    "ast = c6.sink()\n";

}  // namespace

TEST_CASE("cli: help and version are printed, and unknown names are errors with the nearest name") {
  CHECK(run_tgc("--help").code == 0);
  CHECK(run_tgc("dump --help").out.find("--stage") != std::string::npos);
  std::string version = run_tgc("--version").out;
  CHECK(version.starts_with("tgc " + std::string(tgc::tgc_version()) + ", tinygrad 0.12.0, "));
  CHECK(version.find("LLVM") != std::string::npos);
  expect_error("", "subcommand");
  expect_error("dmup", "unknown command 'dmup', expected dump");
  expect_error("list", "unknown command 'list', expected records (the graphs of a file), stages");
  expect_error("dump --formt=json", "tgc: dump has no option '--formt', expected --format");
  expect_error("dump -q --stage=ast", "tgc: dump has no option '-q', expected one that `tgc dump --help` lists");
  expect_error("--formt=json", "tgc: there is no option '--formt', expected one that `tgc --help` lists");
  expect_error("dump x --format=jsn", "unknown format 'jsn', expected json");
  expect_error("dump " + kKernels + " --stage=aaast", "unknown stage 'aaast', expected ast");
  expect_error("dump x --set NOOPTS=1 --stage=ast", "cannot open");
  expect_error("verify x --spec=kernl", "unknown specification 'kernl', expected kernel");
}

TEST_CASE("cli: standard output that cannot be written is trouble") {
  CommandResult full = tgc::run_in_shell("tgc dump '" + kKernels + "#bin_add_half.0' --stage=all >/dev/full");
  CHECK(full.code == 2);
  CHECK(full.err == "tgc: <stdout>: cannot write: No space left on device\n");
}

TEST_CASE("cli: --color is accepted before and after the command") {
  auto is_colored = [](const std::string& arguments) {
    return run_tgc(arguments).out.find('\x1b') != std::string::npos;
  };
  CHECK_FALSE(is_colored("patterns --stage=expand"));
  CHECK(is_colored("--color=always patterns --stage=expand"));
  CHECK(is_colored("patterns --stage=expand --color=always"));
  expect_error("patterns --color=blue", "--color: blue not in");
}

TEST_CASE("cli: dump converts between all formats of a graph") {
  std::string file = write_scratch_file("k.uop", kKernel), text = file;
  for (const char* format : {"repr", "json", "uops", "pyrender"}) {
    CommandResult r = run_tgc("dump " + text + " --format=" + format);
    INFO(format << r.err);
    REQUIRE(r.code == 0);
    text = write_scratch_file(std::string("k.") + format, r.out);
  }
  CHECK(tgc::read_text(text) == kKernel);
  CHECK(run_tgc("dump " + file + " --format=nodes").out.starts_with("DEFINE_GLOBAL dtypes.float.ptr(8) 0\n"));
  CHECK(run_tgc("dump", file).out == kKernel);  // without INPUT, standard input is read
  CHECK(run_tgc("dump -", file).out == kKernel);
}

TEST_CASE("cli: dump picks records by id and number and writes files") {
  CHECK(run_tgc("dump " + kKernels + " --kernel=0").out.find("ast = ") != std::string::npos);
  expect_error("dump '" + kKernels + "#nothing'", "no record 'nothing'");
  expect_error("dump '" + kKernels + "#bcast_dvi.0'", "expected bcast_div.0");
  expect_error("dump " + kKernels + " --kernel=100000", "no record '100000'");
  std::string file = write_scratch_file("k.uop", kKernel), one = (scratch_folder() / "one.json").string(),
              folder = (scratch_folder() / "folder/").string();
  CHECK(run_tgc("dump " + file + " --format=json -o " + one).code == 0);
  CHECK(run_tgc("dump " + one).out == kKernel);
  CHECK(run_tgc("dump " + file + " -o " + folder).code == 0);
  CHECK(tgc::read_text(folder + "k.00.ast.uop") == "# tgc: {\"name\":\"k\",\"stage\":\"ast\"}\n" + kKernel);
  expect_error("dump " + file + " -o " + file + "/x", "cannot write");
}

TEST_CASE("cli: dump resumes after the stage that a dumped file is the result of") {
  std::string file = write_scratch_file("k.uop", kKernel), folder = (scratch_folder() / "all/").string();
  CommandResult all = run_tgc("dump " + file + " --stage=ast.. -o " + folder);
  INFO(all.err);
  REQUIRE(all.code == 0);
  std::string last = run_tgc("dump " + file + " --stage=linear").out;
  CHECK(last.find("Ops.SINK") != std::string::npos);
  int resumed = 0;
  for (auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".uop") || name.find(".00.") != std::string::npos) continue;
    std::string stage = name.substr(name.find('.', 2) + 1);
    stage = name.substr(5);
    stage = stage.substr(0, stage.rfind('.'));
    CommandResult r = run_tgc("dump " + entry.path().string() + " --from=" + stage + " --stage=linear");
    INFO(name << r.err);
    CHECK(r.out == last);
    CHECK(run_tgc("dump " + entry.path().string() + " --stage=linear").out == last);  // the header names the stage
    resumed++;
  }
  CHECK(resumed >= 10);
}

TEST_CASE("cli: --opts are kept in a graph that is written before the optimizer runs") {
  const std::string file = write_scratch_file("k.uop", kKernel), opts = " --opts='[Opt(OptOps.UPCAST, 0, 4)]'";
  const std::string source = run_tgc("dump " + file + " --stage=source" + opts).out;
  REQUIRE(source != run_tgc("dump " + file + " --stage=source --opts='[]'").out);
  for (const char* stage : {"", " --stage=ast", " --stage=symbolic", " --stage=optimize", " --stage=ast --json"}) {
    const std::string at = write_scratch_file("at.uop", run_tgc("dump " + file + stage + opts).out);
    INFO(stage);
    CHECK(run_tgc("dump " + at + " --stage=source").out == source);
  }
  CHECK(contains_text(run_tgc("dump " + file + opts).out, "opts_to_apply=(Opt(op=OptOps.UPCAST, axis=0, arg=4),)"));
  CHECK(contains_text(run_tgc("dump " + file + " --opts='[]'").out, "opts_to_apply=()"));
  CommandResult refused = run_tgc("dump " + file + " --stage=source --opts='[Opt(OptOps.UPCAST, 0, 3)]'");
  CHECK(refused.code == 2);
  CHECK(contains_text(refused.err, "3 can't divide 8 in    8\n"));  // without the colours of tinygrad's message
}

TEST_CASE("cli: a dumped file keeps the stage, the target and what pyrender text omits") {
  const std::string golden = tgc::test_path("golden/kernels.jsonl.gz"),
                    folder = (scratch_folder() / "resumed/").string();
  for (const char* format : {"pyrender", "repr", "json"}) {
    REQUIRE(run_tgc("dump " + golden + " --kernel=21 --stage=all --format=" + format + " -o " + folder + format).code ==
            0);
    std::string source = run_tgc("dump " + golden + " --kernel=21 --stage=source").out;
    size_t resumed = 0;
    for (auto& entry : fs::directory_iterator(folder + format)) {
      std::string name = entry.path().filename().string();
      if (name.find("source") != name.npos || name.find("program") != name.npos) continue;
      // These texts are linear lists. Reading a list as a graph loses the order of the instructions.
      if (name.ends_with("linear.uop") || name.ends_with("linear.repr")) continue;
      INFO(name);
      CHECK(run_tgc("dump " + entry.path().string() + " --stage=source").out == source);
      resumed++;
    }
    CHECK(resumed > 15);
  }
}

TEST_CASE("cli: the text of a stage names its target and settings, including overrides") {
  const std::string record = "'" + kKernels + "#bin_add_half.0'";  // a record for CUDA
  for (const char* asked : {"", " --set NOOPT=1", " --target=METAL --set DEVECTORIZE=0"})
    for (const char* stage : {" --stage=ast", " --stage=expander"}) {
      const std::string options = record + asked + stage, file = (scratch_folder() / "in.file").string();
      CommandResult out = run_tgc("dump " + options);
      INFO(options << "\n" << out.out << out.err);
      CHECK(run_tgc("dump " + options + " -o " + file).code == 0);
      CHECK(tgc::read_text(file) == out.out);
      CHECK(run_tgc("dump --stage=source " + file).out == run_tgc("dump --stage=source " + record + asked).out);
    }
  CHECK_FALSE(contains_text(run_tgc("dump " + record).out, "# tgc: "));  // without --stage, there is no header
}

TEST_CASE("cli: an id of several records selects all of them, with a note") {
  const std::string two = write_scratch_file("twice.jsonl",
                                             "{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\"}\n"
                                             "{\"id\":\"a\",\"ast\":\"ast = UOp.sink()\"}\n"
                                             "{\"id\":\"b\",\"ast\":\"ast = UOp.sink()\"}\n"
                                             "{\"id\":\"a\",\"target\":\"METAL\",\"ast\":\"ast = UOp.sink()\"}\n");
  CommandResult both = run_tgc("dump " + two + "#a");
  CHECK(both.out == "ast = UOp.sink()\nast = UOp.sink()\n");
  CHECK(contains_text(both.err, "tgc: note: several records of " + two + " are called 'a', numbers 0 and 2 the first"));
  CHECK(run_tgc("dump " + two + "#b").err.empty());
  CHECK(run_tgc("dump " + two).err.empty());
  CHECK(contains_text(run_tgc("dump --stage=ast " + two + " --kernel=2").out, "METAL"));
  CHECK(contains_text(run_tgc("reduce " + two + " --while=wrong -o r").err,
                      "several graphs: the first, 'a', is reduced"));
}

TEST_CASE("cli: a file whose header names an unknown stage is an error") {
  for (const char* command : {"dump ", "run ", "verify ", "trace --stage=expander ", "stats "})
    expect_error(command + write_scratch_file("stage.uop", "# tgc: {\"stage\":\"expandr\"}\n" + kKernel),
                 "unknown stage 'expandr', expected expander");
}

TEST_CASE("cli: asking for a stage before the input's own is an error that names that stage") {
  const std::string file =
      write_scratch_file("at.uop", run_tgc("dump " + write_scratch_file("k.uop", kKernel) + " --stage=expander").out);
  expect_error("dump " + file + " --stage=ast", "expected stages after 'expander', where the input begins");
}

TEST_CASE("cli: verify prints the node, the rule and the place of a violation") {
  std::string good = write_scratch_file("good.uop", kKernel),
              bad = write_scratch_file("bad.uop",
                        "c0 = UOp.const(dtypes.float, 1.0)\nc1 = c0+UOp.const(dtypes.int, 2)\nast = c1.sink()\n");
  CHECK(run_tgc("verify " + good).code == 0);
  CommandResult r = run_tgc("verify " + bad);
  CHECK(r.code == 1);
  CHECK(r.out.find("bad.uop:2:1:") != std::string::npos);
  CHECK(r.out.find("rejected by rule alu (lib/spec/shared.cpp:") != std::string::npos);
  CHECK(r.out.find("table: kernel_spec") != std::string::npos);
  CHECK(run_tgc("verify " + good + " --spec=program").code == 1);
  CHECK(run_tgc("verify " + bad + " --json").out.find("\"ok\":false") != std::string::npos);
}

TEST_CASE("cli: check --stages=spec verifies the graph after every stage") {
  for (const std::string& records : {kKernels, tgc::test_path("golden/tensor.jsonl.gz")}) {
    CommandResult all = run_tgc("check --stages=spec --json " + records);
    INFO(all.out << all.err);
    CHECK(all.code == 0);
    CHECK(all.out.find("\"errors\":0,\"stages\":{\"spec\":{\"same\":") != std::string::npos);
    CHECK(all.out.find("\"different\":0,\"error\":0,\"skipped\":0}") != std::string::npos);
  }
  std::string bad = write_scratch_file(
      "bad.jsonl",
      R"json({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.12.0","settings":{}}
{"id":"bad","target":"CPU:CLANG","nodes":4,"ast":"c0 = UOp.const(dtypes.float, 1.0)\nc1 = c0+UOp.const(dtypes.int, 2)\nast = c1.sink()","stages":[]}
)json");
  CommandResult r = run_tgc("check --stages=spec --show=1 " + bad);
  CHECK(r.code == 1);
  CHECK(r.out.find("ast: no well-formed kernel graph: node 2, Ops.ADD dtypes.int: rejected by rule alu") !=
        std::string::npos);
}

TEST_CASE("cli: records lists the ids that FILE#ID takes") {
  CommandResult json = run_tgc("records --json " + kKernels);
  CHECK(json.code == 2);  // tinygrad refused one of the file's kernels
  CHECK(contains_text(json.out, R"({"id":"bin_add_half.0","target":"CUDA:CUDA:sm_90","nodes":16,"what":"E_22_3_4",)"));
  const std::string text = run_tgc("records " + kKernels).out;
  CHECK(text.starts_with("id "));
  const std::string id = text.substr(text.find('\n') + 1, text.find(' ', text.find('\n')) - text.find('\n') - 1);
  CHECK(run_tgc("dump '" + kKernels + "#" + id + "'").code == 0);
  CHECK(contains_text(run_tgc("records " + tgc::test_path("golden/tensor.jsonl.gz")).out, " kernels"));
  expect_error("records " + tgc::test_path("jit.jsonl.gz"), "`tgc lint` reads these");
  expect_error("records " + write_scratch_file("k.uop", kKernel),
               "not a golden header, expected golden records, see `tgc help recording`");
}

TEST_CASE("cli: stages lists the stages") {
  CHECK(run_tgc("stages").out.find("early movement ops") != std::string::npos);
  CHECK(run_tgc("stages --json").out.find("{\"name\":\"early movement ops\",\"alias\":") != std::string::npos);
  for (const std::string input : {"", "pipelines/0.12.jsonl.gz", "pipelines/0.13.jsonl.gz", "pipelines/0.14.jsonl.gz",
                                  "recorded_faults.jsonl.gz", "verdicts/war13.tensor.jsonl.gz"}) {
    const std::string out = run_tgc("stages --json " + (input.empty() ? input : tgc::test_path(input))).out;
    INFO(out);
    CHECK(contains_text(out, "\"purpose\":\""));
    CHECK_FALSE(contains_text(out, "\"purpose\":\"\""));
  }
  CHECK(contains_text(run_tgc("help stages").out, "turns UPCAST and UNROLL loops into vectors"));
  const std::string padded = tgc::test_path("recorded_faults.jsonl.gz") + "#own-padto";
  CHECK(run_tgc("trace --stage='padto (1,) 16,postopt symbolic' " + padded).code == 0);
}

TEST_CASE("cli: check counts only compared stages as the same") {
  CommandResult text = run_tgc("check --stages=text --json " + kKernels);
  CHECK(text.code == 0);
  CHECK(text.out.starts_with("{\"records\":116,\"identical\":116,\"errors\":0,\"stages\":{\"text\":{\"same\":"));
  CHECK(text.out.ends_with(",\"first_divergence\":{}}\n"));
  CHECK(run_tgc("check -j1 --stages=text --json " + kKernels).out == text.out);
  expect_error("check --stages=expandr " + kKernels, "unknown stage 'expandr'");
  expect_error("check " + kKernels + " --id=nothing", "no record has the id 'nothing'");
}

TEST_CASE("cli: check replays the whole records of a truncated golden file, and the other files") {
  std::string gzip = tgc::read_text(kKernels), cut = write_scratch_file("cut2.gz", gzip.substr(0, gzip.size() / 2)),
              another = write_scratch_file("another.gz", gzip);
  CommandResult alone = run_tgc("check --json --stages=text " + cut),
      both = run_tgc("check --json --stages=text " + cut + " " + another);
  CHECK(alone.code == 2);
  CHECK(both.code == 2);
  auto records = [](const CommandResult& r) { return std::stoul(r.out.substr(r.out.find(':') + 1)); };
  CHECK(records(alone) > 10);
  CHECK(records(both) == records(alone) + 116);
  const std::string port = write_scratch_file("none.sh", "while read -r q; do echo '{\"not_supported\":true}'; done");
  for (const std::string& command :
       {"check --stages=text " + cut, "dump " + cut, "stats " + cut, "diff " + cut + " " + cut,
        "conform " + cut + " --stage=expander --with='sh " + port + "'"}) {
    CommandResult ran = run_tgc(command);
    CAPTURE(command);
    CHECK(ran.code == 2);
    CHECK(ran.err.find("cut2.gz: warning: the file is cut short: the record of line ") != std::string::npos);
  }
}

TEST_CASE("cli: check applies a record's own settings and counts records that it cannot replay as skipped") {
  // Records of one kernel with different settings, and one for a target that tgc does not have.
  std::string head = R"({"format":"tgc-golden","version":1,"level":"kernel","settings":{"CPU_COUNT":"4"}})" "\n";
  std::string ast =
      R"x("ast":"c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 0)\nc2 = UOp.range(UOp.const(dtypes.index, 64), 0, AxisType.LOOP)\nast = c0.index(c2, ptr=True).store(UOp.const(dtypes.float, 1.0)).end(c2).sink(arg=None)")x";
  auto record = [&](const std::string& id, const std::string& more) {
    return "{\"id\":\"" + id + "\"," + more + "," + ast + ",\"stages\":[{\"name\":\"apply opts\",\"ir\":\"x\"}]}\n";
  };
  std::string usual = record("usual", R"("target":"CPU:CLANG")"),
              other = record("other", R"("target":"CPU:CLANG","settings":{"NOOPT":"1"})");
  std::string unknown = record("unknown", R"("target":"NOWHERE:NONE:x1")");
  CommandResult r =
      run_tgc("check --show=9 --stages=apply-opts " + write_scratch_file("own.jsonl", head + usual + other + unknown));
  INFO(r.out << r.err);
  CHECK(r.code == 1);
  CHECK(r.out.find("3 records, 0 identical, 1 skipped\n") != std::string::npos);
  CHECK(r.out.find("skipped: 1: tgc has no renderer for NOWHERE:NONE:x1\n") != std::string::npos);
  size_t second = r.out.find("--- other");
  REQUIRE(second != std::string::npos);
  CHECK(r.out.substr(0, second).find("AxisType.UPCAST") != std::string::npos);
  CHECK(r.out.substr(second).find("AxisType.UPCAST") == std::string::npos);
  CommandResult none = run_tgc("check --json " + write_scratch_file("none.jsonl", head + unknown));
  CHECK(none.code == 2);
  CHECK(none.out.find(R"("skipped":{"tgc has no renderer for NOWHERE:NONE:x1":1})") != std::string::npos);
  CHECK(none.err.find("nothing was compared") != std::string::npos);
  CommandResult custom = run_tgc(
      "check " +
      write_scratch_file(
          "custom.jsonl",
          R"({"format":"tgc-golden","version":1,"level":"tensor","settings":{}})"
          "\n"
          R"x({"id":"c","device":"CPU","ast":"ast = UOp(Ops.CUSTOM_KERNEL, dtypes.void, (), CustomKernel(panic)).sink()","stages":[{"name":"earliest rewrites","ir":"x"}]})x"
          "\n"));
  CHECK(custom.code == 2);
  CHECK(custom.out.find("skipped: 1: a CUSTOM_KERNEL is made by a Python function") != std::string::npos);
  CHECK(run_tgc("dump --stage=apply-opts " + write_scratch_file("own2.jsonl", head + other))
        .out.find("AxisType.UPCAST") == std::string::npos);
}

TEST_CASE("cli: bad input gives one message and exit code 2") {
  std::string gzip = tgc::read_text(kKernels);
  std::string folder = scratch_folder().string();
  expect_error("dump /nowhere", "/nowhere: cannot open: No such file or directory");
  expect_error("dump " + folder, "is a directory, expected a file");
  expect_error("dump " + write_scratch_file("empty", ""), "the input is empty");
  expect_error("dump " + write_scratch_file("nul", std::string("a\0b", 3)), "nul:1:2: found the byte 0x00");
  expect_error("dump " + write_scratch_file("parens", std::string(10 << 20, '(')),
               "parens:1:1: found '(', expected a statement");
  if (!tgc::kIsThreadSanitized)
    expect_error("dump " + write_scratch_file("parens2", "a = " + std::string(10 << 20, '(')),
                 "parens2:1:262149: more than 262144 levels of nested brackets");
  const std::string plain = write_scratch_file("plain.uop", "ast = UOp.const(dtypes.int, 1).sink()\n");
  expect_error("reduce --while='cmd true' -o never.json " + plain,
               "--while=cmd true would say the same of every graph, expected {}");
  expect_error("bisect --cmd=true " + plain, "--cmd=true would say the same of every graph");
  expect_error("dump " + write_scratch_file("huge", "a = UOp.const(dtypes.int, " + std::string(100000, '9') + ")"),
               "an integer of 100000 digits, expected at most 5000");
  expect_error("dump " + write_scratch_file("utf8", "a = UOp.variable('\xFF', 0, 1)"),
               "utf8:1:19: a string that is not UTF-8");
  expect_error("dump " + write_scratch_file("cycle", "a = b.sink()\nb = a.sink()"), "cycle:1:5: unknown name 'b'");
  expect_error("dump " + write_scratch_file("op", "a = UOp(Ops.NOPE, dtypes.int)"), "op:1:13: unknown op 'NOPE'");
  expect_error("dump " + write_scratch_file("type", "a = UOp(Ops.SINK, 5)"), "type:1:19: found 5, expected a dtype");
  expect_error("dump " + write_scratch_file("cut.gz", gzip.substr(0, 8)), "the gzip data is cut short");
  expect_error("check " + write_scratch_file("damaged.gz", gzip.substr(0, gzip.size() - 8) + std::string(8, 'x')),
               "gzip data is damaged");
  expect_error(
      "check " + write_scratch_file("damaged2.gz", gzip.substr(0, 5000) + std::string(50, 'x') + gzip.substr(5050)),
      "damaged2.gz");
  expect_error(
      "check " + write_scratch_file("record.jsonl",
                                    "{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\"}\n{\"id\":3}\n"),
      "record.jsonl:2:7: found '3', expected a string");
  expect_error("dump " + write_scratch_file("cut.json", "{\"format\":\"tgc-graph\",\"version\":1,\"nodes\":[{\"op\""),
               "cut.json:1:49: found the end of the input");
  std::string good_record = "{\"id\":\"a\",\"target\":\"CPU\",\"ast\":\"ast = UOp.sink()\"}\n",
              golden_header = "{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\"}\n";
  CHECK(run_tgc("dump " + write_scratch_file("two.jsonl", golden_header + good_record + good_record)).out ==
        "ast = UOp.sink()\nast = UOp.sink()\n");
  for (const char* command : {"dump ", "verify ", "check --stages=text "})
    expect_error(
        command + write_scratch_file("second.jsonl", golden_header + good_record + "{\"id\":\"b\",\"ast\":7}\n"),
        "second.jsonl:3:17: found '7', expected a string");
  std::string many = golden_header;  // the output exceeds the buffer of HeldOutput
  for (int i = 0; i < 65000; i++) many += good_record;
  std::string many_file = write_scratch_file("many.jsonl", many);
  CHECK(run_tgc("dump " + many_file).out.size() == 65000 * std::string("ast = UOp.sink()\n").size());
  expect_error("dump " + write_scratch_file("many_bad.jsonl", many + "{\n"),
               "many_bad.jsonl:65002:2: found the end of the input");
  expect_error("dump " + write_scratch_file("onnx", "\x08\x07\x12\x04test"),
               "onnx: the model at byte 8: the model has no graph");
  if (getuid() != 0) {
    std::string secret = write_scratch_file("secret", kKernel);
    fs::permissions(secret, fs::perms::none);
    expect_error("dump " + secret, "cannot open: Permission denied");
  }
}

TEST_CASE("cli: a small dump takes less than 200 ms of processor time") {
  std::string file = write_scratch_file("k.uop", kKernel);
  auto milliseconds = [] {  // returns the CPU time of child processes, because other load changes the wall time
    rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    auto of = [](const timeval& t) { return 1e3 * double(t.tv_sec) + 1e-3 * double(t.tv_usec); };
    return of(used.ru_utime) + of(used.ru_stime);
  };
  double best = 1e9;
  for (int i = 0; i < 10; i++) {
    double begin = milliseconds();
    run_tgc("dump " + file);
    best = std::min(best, milliseconds() - begin);
  }
  CHECK(best < 200);
}

// Stores (a + b).contiguous() and the sums of its rows: two kernels, with a buffer between them.
const std::string kTensors =
    "c2 = UOp.new_buffer('CPU', 16, dtypes.float, 1)\nc4 = UOp.new_buffer('CPU', 16, dtypes.float, 2)\n"
    "c6 = (c2+c4).contiguous()\nc8 = c6.reshape((4,4))\nc9 = c8.r(Ops.ADD, (1,))\nast = c9.sink()\n";

TEST_CASE("cli: dump of a tensor graph prints its stages, its schedule and the stages of its kernels") {
  std::string file = write_scratch_file("t.uop", kTensors);
  CHECK(run_tgc("dump " + file).out == kTensors);
  CHECK(run_tgc("dump " + file + " --stage=rangeify").out.find("BUFFERIZE") != std::string::npos);

  std::string schedule = run_tgc("dump " + file + " --stage=schedule").out;
  CHECK(schedule.find("2 kernels, 4 buffers (2 inputs, 1 output)") != std::string::npos);
  CHECK(schedule.find("memory 208 B, planned 4240 B") != std::string::npos);  // the memory planner uses pages of 4 kB
  CHECK(
      run_tgc("dump " + file + " --stage=schedule --set NO_MEMORY_PLANNER=1").out.find("memory 208 B, planned 208 B") !=
      std::string::npos);
  std::string json = run_tgc("dump " + file + " --stage=schedule --json").out;
  CHECK(json.find("\"buffers\":[3,0],\"writes\":[3],\"reads\":[0]") != std::string::npos);
  // Buffers with other numbers but the same shape and dtype do not change the schedule's key.
  std::string renumbered = kTensors;
  renumbered.replace(renumbered.find("float, 1)"), 9, "float, 7)");
  CHECK(run_tgc("dump " + write_scratch_file("t7.uop", renumbered) + " --stage=schedule --json").out == json);

  std::string sources = run_tgc("dump " + file + " --stage=source --set CPU_COUNT=1").out;
  CHECK(sources.find("# t.0: source") != std::string::npos);
  CHECK(sources.find("# t.1: source") != std::string::npos);
  CommandResult one = run_tgc("dump " + file + " --kernel=1 --stage=source --set CPU_COUNT=1");
  CHECK(one.code == 0);
  CHECK(sources.find(one.out) != std::string::npos);
  CHECK(run_tgc("verify " + file).out.find("all good by the specification 'tensor'") != std::string::npos);

  expect_error("dump " + file + " --kernel=2", "has no kernel '2', expected 0 to 1");
  // Equal kernels are compiled once and printed under both names.
  std::string twice = kTensors.substr(0, kTensors.find("ast =")) +
                      "c10 = UOp.new_buffer('CPU', 16, dtypes.float, 3)\nc12 = (c6+c10).contiguous()\n"
                      "ast = c12.sink()\n";
  std::string same =
      run_tgc("dump " + write_scratch_file("twice.uop", twice) + " --stage=source --set CPU_COUNT=1").out;
  REQUIRE(same.starts_with("# twice.0: source\n"));
  size_t second = same.find("# twice.1: source\n");
  REQUIRE(second != same.npos);
  CHECK(same.substr(18, second - 18) == same.substr(second + 18));

  std::string bench = run_tgc("bench --whole --json --repeat=1 " + file).out;
  for (const char* part : {"\"read\":", "\"schedule\":", "\"render\":{\"kernels\":1,\"nodes\":2,"})
    CHECK(bench.find(part) != bench.npos);
  CHECK(run_tgc("bench --whole --json --repeat=1 " + (scratch_folder() / "twice.uop").string())
        .out.find("\"render\":{\"kernels\":1,\"nodes\":1,") != std::string::npos);

  std::string later = (scratch_folder() / "later.uop").string();
  CHECK(run_tgc("dump " + file + " --stage=earliest -o " + later).code == 0);
  CHECK(run_tgc("dump " + later + " --from=earliest --stage=rangeify").out ==
        run_tgc("dump " + file + " --stage=rangeify").out);
  expect_error("dump " + later + " --from=earliest --stage=schedule", "needs data of all stages");
  expect_error(
      "dump " +
          write_scratch_file("bad.uop", "c1 = UOp.new_buffer('CPU', 4, dtypes.float, 1)\nast = c1.rtag(1).sink()\n") +
          " --stage=schedule",
      "not a well-formed tensor graph");
}
