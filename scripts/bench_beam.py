#!/usr/bin/env python3
"""Times the kernel search of tgc and of tinygrad 0.12.0 (BEAM=2), both with empty caches, in one run.

  bench_beam.py TGC GOLDENS [--target=CPU:CLANG] [--width=2] [--ids=ID,ID...] [--count=30] [--most=OPS]

Of each kernel: the wall time of both searches (tgc's with the start of its process, tinygrad's within a process that has
started) and the processor's time, which a busy machine changes less; then both kernels, compiled by tgc from the opts found and run in turns, and whether each computes what REF
does. Without --ids: the --count kernels with a REDUCE that do most, of at most --most operations, spread over the
models. Run by scripts/bench.
"""
import argparse, json, os, resource, statistics, subprocess, sys, tempfile, time
os.environ.setdefault("CC", "clang-19")
os.environ.setdefault("LLVM_PATH", "/usr/lib/llvm-19/lib/libLLVM.so")
os.environ.update(CACHELEVEL="0", DEBUG="0", SPEC="0")

from tinygrad_export import golden_lines

# The same for both, whatever the records were made with: as many threads as this process may use.
os.environ.setdefault("CPU_COUNT", str(len(os.sched_getaffinity(0))))
THREADS = [f"--set=CPU_COUNT={os.environ['CPU_COUNT']}"]


def chosen(path, ids, count, most):
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
  """Seconds since it was made, by the clock and of the processor, those of processes that have ended included."""
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
    from rule_table import ast_of
    from tinygrad.codegen import full_rewrite_to_sink
    from tinygrad.helpers import Context
    from tinygrad.uop.ops import KernelInfo
    ast = ast_of(text)
    ast = ast if ast.arg is not None else ast.replace(arg=KernelInfo())
    watch = Stopwatch()
    with Context(BEAM=self.width): sink = full_rewrite_to_sink(ast, self.renderer)
    return watch.seconds(), [str(o) for o in sink.arg.applied_opts]


def tgc_search(tgc, kernel, target, width, folder):
  env = dict(os.environ, TGC_CACHE_DIR=f"{folder}/cache", TGC_BEAM_DB=f"{folder}/results.db")
  watch = Stopwatch()
  done = subprocess.run([tgc, "beam", kernel, f"--target={target}", f"--width={width}", "--json", *THREADS], env=env, capture_output=True, text=True)
  seconds = watch.seconds()
  if done.returncode: sys.exit(f"tgc beam {kernel} fails:\n{done.stderr}")
  return seconds, json.loads(done.stdout)


def fastest(tgc, kernel, target, opts, runs=7):
  command = [tgc, "run", kernel, f"--device={target}", f"--opts=[{', '.join(opts)}]", f"--bench={runs}", "--reference=none", "--json", *THREADS]
  return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["bench"]["min_s"]


def main():
  p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  p.add_argument("tgc")
  p.add_argument("goldens")
  p.add_argument("--target", default="CPU:CLANG")
  p.add_argument("--width", type=int, default=2)
  p.add_argument("--ids", default="")
  p.add_argument("--count", type=int, default=30)
  p.add_argument("--most", type=float, default=2e8)
  args = p.parse_args()
  settings, records = chosen(args.goldens, set(filter(None, args.ids.split(","))), args.count, args.most)
  for key, value in settings.items(): os.environ.setdefault(key, str(value))
  theirs = Tinygrad(args.target, args.width)
  ratios, cpu_ratios, times, wrong = [], [], [], 0
  print(f"{'kernel':24} {'tinygrad':>9} {'tgc':>9} {'faster':>7} {'of cpu':>7} {'candidates':>10} {'its kernel':>11} {'tgc kernel':>11} {'ratio':>6}")
  for record in records:
    kernel = f"{args.goldens}#{record['id']}"
    with tempfile.TemporaryDirectory() as folder:
      (wall, cpu), found = tgc_search(args.tgc, kernel, args.target, args.width, folder)
    try: (their_wall, their_cpu), their_opts = theirs.search(record["ast"])
    except Exception as e:
      print(f"{record['id']:24} tinygrad's search fails: {type(e).__name__}")
      continue
    a = b = float("inf")
    for _ in range(3):
      a = min(a, fastest(args.tgc, kernel, args.target, their_opts))
      b = min(b, fastest(args.tgc, kernel, args.target, found["opts"]))
    right = found["reference"] != ""
    wrong += not right
    ratios.append(their_wall / wall)
    cpu_ratios.append(their_cpu / cpu)
    times.append(b / a)
    print(f"{record['id']:24} {their_wall:8.2f}s {wall:8.2f}s {their_wall / wall:6.1f}x {their_cpu / cpu:6.1f}x {found['candidates']:10d} {a * 1e6:9.1f}us {b * 1e6:9.1f}us {b / a:6.3f}{'' if right else '  NOT COMPARED'}", flush=True)
  print(f"{len(ratios)} kernels: the search {statistics.median(ratios):.1f} times as fast in the median ({min(ratios):.1f} to {max(ratios):.1f}), "
        f"by processor time {statistics.median(cpu_ratios):.1f}; "
        f"tgc's kernel takes {statistics.median(times):.3f} of tinygrad's in the median (at most {max(times):.3f}); {wrong} not compared with a reference")


if __name__ == "__main__": main()
