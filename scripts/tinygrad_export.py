#!/usr/bin/env python3
"""Write golden records of everything that a program compiles with an installed tinygrad, 0.11 to 0.14.

  tinygrad_export.py -o out.jsonl.gz [options] -- program.py args...
  tinygrad_export.py -o out.jsonl.gz [options] -- -m pytest test/test_ops.py -k gemm
  tinygrad_export.py -o out.jsonl.gz [options] -- -c 'from tinygrad import Tensor; (Tensor.ones(9) + 1).realize()'
  tinygrad_export.py -o out.jsonl.gz [options] -- - args... <program.py
  tinygrad_export.py -o out.jsonl.gz [--targets=T,T...] --replay old.jsonl.gz...
  tinygrad_export.py -o out.jsonl.gz --viz rewrites.pkl
  tinygrad_export.py --answer

The program runs as it would alone, and so do the Python processes that it starts. Each schedule that tinygrad makes
becomes a tensor record, each kernel a kernel record per target: the graph after every stage, the linear list, the
source, the launch facts, the Tensor methods and the lines of the program behind it. A run leaves, beside each other:

  out.jsonl.gz              the kernels
  out.tensor.jsonl.gz       the schedules
  out.inputs/ID.in.npz      with --save-inputs: what kernel ID read when it first ran (data1, ...; variables by name),
  out.inputs/ID.out.npz     and what it stored (data0, ...)

`tgc check out*.jsonl.gz` replays them. A kernel on the program's own values, against what the program got:
  tgc run out.jsonl.gz#ID --inputs=out.inputs/ID.in.npz --expect=out.inputs/ID.out.npz

Of another release than 0.12.0, and with --walk, --rewrites or --letters, each graph is kept as its nodes, every named
rewrite is a stage, and the calls of TinyJits are recorded too, in out.jit.jsonl.gz: `tgc diff old.jsonl.gz new.jsonl.gz`
compares two such recordings, `tgc lint out.jit.jsonl.gz` looks for what a jit does silently.

--targets names what each kernel is compiled for (CPU:CLANG, CUDA:CUDA:sm_80, ...; no such device is needed); without
it, what the program itself uses. What the program compiles under settings of its own (Context(NOOPT=1)) says so in its
record. --replay compiles the graphs of golden files again instead of running a program. --viz converts a trace that
tinygrad's VIZ=1, or TRACK_MATCH_STATS=2, has left in the folder for temporary files, with every match. Each record is
on the disk as soon as it is made: whatever ends the program, those before are whole. The exit code is the program's
own; 2 when nothing could be recorded.

--answer writes no file, but what `tgc conform --with`, `tgc reduce --tinygrad` and `tgc fuzz --tinygrad` ask on standard
input is answered on standard output, by tinygrad 0.12.0.

In a program: `from tinygrad_export import tgc_export; tgc_export(tensor, path="out.jsonl.gz")` records the schedule and
the kernels of tensors and realizes nothing. Under this command the path is left out.
"""
import argparse, contextlib, importlib.metadata, importlib.util, json, os, pathlib, sys

from tgc_export.golden import WANTED, golden_lines, say, trouble
from tgc_export.processes import finish, finish_at_the_end, program_name, run_program, tell_children
from tgc_export.records import kernel_record, make_renderer, replaced, replay_names, replayed_schedule
from tgc_export.recorder import begin, tgc_export

# These change the text of a stage, and no golden header can say so.
UNRECORDED = ["ALIGNED", "REDUCE_LEADERS"]


def installed_version():
  """Of the tinygrad that is imported: a checkout on the path says it in its pyproject.toml, an installed one to pip."""
  spec = importlib.util.find_spec("tinygrad")
  if spec is None or spec.origin is None: return None
  project = pathlib.Path(spec.origin).parent.parent / "pyproject.toml"
  if project.exists():
    import tomllib
    with contextlib.suppress(KeyError, tomllib.TOMLDecodeError):
      return tomllib.loads(project.read_text())["project"]["version"]
  try: return importlib.metadata.version("tinygrad")
  except importlib.metadata.PackageNotFoundError: return "of unknown version"


def replay(paths, recorder):
  """Makes the records of golden files again, of their graphs, under their settings."""
  from tinygrad.helpers import Context
  for path in paths:
    lines = golden_lines(path)
    header = json.loads(next(lines, "{}"))
    is_golden = header.get("format") == "tgc-golden" and header.get("version") == 1
    if not is_golden: trouble(f"{path}: no golden file of version 1")
    wanted = {k: str(v) for k, v in header["settings"].items()}
    if wanted != recorder.usual:
      here = " ".join(f"{k}={v}" for k, v in recorder.usual.items()) or "none"
      assignments = " ".join(f"{k}={v}" for k, v in wanted.items())
      trouble(f"{path} was recorded under other settings than these ({here}); run again with " +
              (f"\n  {assignments} before the command" if assignments else "none of them"))
    for line in lines:
      old, names = json.loads(line), replay_names()
      own = old.get("settings", {})
      if not own.keys() <= recorder.context_vars().keys():
        trouble(f"{path}: {old['id']} has settings that no Context takes")
      exec(old["ast"], names)
      with Context(**{k: int(v) for k, v in own.items()}):
        if header["level"] == "kernel":
          for target in recorder.targets or [old["target"]]:
            if target not in recorder.renderers: recorder.renderers[target] = make_renderer(target)
            record = kernel_record(old["id"], target, names["ast"], recorder.renderers[target])
            recorder.write("kernel", record, own, old.get("metadata"))
        else:
          record = replayed_schedule(old["id"], names["ast"])
          if record is not None: recorder.write("tensor", record, own)


def answer_questions():
  version = installed_version()
  if version != WANTED: trouble(f"--answer is for tinygrad {WANTED}; here is {version or 'none'}")
  from tgc_export.answers import answer_all
  answer_all()
  return 0


def main():
  usage = ("%(prog)s -o OUT.jsonl[.gz] [options] (-- (program.py | -m module | -c code | -) args... | --replay FILE... | --viz FILE)"
           "\n       %(prog)s --answer")
  form = argparse.RawDescriptionHelpFormatter
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, usage=usage)
  parser.add_argument("-o", "--output", help="the golden file to write")
  parser.add_argument("--targets", default="", metavar="T,T",
                      help="compile every kernel for these, for example CPU:CLANG,CUDA:CUDA:sm_80")
  parser.add_argument("--id", help="what the records are called: NAME.0, NAME.1, ...; the program's name if not given")
  parser.add_argument("--save-inputs", action="store_true",
                      help="keep the arrays that each kernel read and stored when it first ran")
  parser.add_argument("--walk", action="store_true",
                      help="keep each graph as its nodes, as of any other release than 0.12.0, not as tinygrad prints it")
  parser.add_argument("--letters", action="store_true",
                      help="keep what tinygrad's own pyrender prints of each graph too; with --walk")
  parser.add_argument("--rewrites", action="store_true",
                      help="keep every match of a rule too: its place, what it matched, what it made; with --walk")
  parser.add_argument("--replay", nargs="+", metavar="FILE", help="compile the graphs of these golden files again")
  parser.add_argument("--viz", metavar="FILE", help="convert a trace that VIZ saved, rewrites.pkl, with the same tinygrad")
  parser.add_argument("--answer", action="store_true", help="answer the questions of tgc, a line each, and write no file")
  split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
  options, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
  if options.answer: return answer_questions()
  if not options.output: parser.error("the following arguments are required: -o/--output")
  if sum(map(bool, (command, options.replay, options.viz))) != 1:
    parser.error("give a program after --, or --replay with golden files, or --viz with a trace")
  if command in (["-m"], ["-c"]): parser.error(f"{command[0]} needs " + ("a module" if command[0] == "-m" else "code"))

  output = pathlib.Path(options.output)
  if output.is_dir(): trouble(f"{output} is a folder; -o takes the name of a file")
  if not output.parent.is_dir(): trouble(f"{output.parent}: no such folder to write {output.name} to")
  if command and not command[0].startswith("-") and not os.path.isfile(command[0]): trouble(f"no program '{command[0]}'")

  if command and command[0] == "-m": sys.path.insert(0, os.getcwd())
  version = installed_version()
  if version is None: trouble(f"tinygrad is not installed here: pip install tinygrad=={WANTED}")
  walks = options.walk or options.rewrites or options.letters or options.viz or version != WANTED
  if walks and (options.replay or options.targets or options.save_inputs):
    trouble(f"--replay, --targets and --save-inputs are for tinygrad {WANTED}, recorded without --walk and --rewrites;"
            f" this one is {version}")
  for name in UNRECORDED if not walks else ():
    if os.environ.get(name): say(f"{name} is set; it changes the records and no header can say so")

  facts = {"output": options.output, "targets": [t for t in options.targets.split(",") if t],
           "id": options.id or (program_name(command) if command else "viz" if options.viz else "replay"), "save_inputs": options.save_inputs,
           **({"version": version, "rewrites": options.rewrites, "letters": options.letters} if walks else {})}
  recorder = begin(facts)
  recorder.writer.remove_old()
  if options.viz:
    import tinygrad
    from tgc_export.viz import convert
    return 0 if convert(options.viz, recorder, facts["id"]) and finish(recorder) else 2
  if options.replay:
    import tinygrad
    replay(options.replay, recorder)
    return 0 if finish(recorder) else 2
  finish_at_the_end(recorder, tell_children(facts))
  run_program(command)


if __name__ == "__main__": sys.exit(main())
