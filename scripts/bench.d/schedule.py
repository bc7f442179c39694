#!/usr/bin/env python3
"""Times the scheduling of tensor graphs (from the graph to its ordered kernels) by tgc and by tinygrad 0.12.0.

  bench.d/schedule.py TGC GOLDENS... [--rounds=N]

Both run warm, in one thread, and take turns. For each, the shortest processor time of all rounds counts.
"""
import argparse, itertools, os, sys, time

from tgc.export.graph_text import read_graph
from pipeline import load_records, time_tgc


def time_tinygrad(record, warm):
  """Returns the milliseconds of one run and the number of kernels; runs once before that unless `warm`."""
  from tinygrad.engine import schedule
  from tinygrad.uop.ops import UOp
  for _ in range(1 if warm else 2):
    schedule.schedule_cache.clear()
    UOp.unique_num = itertools.count(1 << 20)  # new buffers must not reuse the numbers in the record
    ast = read_graph(record["ast"])
    start = time.thread_time()
    _, items, _ = schedule.complete_create_schedule_with_vars(ast)
    ms = (time.thread_time() - start) * 1e3
  return ms, len(items)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("tgc")
  parser.add_argument("goldens", nargs="+")
  parser.add_argument("--rounds", type=int, default=3, metavar="N")
  options = parser.parse_args()
  sys.setrecursionlimit(20000)
  os.environ.update({"SPEC": "0", "NO_MEMORY_PLANNER": "1", "CPU_COUNT": "4"})
  for path in options.goldens:
    header, records = load_records(path)
    print(f"{os.path.basename(path)}: a tensor graph to its kernels, milliseconds of processor time, one thread each")
    print(f"  {'':<20} {'nodes':>6} {'kernels':>7} {'tinygrad':>9} {'tgc':>9}  times faster")
    for r in sorted(records, key=lambda r: -r["nodes"]):
      if "error" in r: continue
      ours = theirs = float("inf")
      for round in range(options.rounds):
        ours = min(ours, *time_tgc(options.tgc, header, [r], repeat=10)[0].values())
        ms, kernels = time_tinygrad(r, warm=round > 0)
        theirs = min(theirs, ms)
      print(f"  {r['id']:<20} {r['nodes']:>6} {kernels:>7} {theirs:>9.1f} {ours:>9.2f}  {theirs / ours:.0f}")


if __name__ == "__main__": sys.exit(main())
