#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "apps/tgc/cli_testing.h"
#include "lib/records/input_file.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

bool has(const CommandResult& r, const std::string& words) {
  return tgc::contains_text(r.out, words) || tgc::contains_text(r.err, words);
}
std::string temporary(const std::string& name) { return (scratch_folder() / name).string(); }

const std::string kFile = test_path("golden/kernels.jsonl.gz"), kKernel = kFile + "#bin_add_half.0";

TEST_CASE("diff: the exit code is the result, and --quiet prints nothing") {
  std::string a = temporary("a.uop"), b = temporary("b.uop");
  REQUIRE(run_tgc("dump " + kKernel + " -o " + a).code == 0);
  REQUIRE(run_in_shell("sed s/AxisType.LOOP/AxisType.REDUCE/ " + a + " >" + b).code == 0);
  CommandResult same = run_tgc("diff " + a + " " + a), different = run_tgc("diff " + a + " " + b),
      quiet = run_tgc("diff -q " + a + " " + b);
  CHECK(same.code == 0);
  CHECK(same.out == "");
  CHECK(different.code == 1);
  CHECK(has(different, "changed RANGE: axis type AxisType.LOOP -> AxisType.REDUCE"));
  CHECK(quiet.code == 1);
  CHECK(quiet.out == "");
  CHECK(has(run_tgc("diff --json " + a + " " + b), "{\"same\":false,"));
  CHECK(run_tgc("diff " + a + " no-such-file").code == 2);
  CHECK(run_tgc("diff --ignore=nothing " + a + " " + b).code == 2);
  CHECK(has(run_tgc("diff --stage=expander " + a + " " + b), "picks a stage of a run, and both sides are one graph"));
  CHECK(run_tgc("diff " + kFile + " " + kKernel).code == 1);  // kFile has more records than kKernel
  CHECK(run_tgc("diff " + kFile + " " + kFile).code == 0);
  std::filesystem::remove(a), std::filesystem::remove(b);
}

TEST_CASE("diff: a graph is compared with the record's graph after the same stage; an unknown stage is an error") {
  std::string a = temporary("e.json"), b = temporary("f.json");
  REQUIRE(run_tgc("dump " + kKernel + " --stage=expander --json -o " + a).code == 0);
  CommandResult same = run_tgc("diff " + a + " " + kKernel);
  CHECK(same.code == 0);
  CHECK(has(same, "note: compared with 'expander' of "));
  CHECK(has(run_tgc("diff --json " + kKernel + " " + a), "\"stage\":\"expander\""));
  CHECK(run_tgc("diff --stage=devectorize " + a + " " + kKernel).code == 1);
  REQUIRE(run_in_shell("sed s/expander/expandr/ " + a + " >" + b).code == 0);
  for (const std::string& command : {"diff " + b + " " + kKernel, "dump " + b + " --stage=source", "verify " + b}) {
    CommandResult unknown = run_tgc(command);
    CHECK(unknown.code == 2);
    CHECK(has(unknown, "unknown stage 'expandr', expected expander"));
  }
  std::filesystem::remove(a), std::filesystem::remove(b);
}

TEST_CASE("patterns and stats: text and JSON list the rules") {
  CommandResult rules = run_tgc("patterns --stage=expand --op=UNROLL");
  CHECK(rules.code == 0);
  CHECK(has(rules, "unroll-nothing"));
  CHECK(run_tgc("patterns --stage=expnd").code == 2);
  CHECK(has(run_tgc("patterns --stage=expnd"), "expand"));
  CHECK(run_tgc("patterns --op=NOTHING").code == 2);
  CommandResult stats = run_tgc("stats " + kKernel);
  CHECK(stats.code == 0);
  CHECK(has(stats, "-- TOTAL\n"));
  CHECK(has(stats, "merge-adjacent-ranges"));
  CHECK(has(run_tgc("stats --stage=all " + kKernel), "merge-adjacent-ranges"));
  CHECK(!has(run_tgc("stats --stage=expander " + kKernel), "merge-adjacent-ranges"));
  CommandResult never = run_tgc("stats --never " + kKernel);
  CHECK(has(never, "where-on-load"));
  CHECK(!has(never, "merge-adjacent-ranges"));
  CHECK(has(run_tgc("stats --json " + kKernel), "\"total\":{\"hits\":"));
}

// Returns the lines of a trace file about a kernel of which no stage was traced: a SINK of constants.
static std::string untraced_kernel(const std::string& name, const std::vector<int>& constants) {
  std::string out = "[\"graph\"]\n", ids;
  for (size_t id = 0; id < constants.size(); id++) {
    out += "{\"id\":" + std::to_string(id) + ",\"op\":\"CONST\",\"dtype\":\"dtypes.index\",\"arg\":" +
           std::to_string(constants[id]) + "}\n";
    ids += (id ? "," : "") + std::to_string(id);
  }
  const std::string sink = std::to_string(constants.size());
  return out + "{\"id\":" + sink + ",\"op\":\"SINK\",\"dtype\":\"dtypes.void\",\"src\":[" + ids + "]}\n" +
         "[\"kernel\",\"" + name + "\",\"CPU:LLVM\"," + sink + "]\n";
}

TEST_CASE("trace: rewrites are printed, written to a file and read, explained and replayed") {
  std::string file = temporary("trace.gz");
  CommandResult live = run_tgc("trace " + kKernel + " --stage=postopt --quiet");
  CHECK(live.code == 0);
  CHECK(has(live, "mul-distribute  passes/symbolic/sym.cpp:"));
  REQUIRE(run_tgc("trace " + kKernel + " -o " + file).code == 0);
  CommandResult read = run_tgc("trace " + file + " --stage=postopt --quiet");
  CHECK(has(read, "mul-distribute  passes/symbolic/sym.cpp:"));
  CHECK(run_tgc("trace " + file + " --replay").code == 0);
  CommandResult story = run_tgc("trace " + kKernel + " --stage=lower-index --explain=%5");
  CHECK(run_tgc("trace " + kKernel + " --stage=lower-index --explain=c5").out == story.out);
  CHECK(story.code == 0);
  CHECK(has(story, "where it comes from"));
  // a trace file may contain a kernel of which no stage was traced
  const std::string header = "{\"format\":\"tgc-trace\",\"version\":2}\n";
  const std::string no_stages = write_scratch_file("no_stages.trace", header + untraced_kernel("k", {24}));
  CommandResult none = run_tgc("trace " + no_stages + " --stage=ast --explain=%0");
  CHECK(none.code == 0);
  CHECK(has(none, "CONST dtypes.index 24"));
  // the first kernel of a trace may lack a node that the second has
  const std::string two =
      write_scratch_file("two.trace", header + untraced_kernel("k", {24}) + untraced_kernel("l", {7, 8}));
  CommandResult second = run_tgc("trace " + two + " --stage=ast --explain=%2");
  CHECK(second.code == 0);
  CHECK(has(second, "#2 = SINK (7, 8)"));
  CommandResult load = run_tgc("trace " + kKernel + " --stage=devectorize --explain=%12"),
      from_file = run_tgc("trace " + file + " --stage=devectorize --explain=%12");
  CHECK(has(load, "in the source\n    inside the line of what uses it\n    line 10:   half4 val0 = "));
  CHECK(load.out == from_file.out);
  CommandResult sum = run_tgc("trace " + kKernel + " --stage=ast --explain=%12");
  CommandResult all = run_tgc("trace " + kKernel + " --explain=all");
  CHECK(has(sum, "ADD dtypes.half"));  // until a stage splits this node, only nested rewrites replace it
  CHECK(has(sum, "in the source\n    inside the line of what uses it\n"));
  CHECK(has(all, "\"became\":[["));
  CHECK(run_tgc("trace " + file + " --explain=all").out == all.out);
  CHECK(run_tgc("trace " + kKernel + " --explain=%99999").code == 2);
  for (const std::string& input : {kKernel, file}) {
    CommandResult none = run_tgc("trace -q " + input + " --node='#99999'");
    CHECK(none.code == 2);
    CHECK(has(none, "there is no node #99999, expected one up to #"));
    CHECK(run_tgc("trace -q " + input + " --node='#3'").code == 0);
  }
  std::filesystem::remove(file);
}

TEST_CASE("stats and trace: a record that a stage refuses is counted, and the following records are processed") {
  auto lines = LineReader::open(kFile);
  REQUIRE(lines.ok());
  std::string header, good, refused;  // `refused`: a record of a graph that tinygrad refused
  for (std::string line; (*lines)->next_line_text(line).value_or_throw();)
    if (header.empty()) header = line + "\n";
    else if (tgc::contains_text(line, "\"id\": \"bin_add_half.0\"")) good = line + "\n";
    else if (tgc::contains_text(line, "\"error\":")) refused = line + "\n";
  std::string unexpected = refused;
  unexpected.replace(unexpected.find("\"error\":"), 8, "\"was\":  ");
  auto check = [&](const std::string& file, int code, const std::string& words) {
    for (const char* command : {"stats ", "trace -q "}) {
      CommandResult r = run_tgc(command + file);
      CAPTURE(command + file);
      CAPTURE(r.err);
      CHECK(r.code == code);
      CHECK(tgc::contains_text(r.err, words));
      CHECK(tgc::contains_text(r.out, code == 2 ? "" : "merge-adjacent-ranges"));
    }
  };
  check(write_scratch_file("expected.jsonl", header + refused + good), 0,
        "1 of 2 graphs were refused, 1 of them by tinygrad too");
  check(write_scratch_file("refused.jsonl", header + unexpected + good), 1,
        "warning: bin_sub___bf16.0: stage 'final rewrite'");
  check(write_scratch_file("refused.jsonl", header + unexpected + good), 1, "1 of 2 graphs were refused\n");
  check(write_scratch_file("all.jsonl", header + unexpected), 2, "stage 'final rewrite'");
}

TEST_CASE("completion: the bash script is accepted and completes") {
  std::string script = temporary("bash");
  REQUIRE(run_in_shell("tgc completion bash >" + script).code == 0);
  auto complete = [&](const std::string& line) {
    return run_in_shell("bash -c '. " + script + "; COMP_LINE=\"" + line +
                        "\"; COMP_POINT=${#COMP_LINE}; _tgc; echo ${COMPREPLY[@]}'");
  };
  CHECK(has(complete("tgc du"), "dump\n"));
  CHECK(has(complete("tgc dump --stage=devec"), "devec\n"));  // bash completes the part after =
  CHECK(has(complete("tgc dump --stage=expand,devec"), "expand,devec\n"));
  CHECK(has(complete("tgc run --target CUDA:CUDA:sm_9"), "sm_90\n"));  // bash completes the part after :
  CHECK(complete("tgc dump some").out == "\n");                        // the shell completes file names
  std::filesystem::remove(script);
  CHECK(run_tgc("completion tcsh").code == 2);
}

TEST_CASE("completion: `tgc complete` answers with candidates") {
  CHECK(run_tgc("complete -- stag").out == "stages\tList the stages of the pipeline in order\n");
  CHECK(run_tgc("complete -- cache --cl").out == "--clear\tremove every entry\n");
  CHECK(run_tgc("complete -- dump --stage=ast,linear").out == "--stage=ast,linear\n");
  CHECK(run_tgc("complete -- dump --set NOOP").out == "NOOPT=\n");
  CHECK(run_tgc("complete -- help exit").out == "exit-codes\n");
  CHECK(run_tgc("complete -- nosuch --st").out == "");
  CHECK_FALSE(has(run_tgc("complete -- ''"), "complete\t"));  // `complete` is a hidden command
}

bool is_installed(const std::string& program) { return run_in_shell("command -v " + program).code == 0; }

TEST_CASE("completion: the zsh script completes in a terminal") {
  CHECK(has(run_tgc("completion zsh"), "#compdef tgc"));
  SKIP_TEST_IF(!is_installed("zsh"), "zsh is not installed");
  std::string folder = temporary("zsh");
  std::filesystem::create_directory(folder);
  REQUIRE(run_in_shell("tgc completion zsh >" + folder + "/_tgc").code == 0);
  CHECK(run_in_shell("zsh -n " + folder + "/_tgc").out == "");
  // Returns what zsh prints after the user types `line` and TAB.
  auto after_tab = [&](const std::string& line) {
    std::ofstream(folder + "/run")
        << "zmodload zsh/zpty\nzpty -b z 'PS1= zsh -f -i'\n"
        << "zpty -w z 'fpath=(" << folder << " $fpath); autoload -Uz compinit; compinit -u -D; PS1=; echo REA''DY'\n"
        << "out=; for i in {1..200}; do sleep 0.05; while zpty -r -t z chunk; do out+=$chunk; done; [[ "
           "$out == *READY* ]] && break; done\n"
        << "zpty -w -n z '" << line << "'$'\\t'\nout=\n"
        << "for i in {1..100}; do sleep 0.05; while zpty -r -t z chunk; do out+=$chunk; done; [[ $out == *'" << line
        << "'[a-zA-Z_]* ]] && break; done\n"
        << "print -r -- $out\nzpty -d z\n";
    return run_in_shell("zsh -f " + folder + "/run");
  };
  CHECK(has(after_tab("tgc du"), "tgc dump"));
  CHECK(has(after_tab("tgc dump --stage dev"), "--stage devec"));
  CHECK(has(after_tab("tgc dump --stage=expand,dev"), "--stage=expand,devec"));
  CHECK(has(after_tab("tgc dump --set NOO"), "--set NOOPT="));
  std::filesystem::remove_all(folder);
}

TEST_CASE("completion: the fish script completes") {
  CHECK(has(run_tgc("completion fish"), "complete -c tgc"));
  SKIP_TEST_IF(!is_installed("fish"), "fish is not installed");
  std::string script = temporary("fish");
  REQUIRE(run_in_shell("tgc completion fish >" + script).code == 0);
  CHECK(run_in_shell("fish -n " + script).out == "");
  auto complete = [&](const std::string& line) {
    return run_in_shell("HOME=/nonexistent fish -N -c 'source " + script + "; complete -C \"" + line + "\"'");
  };
  CHECK(has(complete("tgc du"), "dump\t"));
  CHECK(has(complete("tgc dump --st"), "--stage\t"));
  CHECK(has(complete("tgc dump --stage=expand,dev"), "--stage=expand,devec"));
  CHECK(has(complete("tgc completion f"), "fish\n"));
  std::filesystem::remove(script);
}

TEST_CASE("help: topics and commands are explained") {
  for (const char* topic :
       {"stages", "formats", "settings", "targets", "inputs", "recording", "debug", "exit-codes", "agents", "dump"}) {
    CommandResult r = run_tgc(std::string("help ") + topic);
    CHECK(r.code == 0);
    CHECK(r.out.size() > 100);
  }
  std::string man = run_tgc("help --man").out;
  for (const char* part : {".SS tgc dump\n", "Usage: tgc dump [OPTIONS] [INPUT]\n",
                           "\\-\\-stage LIST", ".SH SETTINGS\n", ".SH EXIT STATUS\n"})
    CHECK(man.find(part) != man.npos);
  CHECK(has(run_tgc("help settings"), "IGNORE_OOB=1"));
  CHECK(has(run_tgc("help targets"), "CUDA      CUDA:CUDA:sm_80\n"));
  CHECK(has(run_tgc("help recording"), "python -m tgc.export -o run.jsonl.gz -- my_program.py"));
  CHECK(has(run_tgc("help"), "\n  bisect  "));
  CHECK(has(run_tgc("help dump"), "Usage: tgc dump "));
  CHECK(has(run_tgc("help stagse"), "stages"));
  CHECK(run_tgc("help stagse").code == 2);
}

TEST_CASE("tinygrad's variables: DEBUG, NOOPT, SPEC and IGNORE_OOB work") {
  CommandResult quiet = run_in_shell("tgc dump " + kKernel + " >/dev/null");
  CHECK(quiet.out == "");
  CommandResult loud = run_in_shell("DEBUG=6 tgc dump " + kKernel);
  for (const char* part : {"ast = c14.sink(", "Ops.DEFINE_GLOBAL", "Opt(op=OptOps.UPCAST, axis=0, arg=4)", "__global__",
                           "*** CUDA       1 E_22_3_4 "}) {
    INFO(part);
    CHECK(has(loud, part));
  }
  CHECK(!has(run_in_shell("DEBUG=2 tgc dump " + kKernel), "__global__"));
  CHECK(!has(run_in_shell("NOOPT=1 DEBUG=3 tgc dump " + kKernel), "UPCAST"));
  CHECK(run_in_shell("SPEC=2 tgc dump --stage=source " + kKernel).code == 0);
  CHECK(run_in_shell("SPEC=1 tgc dump --stage=source " + kKernel).code == 0);
  // adds an END without a loop, which the specification forbids
  const std::string end = R"( | sed -E 's/(c[0-9]+).sink/UOp(Ops.END, dtypes.void, (\1,)).sink/' | SPEC=)";
  std::string gone_wrong = "tgc dump " + kKernel + end;
  CHECK(has(run_in_shell(gone_wrong + "1 tgc dump --stage=movement"), "the AST is not well formed: node "));
  CHECK(run_in_shell(gone_wrong + "0 tgc dump --stage=movement").code == 0);
  // the END is added after the first stage: SPEC=1 verifies only the input and the result, SPEC=2 every stage
  std::string later = "tgc dump " + kKernel + " --stage=movement" + end;
  CHECK(run_in_shell(later + "1 tgc dump --from=movement --stage=load-collapse").code == 0);
  CHECK(has(run_in_shell(later + "2 tgc dump --from=movement --stage=load-collapse"),
            "leaves a graph that is not well formed"));
  CHECK(has(run_in_shell("DEBUG_LINEARIZE=1 tgc dump " + kKernel), "(1, -20, 0)"));
  CHECK(run_in_shell("IGNORE_OOB=0 tgc dump --stage=source " + kKernel).code == 0);
  // the check for out-of-bounds accesses must not take PTX's byte addresses for indices
  CHECK(run_in_shell("IGNORE_OOB=0 tgc dump --stage=source --target=CUDA:PTX:sm_80 " + kKernel).code == 0);
  CommandResult outside = run_in_shell("tgc dump " + kKernel +
                      " | sed 's/ptr(264), (), 2/ptr(263), (), 2/' | IGNORE_OOB=0 tgc dump --stage=source");
  CHECK(outside.code == 2);
  CommandResult model =
      run_in_shell("DEBUG=2 tgc run --device=CPU " + test_path("golden/tensor.jsonl.gz") + "#sym_attn");
  CHECK(model.code == 0);
  CHECK(has(model, "scheduled    4 kernels in"));
  CHECK(has(model, "*** CPU        4 "));
  CHECK(has(model, "passed on CPU:LLVM, 4 kernels"));
  if (!has(outside, "libz3")) CHECK(has(outside, "out of bounds: the access to DEFINE_GLOBAL 2 of 263 elements"));
}

}  // namespace
