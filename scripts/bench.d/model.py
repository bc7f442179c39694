#!/usr/bin/env python3
"""Times tgc and tinygrad 0.12.0 on ONNX models: reading the file, scheduling, and rendering each distinct kernel once.

  bench.d/model.py TGC MODEL... [--rounds=N] [--var NAME=N]

Both run warm, in one thread, and take turns. For each, the round with the least processor time counts.
"""
import argparse, json, os, pathlib, subprocess, sys, time


def time_tgc(tgc, path, sizes):
  """Returns milliseconds of reading, scheduling, rendering and in total, and the number of distinct kernels."""
  variables = [word for name, size in sizes.items() for word in ("--var", f"{name}={size}")]
  report = json.loads(subprocess.run([tgc, "bench", path, "--whole", "--json", "--repeat=10", *variables], check=True, capture_output=True, text=True).stdout)
  stages = report["stages"]
  return [stages[name]["mean_ms"] for name in ("read", "schedule", "render")] + [report["total"]["mean_ms"]], stages["render"]["nodes"]


def time_tinygrad(path, warm, sizes):
  """Returns the times that time_tgc() returns, and the numbers of kernels and of distinct ones. Unless `warm`, first
  runs once untimed."""
  from tinygrad import Device, Tensor
  from tinygrad.codegen import get_program
  from tinygrad.engine import schedule
  from tinygrad.nn.onnx import OnnxRunner
  from tinygrad.uop.ops import Ops
  for _ in range(1 if warm else 2):
    schedule.schedule_cache.clear()
    marks = [time.thread_time()]
    model = OnnxRunner(path)
    inputs = {name: Tensor.empty(*(sizes[s] if isinstance(s, str) else s for s in spec.shape), dtype=spec.dtype) for name, spec in model.graph_inputs.items()}
    outputs = [o.contiguous() for o in model(inputs).values()]
    marks.append(time.thread_time())
    items, _ = outputs[0].schedule_with_vars(*outputs[1:])
    marks.append(time.thread_time())
    kernels = [item.ast for item in items if item.ast.op is Ops.SINK]
    distinct = set(kernels)
    for ast in distinct: get_program(ast, Device["CPU"].renderer)
    marks.append(time.thread_time())
  return [1e3 * (b - a) for a, b in [*zip(marks, marks[1:]), (marks[0], marks[-1])]], len(kernels), len(distinct)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("tgc")
  parser.add_argument("models", nargs="+")
  parser.add_argument("--rounds", type=int, default=3, metavar="N")
  parser.add_argument("--var", action="append", default=[], metavar="NAME=N", help="binds a symbolic size")
  options = parser.parse_args()
  sys.setrecursionlimit(20000)
  os.environ.update({"SPEC": "0", "CPU_COUNT": "4", "DEV": "CPU"})
  sizes = {name: int(size) for name, size in (v.split("=") for v in options.var)}
  print("models, from the file to the sources of their kernels: milliseconds of processor time, one thread each")
  print(f"  {'':<14} {'kernels':>7} {'distinct':>8} {'':>9} {'read':>9} {'schedule':>9} {'render':>9} {'total':>9}  times faster")
  for path in options.models:
    ours = theirs = [float("inf")] * 4
    for round in range(options.rounds):
      times, same = time_tgc(options.tgc, path, sizes)
      ours = min(ours, times, key=lambda t: t[3])
      times, kernels, distinct = time_tinygrad(path, round > 0, sizes)
      theirs = min(theirs, times, key=lambda t: t[3])
    name = pathlib.Path(path).stem
    print(f"  {name:<14} {kernels:>7} {distinct:>8} {'tinygrad':>9} " + " ".join(f"{t:>9.1f}" for t in theirs))
    print(f"  {'':<14} {'':>7} {same:>8} {'tgc':>9} " + " ".join(f"{t:>9.1f}" for t in ours) + f"  {theirs[-1] / ours[-1]:.0f}")


if __name__ == "__main__": sys.exit(main())
