#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::string kernels() { return test_path("import/kernels.jsonl.gz"); }
std::string rewrites() { return test_path("import/rewrites.jsonl.gz"); }
std::string tensors() { return test_path("import/tensor.jsonl.gz"); }

TEST_CASE("cli: options that mean nothing for a recording of another release are errors") {
  for (const char* options : {"dump --machine=aarch64", "dump --lines", "stats --never", "trace --replay",
                              "verify --spec=kernel"}) {
    INFO(options);
    const std::string text(options);
    const size_t blank = text.find(' ');
    const std::string option = text.substr(blank + 1, text.find_first_of("= ", blank + 1) - blank - 1);
    expect_error(text.substr(0, blank) + " " + rewrites() + text.substr(blank), option + ": the recorded pipeline of");
  }
}

TEST_CASE("cli: dump compiles a recorded source") {
  const CommandResult assembly = run_tgc("dump --machine=x86_64 --lines --stage=source,asm " + rewrites());
  CHECK(assembly.code == 0);
  CHECK(contains_text(assembly.out, "void E_3_4(float* restrict data0_12) {"));
  CHECK(contains_text(assembly.out, "Begin function E_3_4"));
  CHECK(contains_text(run_tgc("dump --machine=aarch64 --stage=disasm " + rewrites()).out, "\tret"));
  expect_error("dump --stage=sass " + rewrites(), "sass is NVIDIA only");
  expect_error("dump --stage=asm " + tensors(), "the recording has no 'asm'");
}

TEST_CASE("cli: what needs recorded rewrites, or the native pipeline, is said in one line") {
  for (const char* command : {"trace ", "patterns ", "prove "})
    expect_error(command + kernels(),
                 "the recorded pipeline of tinygrad 0.14.0 has no rewrites, expected a recording of");
  expect_error("check " + kernels(), "expected --live=PYTHON");
  expect_error("reduce -o x " + kernels() + "#nn_randint.0",
          "reduce: the recorded pipeline of tinygrad 0.14.0 cannot compile again, expected --live=PYTHON, or --native");
  expect_error("dump --recorded " + test_path("import/unary_relu.0.uop"),
               "--recorded: the recorded pipeline of tinygrad");
  expect_error("bench " + kernels(),
               "has no times of stages, expected a recording of a newer exporter, or --live=PYTHON");
  CommandResult verified = run_tgc("verify " + kernels());
  CHECK(verified.code == 0);
  CHECK(contains_text(verified.err, "the specification is tinygrad 0.12.0's"));
  CHECK(contains_text(verified.out, "nn_randint.0: "));
}

TEST_CASE("cli: stages, patterns and stats of a recording take stages by slug, and ops") {
  CommandResult stages = run_tgc("stages --json " + kernels());
  CHECK(stages.code == 0);
  CHECK(contains_text(stages.out, R"("slug":"expand-broadcast-add-loads","level":"kernel","records":5)"));
  CommandResult rules = run_tgc("patterns --stage=simplify-ranges --op=RANGE " + rewrites());
  CHECK(contains_text(rules.out, "uop/ops.py:"));
  CHECK_FALSE(contains_text(rules.out, "symbolic.py"));
  CHECK(contains_text(run_tgc("stats --stage=expander --json " + rewrites()).out, "\"matches\":{\"codegen/"));
  expect_error("stats --stage=expandr " + rewrites(), "unknown stage 'expandr', expected expander");
  CHECK(
      contains_text(run_tgc("trace --stage=expandr " + rewrites()).err, "unknown stage 'expandr', expected expander"));
}

TEST_CASE("cli: run --nan names the operation that makes a NaN of numbers, and the line of the program") {
  const CommandResult ran = run_tgc("run --nan " + test_path("nan/train.jsonl.gz"));
  CHECK(ran.code == 1);
  CHECK(contains_text(ran.out, "train.0 r_2_4: data0[0] is not a number\n  log2(0) = -inf, where 0 = data1[2]\n"
                      "    log at train.py:3\n"));
  CHECK(contains_text(ran.out, "  -inf*0 = nan, where 0 = data1[2]\n    __mul__ at train.py:3\n"));
  CHECK(contains_text(ran.out, "1 of 2 elements of data0"));
  CHECK(contains_text(run_tgc("run --nan --json " + test_path("nan/train.jsonl.gz")).out,
                      R"("made_by":"log at train.py:3")"));
  for (const char* option : {"--device=REF", "--timeout=3", "--inputs=x.npz", "--native", "--repro=x"})
    expect_error("run --nan " + test_path("nan/train.jsonl.gz") + " " + option, " excludes ");
  expect_error("run --nan " + kernels(), "no kernel made a NaN of numbers, or nobody watched");
}

TEST_CASE("cli: dump --why says why a recorded scheduler stores each value") {
  const CommandResult why = run_tgc("dump --stage=schedule --why " + test_path("why/program.tensor.jsonl.gz"));
  CHECK(why.code == 0);
  CHECK(contains_text(why.out, "kernel 0 (w.0): softmax at w.py:3\n"
                      "  stores Ops.REDUCE dtypes.float Ops.MAX (16,), softmax at w.py:3\n"
                      "  stored since: an EXPAND between it and its user would compute it again"));
  CHECK(contains_text(why.out, "stored since: its users index it with different loops"));
  CHECK(contains_text(why.out, "stored since: a copy needs its source in memory"));
  CHECK(contains_text(why.out,
                      "stored since: the store's value reads the buffer that the store writes, in another order"));
  CHECK(contains_text(why.out, "stored since: the program assigns it, assign at w.py:6"));
  expect_error("dump --stage=schedule --why " + kernels(), "schedule");
}

TEST_CASE("cli: rewrites of a discarded attempt are marked, and not counted") {
  const std::string file = test_path("import/discarded.tensor.jsonl.gz");
  CHECK(contains_text(run_tgc("trace --nested " + file).out, ", 1 more in discarded attempts"));
  CHECK(contains_text(run_tgc("trace --nested -q " + file).out, "uop/ops.py:1756 [discarded]  #54 -> #71"));
  CHECK(contains_text(run_tgc("stats " + file).out, "not counted: 1 rewrite in discarded attempts"));
  CHECK(contains_text(run_tgc("stats --json " + file).out, "\"discarded\":1"));
}

TEST_CASE("cli: prove decides the rewrites of a recording, and those of a compilation") {
  CommandResult recorded = run_tgc("prove --strict " + test_path("import/prove.jsonl.gz"));
  INFO(recorded.out, recorded.err);
  CHECK(recorded.code == 0);
  CHECK(contains_text(recorded.out, "prog.12: proven"));
  CHECK(contains_text(recorded.out, " rewrites of tinygrad 0.14.0, "));
  const std::string kernel = test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0";
  CHECK(run_tgc("prove --strict " + kernel).code == 0);
  CommandResult wrong = run_tgc("prove --json " + kernel, "/dev/null", "TGC_FAULT=add-zero");
  CHECK(wrong.code == 1);
  CHECK(contains_text(wrong.out, R"("verdict":"refuted")"));
  CHECK(contains_text(wrong.out, R"("rule":"add-zero","rewrite":1,"counterexample":{)"));
}

TEST_CASE("cli: prove and diff of kernels name the recordings of schedules, which they did not look at") {
  run_in_shell("for f in p a b; do echo >$f.tensor.jsonl; done; zcat '" + test_path("import/prove.jsonl.gz") +
               "' >p.jsonl; zcat '" + test_path("golden/kernels.jsonl.gz") +
               "' | head -n 3 >a.jsonl; head -n 2 a.jsonl >b.jsonl");
  CHECK(contains_text(run_tgc("prove p.jsonl").err, "the schedules that made the ASTs: tgc prove p.tensor.jsonl\n"));
  const CommandResult other = run_tgc("diff a.jsonl b.jsonl");
  CHECK(other.code == 1);
  CHECK(contains_text(other.err, "for the schedules that made them: tgc diff a.tensor.jsonl b.tensor.jsonl\n"));
  CHECK(run_tgc("diff a.jsonl a.jsonl").err.empty());
}

TEST_CASE("cli: a dumped folder of a recording is read again, and is a side of diff") {
  for (const std::string& spec : {kernels() + "#int_and_long.0", tensors() + "#shard_sum0.0"}) {
    const std::string folder = (scratch_folder() / "dumped").string();
    REQUIRE(run_tgc("dump " + spec + " --stage=all -o " + folder + "/").code == 0);
    for (auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".uop" && extension != ".uops") continue;
      CommandResult read = run_tgc("verify '" + entry.path().string() + "'");
      INFO(entry.path(), read.out, read.err);
      CHECK(read.code == 0);
    }
    std::filesystem::remove_all(folder);
  }
}

TEST_CASE("cli: each dumped graph of a recording of any release is an input of dump, diff, verify and view") {
  const std::string folder = (scratch_folder() / "dumped").string(), page = (scratch_folder() / "page.html").string();
  for (const std::string release : {"0.11", "0.12", "0.13", "0.14"}) {
    const std::string record = test_path("pipelines/" + release + ".jsonl.gz");
    REQUIRE(run_tgc("dump --recorded " + record + " --stage=all -o " + folder + "/").code == 0);
    size_t graphs = 0;
    for (auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string extension = entry.path().extension(), file = "'" + entry.path().string() + "'";
      if (extension != ".uop" && extension != ".uops" && extension != ".json") continue;
      graphs++;
      for (const std::string& command : {"dump " + file, "verify " + file, "diff " + file + " " + record,
                                         "view --no-asm -o " + page + " " + file}) {
        CommandResult read = run_tgc(command);
        INFO(command, read.out, read.err);
        CHECK(read.code == 0);
      }
    }
    CHECK(graphs >= 16);
    std::filesystem::remove_all(folder);
  }
  REQUIRE(run_tgc("dump --recorded " + test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0 --stage=expander -o " +
                  folder + "/").code == 0);
  CommandResult resumed = run_tgc("dump --stage=source " + folder + "/*");  // goes on with tgc's own stages
  CHECK(resumed.code == 0);
  CHECK(contains_text(resumed.out, "__global__"));
}

TEST_CASE("cli: a recording from standard input, and the stages that change the graph of any pipeline") {
  for (const char* command : {"dump --stage=expander -", "trace --quiet -", "stats --stage=changed -", "stages -",
                              "patterns -"}) {
    CommandResult piped = run_tgc(command, rewrites());
    INFO(command, piped.out, piped.err);
    CHECK(piped.code == 0);
  }
  const std::string kernel = test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0";
  CommandResult changed = run_tgc("trace --quiet --stage=changed " + kernel);
  CHECK(changed.code == 0);
  CHECK(contains_text(changed.out, "--- expander"));
  CHECK_FALSE(contains_text(changed.out, "--- load collapse"));
  CHECK(run_tgc("stats --stage=changed " + kernel).code == 0);
}

TEST_CASE("cli: --explain takes the number that the trace shows") {
  const std::string kernel = test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0";
  CommandResult story = run_tgc("trace '--explain=#91' --stage=postopt " + kernel);
  INFO(story.out, story.err);
  CHECK(story.code == 0);
  CHECK(contains_text(story.out, "#91 = CONST dtypes.index 12"));
  expect_error("trace '--explain=#99999' " + kernel, "no graph has a node #99999");
  // The last line of a stage's trace shows a node that the stage made, as #N; --explain accepts this number.
  const std::string recorded = test_path("pipelines/0.14.jsonl.gz") + " --stage=devectorize2";
  const std::string trace = run_tgc("trace " + recorded).out;
  const size_t made = trace.rfind("  +   #");
  REQUIRE(made != std::string::npos);
  const std::string line = trace.substr(made + 6, trace.find('\n', made) - made - 6);
  CHECK(contains_text(run_tgc("trace '--explain=" + line.substr(0, line.find(' ')) + "' " + recorded).out, line));
}

TEST_CASE("cli: the page of a recording shows its rewrites") {
  const std::string page = (scratch_folder() / "page.html").string();
  REQUIRE(run_tgc("view " + rewrites() + " -o " + page).code == 0);
  REQUIRE(run_tgc("trace " + rewrites() + " -o " + (scratch_folder() / "t.gz").string()).code == 0);
  CHECK(run_tgc("view " + (scratch_folder() / "t.gz").string() + " -o " + page).code == 0);
  const std::string traced = run_tgc("trace " + (scratch_folder() / "t.gz").string() + " --stage=simplify-ranges").out;
  CHECK(contains_text(traced, "uop/symbolic.py:113\n"));
}

TEST_CASE("cli: compile takes the sources of a recording; of tensor records there are none") {
  CommandResult ran = run_tgc("compile --json " + kernels());
  CHECK(contains_text(ran.out, R"("CUDA:CUDA:sm_80":{"kernels":1,"sources":1)"));
  CHECK(contains_text(ran.out, R"("CPU:X86":{"kernels":1,"sources":1,"compiled":0,"compilable":false)"));
  expect_error("compile " + tensors(), "the inputs have no kernel");
}

TEST_CASE("cli: a port that answers as tinygrad 0.14.0 did conforms, also in the list and the source") {
  const std::string port = write_scratch_file("port.py",
      "import gzip, json, sys\n"
      "records = [json.loads(l) for l in gzip.open(sys.argv[1], 'rt')][1:]\n"
      "for line in sys.stdin:\n"
      "  q = json.loads(line)\n"
      "  r = next(r for r in records if r['id'] == q['id'])\n"
      "  now = r['ast']\n"
      "  for s in r['stages']:\n"
      "    now = s.get('full') or s.get('ir') or now\n"
      "    if s['name'] == q['stage']: break\n"
      "  if q['stage'] == 'linear': now = r['linear']\n"
      "  print(json.dumps({'source': r['source']} if q['stage'] == 'source' else {'graph': now}), flush=True)\n");
  const std::string with = " --with='python3 " + port + " " + kernels() + "'";
  CommandResult text = run_tgc("conform " + kernels() + "#sum_3x5x7.0" + with);
  INFO(text.out, text.err);
  CHECK(text.code == 0);
  CHECK(contains_text(text.out, "  source "));
  CommandResult values = run_tgc("conform " + kernels() + "#nn_randint.0 --as=values" + with);
  INFO(values.out, values.err);
  CHECK(values.code == 0);
  CHECK(contains_text(values.out, "  linear "));
  const std::string echo = write_scratch_file("echo.py",
                                              "import json, sys\nfor line in sys.stdin: print(json.dumps({'graph': "
                                              "json.loads(line)['graph']}), flush=True)\n");
  CommandResult echoed = run_tgc("conform --as=values '" + test_path("golden/kernels.jsonl.gz#bin_add_half.0") +
                                 "' --with='python3 " + echo + "'");
  INFO(echoed.out, echoed.err);
  CHECK(echoed.code == 1);
  CHECK(contains_text(echoed.out, "the answer is the question's graph, which tinygrad changes in this stage"));
  CHECK(contains_text(echoed.out, "\n0 of "));
  CHECK(contains_text(echoed.out, " answers not counted: tinygrad changes nothing in these stages"));
  CommandResult unordered =
      run_tgc("conform " + kernels() + "#nn_randint.0 --as=values --stage=linear --with='python3 " + echo + "'");
  CHECK(unordered.code != 0);
  CHECK(contains_text(unordered.out + unordered.err, "a graph without the order of its nodes"));
}

}  // namespace
}  // namespace tgc
