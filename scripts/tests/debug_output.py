#!/usr/bin/env python3
"""Compares, line by line, what tinygrad and tgc print for DEBUG=1 to 6, DEBUG_RANGEIFY and DEBUG_LINEARIZE.

  debug_output.py [--tgc build/release/bin/tgc] [--all] [FILE#ID ...]

FILE#ID names a kernel or tensor graph of a golden file; both programs run it on CPU:LLVM. Default: three kernels and
two models of testdata/golden, each with one variable; with --all, or for named records, with every variable. Removes
times, colours, metadata, and lines about devices and buffers before comparing. Needs an importable tinygrad 0.12.0.
Exits 1 if a line differs.
"""
import argparse, difflib, json, os, pathlib, re, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tgc.export.golden import apply_settings
from tgc.export.golden import golden_lines
from tgc.export.graph_text import read_graph

ROOT = pathlib.Path(__file__).parent.parent.parent
RECORDS = ["kernels.jsonl.gz#bert_mini.31", "kernels.jsonl.gz#bin_add_half.0", "kernels.jsonl.gz#bcast_div.0"]
MODELS = ["llama_mini_decode", "sym_attn"]
VARIABLES = [{"DEBUG": str(level)} for level in range(1, 7)] + [{"DEBUG_RANGEIFY": "1"}, {"DEBUG_LINEARIZE": "1"}]


def run_with_tinygrad(spec):
  """Runs in a process that was started with the variables set."""
  path, _, wanted = spec.partition("#")
  lines = map(json.loads, golden_lines(path))
  os.environ.update(PRINT_MATCH_STATS="", SPEC="0")
  apply_settings(next(lines)["settings"], override=False)
  record = next(r for r in lines if r["id"] == wanted)
  from tinygrad.device import Buffer
  from tinygrad.engine.realize import ExecItem, run_schedule
  from tinygrad.engine.schedule import complete_create_schedule_with_vars
  from tinygrad.uop.ops import Ops
  ast = read_graph(record["ast"])
  print("--- begin")
  if "kernels" in record:
    _, schedule, variables = complete_create_schedule_with_vars(ast)
    return run_schedule(schedule, variables)
  params = sorted({u for u in ast.toposort() if u.op is Ops.DEFINE_GLOBAL}, key=lambda u: u.arg)
  ExecItem(ast, [Buffer("CPU", u.dtype.size, u.dtype.base) for u in params]).run(wait=True)


def comparable(text):
  text = re.sub(r"\x1b\[[0-9;]*m", "", text)
  text = re.sub(r"tm +[0-9.]+(us|ms|s) */ *[0-9.]+ms \( *[0-9]+ [GT]FLOPS +[0-9]+\|[0-9]+ +[GT]B/s\).*", "tm TIME", text)
  text = re.sub(r"(scheduled .* in) +[0-9.]+ ms (.*) \| [0-9]+ uops in cache", r"\1 TIME \2", text)
  lines = text.split("--- begin\n")[-1].splitlines()
  return [l.rstrip() for l in lines if l.strip() and not re.match(r"(opened device|buffer: |loading |LLVM init |tgc: )", l)]


def compare(tgc, spec, variables):
  plain = {k: v for k, v in os.environ.items() if k not in ("DEBUG", "DEBUG_RANGEIFY", "DEBUG_LINEARIZE")}
  env = {**plain, **variables, "CPU_LLVM": "1", "CPU": "1", "PYTHONPATH": str(ROOT / "python"), "SPEC": "0", "CACHELEVEL": "0"}
  theirs = subprocess.run([sys.executable, __file__, "--run", spec], env=env, capture_output=True, text=True)
  if theirs.returncode: sys.exit(f"debug_output: tinygrad failed on {spec}:\n{theirs.stderr}")
  ours = subprocess.run([tgc, "run", spec, "--target=CPU:LLVM", "--device=CPU:LLVM", "--reference=none", "--in-process"], env={**plain, **variables}, capture_output=True, text=True)
  if ours.returncode: sys.exit(f"debug_output: tgc failed on {spec}:\n{ours.stderr}")
  a, b = comparable(theirs.stdout), comparable(ours.stderr)
  different = [l for l in difflib.unified_diff(a, b, "tinygrad", "tgc", lineterm="", n=0)]
  name = " ".join(f"{k}={v}" for k, v in variables.items())
  print(f"{spec.split('/')[-1]:40s} {name:20s} {len(a):5d} lines, {'same' if not different else 'DIFFERENT'}")
  for line in different[:20]: print("   " + line)
  return not different


def defaults():
  golden = ROOT / "testdata/golden"
  return [str(golden / r) for r in RECORDS] + [f"{golden / 'tensor.jsonl.gz'}#{m}" for m in MODELS]


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("records", nargs="*")
  parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
  parser.add_argument("--all", action="store_true", help="every record with every variable")
  parser.add_argument("--tgc", default=str(ROOT / "build/release/bin/tgc"))
  args = parser.parse_args()
  if args.run: sys.exit(run_with_tinygrad(args.records[0]))
  is_short = not args.all and not args.records
  pairs = [(spec, v) for i, spec in enumerate(args.records or defaults()) for j, v in enumerate(VARIABLES) if not is_short or j == (5 * i + 7) % 8]
  same = [compare(args.tgc, spec, v) for spec, v in pairs]
  print(f"{sum(same)} of {len(same)} outputs are the same")
  sys.exit(0 if all(same) else 1)
