#!/usr/bin/env python3
"""Answers the questions of `tgc conform` with tinygrad 0.12.0 and seven seeded defects. Writes a line to a file for
each answer that a defect changed.

  tgc conform kernels.jsonl.gz --with='python scripts/tests/conform_defects.py changed.txt'
  scripts/tests/conform        checks that tgc conform finds exactly the changed answers or, by values, some of them
"""
import collections, gzip, json, os, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
from tinygrad.uop import Ops  # noqa: E402


def change_first(sink, is_wanted, change):
  node = next((u for u in sink.toposort() if is_wanted(u)), None)
  return sink if node is None else sink.substitute({node: change(node)})


def is_op(*names): return lambda u: u.op.name in names
def swap_sources(u): return u.replace(src=u.src[::-1])
def increment_arg(u): return u.replace(arg=u.arg + 1)
def is_sized(name): return lambda u: u.op.name == name and u.src[0].op.name == "CONST"
def lengthen(u): return u.replace(src=(increment_arg(u.src[0]), *u.src[1:]))
def is_stride(u): return u.op.name == "CONST" and type(u.arg) is int and u.arg > 2


def swap_neighbours(lines):
  """Swaps two neighbours of which neither is a source of the other."""
  at = next((i for i, (a, b) in enumerate(zip(lines, lines[1:])) if a not in b.src and is_op("DEFINE_GLOBAL")(a)), None)
  return lines if at is None else lines[:at] + [lines[at + 1], lines[at]] + lines[at + 2:]
def increment_number(source):
  number = re.search(r"(?<![\w.%])[1-9]\d*(?![\w.])", source)
  return source if number is None else source[:number.start()] + str(int(number[0]) + 1) + source[number.end():]


DEFECTS = {  # stage: (description, change of its result)
  "postopt symbolic": ("a stride that is one too large", lambda g: change_first(g, is_stride, increment_arg)),
  "expander": ("a loop that is one too long", lambda g: change_first(g, is_sized("RANGE"), lengthen)),
  "add gpudims": ("a launch that is one too large", lambda g: change_first(g, is_sized("SPECIAL"), lengthen)),
  "devectorize": ("a sum in another order, which computes the same", lambda g: change_first(g, is_op("ADD"), swap_sources)),
  "final rewrite": ("a product for a sum", lambda g: change_first(g, is_op("ADD"), lambda u: u.replace(op=Ops.MUL))),
  "linear": ("two lines in another order, which compute the same", swap_neighbours),
  "source": ("a number that is one too large", increment_number),
}
SAME_VALUES = {"devectorize", "linear"}  # these do not change what a kernel computes
# a port that echoes its question fails: here the sum in another order equals the question's graph
ECHOES = {("nn_randn.2", "CUDA:CUDA:sm_75", "devectorize")}
COMPARED_AS_TEXT = {"source"}  # stages that are compared only with --as=text


def serve(changed):
  from tgc.export.answers import answer_all, stage_of
  with open(changed, "w") as out:
    def with_defects(question):
      made = stage_of(question)
      if made is not None and question["stage"] in DEFECTS:
        wrong = DEFECTS[question["stage"]][1](made)
        if wrong is not made:
          print(json.dumps([question["id"], question["target"], question["stage"]]), file=out, flush=True)
          made = wrong
      return made
    answer_all(with_defects)


def conform(goldens, command, *options):
  tgc = os.environ.get("TGC", str(HERE.parent.parent / "build/release/bin/tgc"))
  ran = subprocess.run([tgc, "conform", goldens, f"--with={command}", "--json", "--show=0", *options], capture_output=True, text=True)
  if ran.returncode == 2: sys.exit(f"conform_defects: tgc conform failed: {ran.stderr}")
  report = json.loads(ran.stdout)
  return report, {(a["id"], a["target"], a["stage"]) for a in report["list"]}


def check(statement, holds):
  print(("ok: " if holds else "WRONG: ") + statement)
  return holds


def test(every):
  with tempfile.TemporaryDirectory() as folder:
    goldens, changed = f"{folder}/some.jsonl", f"{folder}/changed.txt"
    with gzip.open(HERE.parent.parent / "testdata/golden/kernels.jsonl.gz", "rt") as lines, open(goldens, "w") as out:
      out.writelines(line for i, line in enumerate(lines) if i == 0 or i % every == 1 or every == 1)
    report, found = conform(goldens, f"exec {sys.executable} {HERE}/conform_tinygrad.py")
    good = check(f"tinygrad itself: {report['same']} of {report['questions']} conform", report["same"] == report["questions"] > 100)
    port = f"exec {sys.executable} {HERE}/conform_defects.py {changed}"
    for how in ("text", "structure", "values"):
      report, found = conform(goldens, port, f"--as={how}")
      seeded = {tuple(json.loads(line)) for line in open(changed)}
      of_stage = collections.Counter(stage for *_, stage in seeded)
      if how != "values":
        wanted = DEFECTS.keys() - (COMPARED_AS_TEXT if how != "text" else set())
        good &= check(f"as {how}: {len(found)} found, {len(seeded)} seeded by {len(of_stage)} defects", found == seeded and of_stage.keys() == wanted)
        continue
      good &= check(f"as values: {len(found)} of the seeded defects found, and no change of order alone",
                    0 < len(found) and found - ECHOES <= {s for s in seeded if s[2] not in SAME_VALUES})
  return good


if __name__ == "__main__":
  if sys.argv[1:2] == ["--test"]: sys.exit(not test(int((sys.argv[2:] or ["9"])[0])))
  serve(sys.argv[1])
