"""Write golden records of everything that a program compiles with an installed tinygrad, 0.11 to 0.14.

  tinygrad_export.py -o out.jsonl.gz [options] program.py args...
  tinygrad_export.py -o out.jsonl.gz [options] -- -m pytest test/test_ops.py -k gemm
  tinygrad_export.py -o out.jsonl.gz [options] -- -c 'from tinygrad import Tensor; (Tensor.ones(9) + 1).realize()'
  tinygrad_export.py -o out.jsonl.gz [options] -- - args... <program.py
  tinygrad_export.py -o out.jsonl.gz [--targets=T,T...] --replay old.jsonl.gz...
  tinygrad_export.py -o out.jsonl.gz --viz rewrites.pkl
  tinygrad_export.py --answer

Records the program and the Python processes that it starts. Each schedule that tinygrad makes becomes a tensor record.
Each kernel becomes one kernel record per target. A record holds the graph after every stage, and the Tensor methods and
program lines that led to it; a kernel record also the linear list, the source and the launch facts. A run writes:

  out.jsonl.gz              the kernels
  out.tensor.jsonl.gz       the schedules
  out.inputs/ID.in.npz      with --save-inputs: the arrays that kernel ID read when it first ran (data1, ...; variables
                            by name)
  out.inputs/ID.out.npz     with --save-inputs: the arrays that it stored (data0, ...)

With --watch-nan, out.nan.json and out.inputs have the first call that makes a NaN of numbers, of each of up to eight
kernels, and `tgc run out.jsonl.gz --nan` explains the first one that no later kernel masks.

`tgc check out*.jsonl.gz` replays the records. This runs a kernel on the program's values and compares the results:
  tgc run out.jsonl.gz#ID --inputs=out.inputs/ID.in.npz --expect=out.inputs/ID.out.npz

For releases other than 0.12.0, and with --walk, --rewrites, --letters, --watch-nan or --viz, each graph is kept as its
nodes, and named rewrites are its stages. Such a recording of a program also has the calls of TinyJits, in
out.jit.jsonl.gz. `tgc diff old.jsonl.gz new.jsonl.gz` compares two such recordings; `tgc lint out.jit.jsonl.gz` finds
common mistakes with jits.

--targets names the targets that each kernel is compiled for (CPU:CLANG, CUDA:CUDA:sm_80, ...; the devices need not be
there). Without it, kernels are recorded for the device that the program uses. A kernel compiled under changed settings
(Context(NOOPT=1)) lists them in its record. --replay compiles the graphs of golden files again instead of running a
program. --viz converts a trace that tinygrad's VIZ=1 or TRACK_MATCH_STATS=2 left in the temporary folder, with every
match; set PARALLEL=0 too, because kernels that 0.14 compiles in other processes are not in a trace. When the exporter
runs a program, it sets PARALLEL=0 unless PARALLEL is set, so that the ids do not vary. Each record is written as soon
as it is made, so the records before a crash are complete. The exit code is the program's, or 2 if nothing could be
recorded.

--answer writes no file. It answers the questions of `tgc conform --with` and of the options --tinygrad and --live of
tgc's commands, read from standard input, on standard output. tinygrad 0.12.0 answers all questions; later releases and
commits answer all but those about a single stage. --replay and --answer need 0.12 or later.

In a program, `from tinygrad_export import tgc_export; tgc_export(tensor, path="out.jsonl.gz")` records the schedule and
the kernels of tensors without running them. Leave out the path in a program that runs under this command.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

from tgc.export.golden import NATIVE_RELEASE, SETTINGS, checked_settings, exit_with_error, golden_lines, print_message
from tgc.export.graph_reader import read_any_graph
from tgc.export.graph_text import GraphTextError
from tgc.export.processes import finish, finish_at_exit, program_name, record_children, run_program
from tgc.export.recorder import Recorder
from tgc.export.start import start_recording
from tgc.export.versions import installed_commit, installed_version

MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
# Settings that change the text of a stage, but that a golden header cannot contain.
UNRECORDED_SETTINGS = ["ALIGNED", "REDUCE_LEADERS"]


def replay(paths: list[str], recorder: Recorder) -> None:
  from tinygrad.helpers import Context
  for path in paths:
    lines = golden_lines(path)
    try:
      header = json.loads(next(lines, "{}"))
      if header["format"] != "tgc-golden" or header["version"] != 1: raise ValueError
      wanted = checked_settings(header["settings"], {*SETTINGS, *recorder.context_vars()})
    except MALFORMED: exit_with_error(f"{path}: not a golden file of version 1")
    if wanted != recorder.header_settings:
      current = " ".join(f"{k}={v}" for k, v in recorder.header_settings.items()) or "none"
      assignments = " ".join(f"{k}={v}" for k, v in wanted.items())
      exit_with_error(f"{path}: recorded under settings that differ from the current ones ({current}); run again with " +
                      (f"\n  {assignments} before the command" if assignments else "none of them"))
    for number, line in enumerate(lines, 2):
      try:
        old = {"id": "", "target": "", **json.loads(line)}
        own = old.get("settings", {})
        context = {k: int(v) for k, v in own.items()}
        if not context.keys() <= recorder.context_vars().keys():
          exit_with_error(f"{path}: record '{old['id']}' has settings that are not context variables")
        if old.get("runtime"): continue
        ast = read_any_graph(old["ast"])
      except GraphTextError as e: exit_with_error(f"{path}: record '{old['id']}': {e}")
      except MALFORMED as e: exit_with_error(f"{path}: line {number} is not a golden record: {e!r}")
      with Context(**context):
        if header["level"] == "kernel":
          for target in recorder.targets or [old["target"]]:
            recorder.replay_kernel(old["id"], target, ast, own, old.get("metadata"))
        else: recorder.replay_schedule(old["id"], old.get("what", ""), ast, own)


def answer_questions() -> int:
  version = installed_version()
  if version is None or version.startswith("0.11."): exit_with_error(f"--answer needs tinygrad 0.12 or later; installed: {version}")
  os.environ |= {"DEV": "CPU", "PARALLEL": "0"}  # tinygrad reads these when it is imported
  from tgc.export.answers import answer_all
  answer_all(version=version)
  return 0


def divided_arguments(parser: argparse.ArgumentParser, words: list[str]) -> tuple[argparse.Namespace, list[str]]:
  """Returns the exporter's options, and the program with its arguments. The program begins after --, or at the name of
  a .py file.
  """
  if "--" in words:
    split = words.index("--")
    return parser.parse_args(words[:split]), words[split + 1:]
  values = {name for action in parser._actions if action.nargs in (None, "+") for name in action.option_strings}
  split = next((i for i, word in enumerate(words) if word.endswith(".py") and (i == 0 or words[i - 1] not in values)), len(words))
  return parser.parse_args(words[:split]), words[split:]


def main() -> int:
  usage = ("%(prog)s -o OUT.jsonl[.gz] [options] (program.py args... | -- (-m module | -c code | -) args... | --replay FILE... | --viz FILE)"
           "\n       %(prog)s --answer")
  form = argparse.RawDescriptionHelpFormatter
  prog = os.path.basename(sys.argv[0]) if sys.argv[0].endswith("tinygrad_export.py") else "python -m tgc.export"
  parser = argparse.ArgumentParser(prog=prog, description=__doc__, formatter_class=form, usage=usage)
  parser.add_argument("-o", "--output", help="the golden file to write")
  parser.add_argument("--targets", default="", metavar="T,T",
                      help="compile every kernel for these targets, for example CPU:CLANG,CUDA:CUDA:sm_80")
  parser.add_argument("--id", help="prefix of the record ids: ID.0, ID.1, ...; default: the program's name")
  parser.add_argument("--save-inputs", action="store_true",
                      help="save the arrays that each kernel read and stored when it first ran")
  parser.add_argument("--watch-nan", nargs="?", const="nan", choices=["nan", "inf"], default="", metavar="inf",
                      help="find the kernel calls that make a NaN (=inf: or an infinity) of numbers; runs kernels one by one (JIT=2)")
  parser.add_argument("--stop", action="store_true", help="with --watch-nan: end the program there")
  parser.add_argument("--walk", action="store_true",
                      help="keep each graph as its nodes, not as tinygrad prints it; implied for releases other than 0.12.0")
  parser.add_argument("--letters", action="store_true",
                      help="also keep the text of tinygrad's own pyrender for each graph; implies --walk")
  parser.add_argument("--rewrites", action="store_true",
                      help="also keep every match of a rule: its source line, the node it matched, the node it made; implies --walk")
  parser.add_argument("--replay", nargs="+", metavar="FILE", help="compile the graphs of these golden files again")
  parser.add_argument("--viz", metavar="FILE", help="convert a trace that the same release's VIZ saved (rewrites.pkl)")
  parser.add_argument("--rules", action="store_true", help="write instances of tinygrad's rewrite rules, for `tgc prove --rules --live`")
  parser.add_argument("--only", default="", metavar="FILE:LINE", help="with --rules: only rules at places that contain this text")
  parser.add_argument("--shard", default="1/1", metavar="K/N", help="with --rules: only the Kth of N parts of the rules")
  parser.add_argument("--progress", default=os.devnull, metavar="FILE", help="with --rules: a file that always says what is being done")
  parser.add_argument("--answer", action="store_true", help="answer the questions of tgc, one line each, and write no file")
  options, command = divided_arguments(parser, sys.argv[1:])
  if options.answer: return answer_questions()
  if not options.output: parser.error("the following arguments are required: -o/--output")
  if options.rules:
    from tgc.export.rules import write_rules
    part, of = map(int, options.shard.split("/"))
    write_rules(pathlib.Path(options.output), options.only, part, of, pathlib.Path(options.progress).write_text)
    return 0
  if options.watch_nan and not command: parser.error("--watch-nan needs a program after --")
  if options.stop and not options.watch_nan: parser.error("--stop needs --watch-nan")
  if sum(map(bool, (command, options.replay, options.viz))) != 1:
    parser.error("give a program after --, or --replay with golden files, or --viz with a trace")
  if command in (["-m"], ["-c"]): parser.error(f"{command[0]} needs " + ("a module" if command[0] == "-m" else "code"))

  output = pathlib.Path(options.output)
  if output.is_dir(): exit_with_error(f"'{output}' is a folder; -o takes the name of a file")
  if not output.parent.is_dir(): exit_with_error(f"cannot write {output.name}: there is no folder '{output.parent}'")
  if command and not command[0].startswith("-") and not os.path.isfile(command[0]): exit_with_error(f"there is no program '{command[0]}'")

  os.environ.setdefault("PARALLEL", "0")  # the order of kernels that other processes compile varies
  if command and command[0] == "-m": sys.path.insert(0, os.getcwd())
  version = installed_version()
  if version is None: exit_with_error(f"tinygrad is not installed; run pip install tinygrad=={NATIVE_RELEASE}")
  if options.watch_nan: os.environ["JIT"] = "2"  # JIT=2: a TinyJit runs its kernels one by one
  keeps_nodes = options.watch_nan or options.walk or options.rewrites or options.letters or options.viz or version != NATIVE_RELEASE
  for name in UNRECORDED_SETTINGS if not keeps_nodes else ():
    if os.environ.get(name): print_message(f"{name} is set; it changes the records, but the header cannot hold it")

  if options.replay and version.startswith("0.11."):
    exit_with_error(f"--replay needs tinygrad 0.12 or later; installed: {version}")
  default_id = program_name(command) if command else "viz" if options.viz else "replay"
  recorder_options = {"output": options.output, "targets": [t for t in options.targets.split(",") if t],
                      "id": options.id or default_id, "save_inputs": options.save_inputs, "commit": installed_commit()}
  if options.watch_nan: recorder_options |= {"watch_nan": options.watch_nan, "stop": options.stop}
  if keeps_nodes: recorder_options |= {"version": version, "rewrites": options.rewrites, "letters": options.letters}
  recorder = start_recording(recorder_options)
  recorder.writer.remove_old()
  if not command:
    import tinygrad  # noqa: F401, begins to watch tinygrad
  if options.viz:
    from tgc.export.viz import convert_trace
    return 0 if convert_trace(options.viz, recorder, recorder_options["id"]) and finish(recorder) else 2
  if options.replay:
    replay(options.replay, recorder)
    return 0 if finish(recorder) else 2
  finish_at_exit(recorder, record_children(recorder_options))
  run_program(command)
  return 0


if __name__ == "__main__": sys.exit(main())
