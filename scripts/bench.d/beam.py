#!/usr/bin/env python3
"""Times the kernel search of tgc and of tinygrad 0.12.0, both with empty caches, in one run.

  bench.d/beam.py TGC GOLDENS [--target=CPU:CLANG] [--width=2] [--ids=ID,ID...] [--count=30] [--most=OPS]
                [--rows=FILE] [--at-once=N]

Reports for each kernel the wall time of both searches (tgc's includes the start of its process, tinygrad's does not)
and the ratio of their processor times. Then tgc compiles both kernels from the opts found and runs them in turns; equal
kernels only once. Without --ids, takes kernels that have a REDUCE, those with the most operations (at most --most),
spread over the models. --count limits the number of kernels. --rows appends each row to FILE and skips the kernels in
it; --at-once=N ends a run after N kernels.
"""
import argparse, json, os, resource, statistics, subprocess, sys, tempfile, time
os.environ.setdefault("CC", "clang-19")
os.environ.setdefault("LLVM_PATH", "/usr/lib/llvm-19/lib/libLLVM.so")
os.environ.update(CACHELEVEL="0", DEBUG="0", SPEC="0")

from tgc.export.golden import apply_settings
from tgc.export.golden import golden_lines
from tgc.export.graph_text import read_graph

# Both use CPU_COUNT threads, by default as many as this process may use.
os.environ.setdefault("CPU_COUNT", str(len(os.sched_getaffinity(0))))
THREADS = [f"--set=CPU_COUNT={os.environ['CPU_COUNT']}"]


def choose_kernels(path, ids, count, most):
  lines = map(json.loads, golden_lines(path))
  settings = next(lines)["settings"]
  by_model = {}
  for r in lines:
    ops = (r.get("program") or {}).get("ops", "")
    if ids and r["id"] in ids: by_model.setdefault("", []).append((0, r))
    if ids or not ops.isdigit() or int(ops) > most or ".reduce(" not in r["ast"]: continue
    by_model.setdefault(r["id"].split(".")[0], []).append((int(ops), r))
  out, lists = [], [sorted(v, key=lambda x: -x[0]) for v in by_model.values()]
  while any(lists) and len(out) < count:
    for l in lists:
      if l and len(out) < count: out.append(l.pop(0)[1])
  return settings, out


class Stopwatch:
  """Wall time and processor time since its creation, including child processes that have ended."""
  def __init__(self): self.begin = self.now()
  def now(self):
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(u.ru_utime + u.ru_stime for u in usage)
  def seconds(self): return tuple(b - a for a, b in zip(self.begin, self.now()))


class Tinygrad:
  def __init__(self, target, width):
    os.environ["CPU_LLVM"] = "1" if target == "CPU:LLVM" else "0"
    from tinygrad.device import Device
    self.renderer, self.width = Device["CPU"].renderer, width

  def search(self, text):
    from tinygrad.codegen import full_rewrite_to_sink
    from tinygrad.helpers import Context
    from tinygrad.uop.ops import KernelInfo
    ast = read_graph(text)
    ast = ast if ast.arg is not None else ast.replace(arg=KernelInfo())
    watch = Stopwatch()
    with Context(BEAM=self.width): sink = full_rewrite_to_sink(ast, self.renderer)
    return watch.seconds(), [str(o) for o in sink.arg.applied_opts]


def tgc_search(tgc, kernel, target, width, folder):
  env = dict(os.environ, TGC_CACHE_DIR=f"{folder}/cache", TGC_BEAM_DB=f"{folder}/results.db")
  watch = Stopwatch()
  done = subprocess.run([tgc, "beam", kernel, f"--target={target}", f"--width={width}", "--json", *THREADS], env=env, capture_output=True, text=True)
  seconds = watch.seconds()
  if done.returncode: sys.exit(f"bench.d/beam: tgc beam {kernel} fails:\n{done.stderr}")
  return seconds, json.loads(done.stdout)


def fastest_seconds(tgc, kernel, target, opts, runs=7):
  command = [tgc, "run", kernel, f"--device={target}", f"--opts=[{', '.join(opts)}]", f"--bench={runs}", "--reference=none", "--json", *THREADS]
  return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["bench"]["min_s"]


def measure(args, theirs, header, record):
  with tempfile.TemporaryDirectory() as folder:
    kernel = f"{folder}/kernel.jsonl"  # a file of its own: the time excludes finding the kernel
    with open(kernel, "w") as f: f.write(header + json.dumps(record) + "\n")
    return measure_row(args, theirs, record, kernel, folder)


def measure_row(args, theirs, record, kernel, folder):
  (wall, cpu), found = tgc_search(args.tgc, kernel, args.target, args.width, folder)
  try: (their_wall, their_cpu), their_opts = theirs.search(record["ast"])
  except Exception as e: return {"kernel": record["id"], "fails": f"tinygrad's search fails: {type(e).__name__}"}
  same = their_opts == found["opts"]  # identical kernels: one timing is enough
  a = b = float("inf")
  for _ in range(9):  # the addresses of the arrays change the time of some kernels
    a = min(a, fastest_seconds(args.tgc, kernel, args.target, their_opts))
    b = a if same else min(b, fastest_seconds(args.tgc, kernel, args.target, found["opts"]))
  return {"kernel": record["id"], "wall": wall, "cpu": cpu, "their_wall": their_wall, "their_cpu": their_cpu, "seconds": b,
          "their_seconds": a, "candidates": found["candidates"], "reference": found["reference"], "opts": found["opts"],
          "their_opts": their_opts}


def print_row(r):
  if "fails" in r: return print(f"{r['kernel']:24} {r['fails']}", flush=True)
  right = "" if r["reference"] else "  NOT COMPARED"
  print(f"{r['kernel']:24} {r['their_wall']:8.2f}s {r['wall']:8.2f}s {r['their_wall'] / r['wall']:6.1f}x "
        f"{r['their_cpu'] / r['cpu']:6.1f}x {r['candidates']:10d} {r['their_seconds'] * 1e6:9.1f}us {r['seconds'] * 1e6:9.1f}us "
        f"{r['seconds'] / r['their_seconds']:6.3f}{right}", flush=True)


def main():
  p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  p.add_argument("tgc")
  p.add_argument("goldens")
  p.add_argument("--target", default="CPU:CLANG")
  p.add_argument("--width", type=int, default=2)
  p.add_argument("--ids", default="")
  p.add_argument("--count", type=int, default=30)
  p.add_argument("--most", type=float, default=2e8)
  p.add_argument("--rows")
  p.add_argument("--at-once", type=int, default=10**9)
  args = p.parse_args()
  settings, records = choose_kernels(args.goldens, set(filter(None, args.ids.split(","))), args.count, args.most)
  apply_settings(settings, override=False)
  rows = []
  if args.rows and os.path.exists(args.rows): rows = [json.loads(line) for line in open(args.rows)]
  print(f"{'kernel':24} {'tinygrad':>9} {'tgc':>9} {'faster':>7} {'by cpu':>7} {'candidates':>10} {'tinygrad':>11} {'tgc kernel':>11} {'ratio':>6}")
  for r in rows: print_row(r)
  there = {r["kernel"] for r in rows}
  todo = [r for r in records if r["id"] not in there]
  theirs = Tinygrad(args.target, args.width) if todo else None
  for record in todo[:args.at_once]:
    rows.append(measure(args, theirs, next(iter(golden_lines(args.goldens))), record))
    print_row(rows[-1])
    if args.rows:
      with open(args.rows, "a") as f: print(json.dumps(rows[-1]), file=f)
  good = [r for r in rows if "fails" not in r]
  if not good: return
  def spread(of): return statistics.median(map(of, good)), min(map(of, good)), max(map(of, good))
  faster, times = spread(lambda r: r["their_wall"] / r["wall"]), spread(lambda r: r["seconds"] / r["their_seconds"])
  cpu = spread(lambda r: r["their_cpu"] / r["cpu"])
  slower = sum(r["seconds"] > 1.03 * r["their_seconds"] for r in good)
  print(f"{len(good)} kernels, {len(todo[args.at_once:])} remaining: the search is {faster[0]:.1f} times as fast in the median ({faster[1]:.1f} to {faster[2]:.1f}), "
        f"by processor time {cpu[0]:.1f}; tgc's kernel takes {times[0]:.3f} of tinygrad's in the median ({times[1]:.3f} to {times[2]:.3f}), "
        f"{slower} more than 1.03 times; {sum(not r['reference'] for r in good)} not compared with a reference")


if __name__ == "__main__": main()
