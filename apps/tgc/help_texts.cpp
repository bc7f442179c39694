#include "apps/tgc/commands.h"
#include "lib/target/target.h"

namespace tgc {

std::string faults_text() {
  std::string renderers;
  for (std::string_view name : renderer_names()) renderers.append(" ").append(name);
  return "Inject a fault to test what finds faults. With TGC_FAULT=RULE[@N] the N-th application of the rule in each\n"
         "kernel (default 1; applications inside rules count) computes something else: an integer result plus one, a\n"
         "float times two, a negated bool; a STORE stores such a value; a result without a value stays. Others:\n"
         "  tensor:RULE[@N]           the same in each tensor graph\n"
         "  endless:RULE[@N]          from then on the rule undoes its own rewrite, so that rewriting does not end\n"
         "  shortcut:NAME[@N]         the N-th use of the shortcut computes something else\n"
         "  renderer:NAME.OP[@N]      the renderer (without NAME: each) prints the N-th node of an op as another:\n"
         "    ADD MUL MAX AND OR XOR CMPNE CMPEQ            op(a, a) for op(a, b)\n"
         "    SUB IDIV FDIV MOD POW SHL SHR CMPLT THREEFRY  op(b, a) for op(a, b)\n"
         "    VECTORIZE MULACC WHERE                        the first two values (of WHERE, the last two) swapped\n"
         "    NEG SQRT RECIPROCAL EXP2 LOG2 SIN TRUNC       a + a for op(a)\n"
         "    CONST                                         another number\n"
         "    where a and b have the same dtype; NAME:" + renderers + "\n"
         "  llvm:NAME                 in LLVM: subtract, compare, select, constant, xor, wide-slp (passes), intrinsic\n"
         "A,B injects several. `tgc trace INPUT --nested --quiet` lists the applications in order; `tgc bisect INPUT`\n"
         "finds the fault.\n";
}

std::string inputs_text() {
  return R"(INPUT is a file or - (standard input). tgc finds its kind from the content, never from the name:
  pyrender    tinygrad's pyrender text, of a kernel or a tensor graph
  repr        what print(uop) prints in tinygrad
  uops        a print_uops listing
  json        tgc's own
  recording   what tinygrad_export.py wrote, plain or gzip, or the rewrites.pkl of VIZ=1; FILE#ID, FILE#ID@TARGET or
              --kernel=N picks one record
  repro       a repro bundle, which --repro and `tgc reduce -o` write
  onnx        an ONNX model
  trace       for `tgc trace` and view: what `tgc trace -o` wrote
A graph that `tgc dump -o` wrote after a stage resumes after that stage. Other texts need --from=STAGE.
A text may stand among other lines: in a Markdown file, or in what a program prints at DEBUG=5.
)";
}

std::string exit_codes_text() {
  return R"(Exit codes, the same as diff's:
  0   same, passed, done
  1   different, failed
  2   trouble: wrong usage, an unreadable input, a missing device
)";
}

std::string recording_text() {
  return R"(Record what a program compiles with its own, unchanged tinygrad 0.11 to 0.14:
  python -m tgc.export -o run.jsonl.gz -- my_program.py --its --arguments
Without the wheel, `python -m tgc.export` is `python .../tgc/scripts/tinygrad_export.py`; its --help says more.
It writes golden records, which every command takes as an INPUT:
  run.jsonl.gz             the kernels, stage by stage; their ids are my_program.0, my_program.1, ...
  run.tensor.jsonl.gz      the schedules: my_program.s0, my_program.s1, ...
  run.inputs/ID.in.npz     with --save-inputs: what kernel ID read when it first ran
  run.inputs/ID.out.npz    with --save-inputs: what it stored then
  run.jit.jsonl.gz         the calls of TinyJits, for `tgc lint` (with tinygrad 0.12.0, add --walk)
Then:
  tgc records run.jsonl.gz                                list the records
  tgc check run.jsonl.gz run.tensor.jsonl.gz --show=1     find where that tinygrad differs from 0.12.0
  tgc dump run.jsonl.gz#my_program.0 --stage=changed      show a kernel, stage by stage
  tgc run run.jsonl.gz#my_program.0                       compare a kernel with REF on random arrays,
    --inputs=run.inputs/{}.in.npz                         or on the program's own arrays,
    --expect=run.inputs/{}.out.npz                        and with the results that the program got
A single graph needs no recording: what print(uop), pyrender(uop) and print_uops(list) print is an INPUT, too.
)";
}

std::string upgrades_text() {
  return R"(A commit of tinygrad that is newer than tgc may have ops that tgc does not know, or that have another form. tgc shows
graphs with such ops as they are; commands that compute name the op and stop. --upgrades=FILE says what an op is. Then they
can compute, and the graphs are still shown as they are. FILE has JSON:
  {"format": "tgc-upgrades", "version": 1, "ops": [
    {"op": "TIMES", "is": "MUL"},                                            another name
    {"op": "SQUARE", "is": "MUL", "src": [0, 0]},                            a new op: a known op of its sources
    {"op": "FMA", "is": "ADD", "src": [{"is": "MUL", "src": [0, 1]}, 2]},    the same, of two known ops
    {"op": "RANGE", "arg": [{"field": "id"}, {"field": "type"}]}             the argument has another form
  ]}
  "op"        the op's name in the graph; the first row that fits the node counts
  "is"        a known op, of any release from 0.11 to 0.14; default: the op itself
  "src"       the sources: numbers of the node's sources, from 0, or nodes of them; default: all of them
  "arg"       the argument: {"field":NAME} or {"item":N} of the node's argument, {"value":"Ops.ADD"}, {"same":true},
              a number, a text, true, false or null, or a list of these; default: the same
  "dtype"     the dtype: "dtypes.int", or that of {"source":N}; default: the node's
  "since"     "0.14": only for graphs of this release and later ones; an unknown release is later than all
The file is data: it makes no ops that hold code, such as CUSTOM, and reads no other file.
)";
}

std::string debug_text() {
  return R"(`tgc dump` and `tgc run` obey these environment variables of tinygrad; the output goes to standard error:
  DEBUG=1             the number of scheduled kernels
  DEBUG=2             a line per kernel; with run, its time and rates
  DEBUG=3             the optimizer's list
  DEBUG=4             the source
  DEBUG=5             the AST, as pyrender text
  DEBUG=6             the linear list, as print_uops prints it
  DEBUG=7             the machine code, disassembled
  DEBUG_LINEARIZE=1   the order of the linearizer, with its reasons
  DEBUG_RANGEIFY=1    the ranges of each node of a tensor graph
  SPEC=1              verify the tensor graph, the AST and the linear list
  SPEC=2              the same, and every node after every stage
  IGNORE_OOB=0        prove that every access stays in its buffer, with Z3 where bounds do not suffice
  NOOPT=1             no optimizations; more: `tgc help settings`
TRACK_MATCH_STATS=1 is `tgc stats`, VIZ=1 is `tgc view`.
)";
}

}  // namespace tgc
