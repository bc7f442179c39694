#!/usr/bin/env python3
"""Times tgc and tinygrad 0.12.0 on the kernels of golden files, from the AST to the linear list.

  bench.d/pipeline.py TGC GOLDENS... [--every=N] [--rounds=N]

Both run warm, in one thread, and take turns with a few kernels at a time. For each kernel, the shortest processor time
counts: of five runs of tgc and one of tinygrad in each round. --every=N times only every N-th kernel.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time

from tgc.export.golden import golden_lines
from tgc.export.graph_text import read_graph
from tgc.export.records import make_renderer
from tgc.export.golden import apply_settings

KERNELS_PER_TURN = 16

def load_records(path):
  header, *records = map(json.loads, golden_lines(path))
  return header, records


def time_tgc(tgc, header, records, repeat=5):
  """Returns {(id, target): milliseconds}, best of the repeats, and the peak memory in MB."""
  with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as golden:
    golden.writelines(json.dumps(line) + "\n" for line in [header, *records])
    golden.flush()
    report = json.loads(subprocess.run([tgc, "bench", golden.name, "--json", "--list", f"--repeat={repeat}"], check=True, capture_output=True, text=True).stdout)
  return {(k["name"], k["target"]): k["ms"] for k in report["kernels"]}, report["peak_mb"]


def time_tinygrad(records, warm, renderers):
  """Returns {(id, target): milliseconds}. Unless `warm`, first runs each kernel once untimed."""
  from tinygrad import codegen
  from tinygrad.codegen.opt.postrange import Scheduler
  from tinygrad.uop.ops import KernelInfo
  times = {}
  for record in records:
    ast, target = read_graph(record["ast"]), record["target"]
    if target not in renderers: renderers[target] = make_renderer(target)
    for _ in range(1 if warm else 2):
      Scheduler.kernel_cnt.clear()
      start = time.thread_time()
      sink = ast if ast.arg is not None else ast.replace(arg=KernelInfo())
      full = codegen.full_rewrite_to_sink(sink, renderers[target], optimize=ast.tag is None)
      codegen.line_rewrite(codegen.linearize(full), codegen.pm_linearize_cleanups)
      times[record["id"], target] = (time.thread_time() - start) * 1e3
  return times


def keep_least(least, times):
  for key, ms in times.items(): least[key] = min(ms, least.get(key, ms))


def time_both(tgc, header, records, rounds):
  """Returns the milliseconds of tgc and of tinygrad by (id, target), and tgc's peak memory in MB."""
  ours, theirs, peak, renderers = {}, {}, 0, {}
  for first in range(0, len(records), KERNELS_PER_TURN):
    turn = records[first:first + KERNELS_PER_TURN]
    for round in range(rounds):
      times, round_peak = time_tgc(tgc, header, turn)
      keep_least(ours, times)
      keep_least(theirs, time_tinygrad(turn, round > 0, renderers))
      peak = max(peak, round_peak)
    if sys.stderr.isatty(): print(f"\r{len(theirs)} of {len(records)} kernels", end="", file=sys.stderr)
  if sys.stderr.isatty(): print("\r\033[K", end="", file=sys.stderr)
  return ours, theirs, peak


def print_row(name, values):
  ordered = sorted(values)
  p95 = ordered[max(0, -(-95 * len(ordered) // 100) - 1)]
  print(f"  {name:<10} {statistics.mean(values):9.3f} {statistics.median(values):9.3f} {p95:9.3f} {max(values):9.3f}")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("tgc")
  parser.add_argument("goldens", nargs="+")
  parser.add_argument("--every", type=int, default=1, metavar="N")
  parser.add_argument("--rounds", type=int, default=3, metavar="N")
  options = parser.parse_args()
  sys.setrecursionlimit(20000)
  for path in options.goldens:
    header, records = load_records(path)
    os.environ["SPEC"] = "0"
    apply_settings(header["settings"])
    records = [r for r in records if "error" not in r][::options.every]
    ours, theirs, peak = time_both(options.tgc, header, records, options.rounds)
    ratios = sorted((theirs[k] / ours[k], k) for k in theirs)
    print(f"{os.path.basename(path)}: {len(ratios)} kernels, AST to linear list, milliseconds of processor time, one thread each")
    print(f"  {'':<10} {'mean':>9} {'median':>9} {'p95':>9} {'max':>9}")
    print_row("tinygrad", [theirs[k] for k in theirs])
    print_row("tgc", [ours[k] for k in theirs])
    values = [r for r, _ in ratios]
    worst, (name, target) = ratios[0]
    print(f"  tgc is faster by: mean {statistics.mean(values):.0f} times, median {statistics.median(values):.0f}, least {worst:.0f} ({name}, {target}), "
          f"of all kernels together {sum(theirs.values()) / sum(ours[k] for k in theirs):.0f}")
    print(f"  under 100 times: {sum(v < 100 for v in values)} kernels, under 30 times: {sum(v < 30 for v in values)}")
    print(f"  peak memory of tgc: {peak} MB")


if __name__ == "__main__": main()
