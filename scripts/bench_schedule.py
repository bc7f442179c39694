#!/usr/bin/env python3
"""Times tgc and tinygrad 0.12.0 on the tensor graphs of golden files, from the graph to its kernels in order, warm and in one thread each.

  bench_schedule.py TGC GOLDENS... [--rounds=N]

They take turns, round by round, so that what else the machine does meets both; of either the least processor time of the rounds counts, after a
run that warms up. Run by scripts/bench.
"""
import argparse, itertools, os, sys, time

import tinygrad_export
from bench_pipeline import load, time_tgc


def time_tinygrad(record, warm):
  """Milliseconds of one run, and the number of kernels; without `warm` another run comes before it."""
  from tinygrad.engine import schedule
  from tinygrad.uop.ops import UOp
  for _ in range(1 if warm else 2):
    schedule.schedule_cache.clear()
    UOp.unique_num = itertools.count(1 << 20)  # new buffers must not take the numbers that the record's own have
    names = tinygrad_export.replay_names()
    exec(record["ast"], names)
    start = time.thread_time()
    _, items, _ = schedule.complete_create_schedule_with_vars(names["ast"])
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
    header, records = load(path)
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
