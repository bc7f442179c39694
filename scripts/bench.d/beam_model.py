#!/usr/bin/env python3
"""Times ONNX models before and after `tgc beam MODEL --budget=SECONDS`, and in onnxruntime on one and on two threads.

  bench.d/beam_model.py TGC MODEL.onnx... [--budget=120] [--turns=5] [--device=CPU:CLANG] [--onnxruntime=PYTHON] [--var NAME=N]

MODEL.inputs.npz and MODEL.expect.npz must lie beside MODEL.onnx, as scripts/tools/make_models writes them. The variants
take turns, each in its own process; the fastest run counts. PYTHON is an interpreter with onnxruntime, which is not
timed without this option.
"""
import argparse, json, math, os, pathlib, subprocess, tempfile

ONNXRUNTIME = """
import sys, time, numpy, onnxruntime
path, inputs, threads = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
arrays = dict(numpy.load(inputs))
best = 1e9
for _ in range(10):
  begin = time.perf_counter()
  session.run(None, arrays)
  best = min(best, time.perf_counter() - begin)
print(best * 1e3)
"""


def json_of(command, **env):
  done = subprocess.run(command, env=dict(os.environ, **env), capture_output=True, text=True)
  if done.returncode: raise SystemExit(f"{' '.join(command)} fails:\n{done.stderr}")
  return [json.loads(line) for line in done.stdout.splitlines()]


def main():
  p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  p.add_argument("tgc")
  p.add_argument("models", nargs="+")
  p.add_argument("--budget", type=float, default=120)
  p.add_argument("--turns", type=int, default=5)
  p.add_argument("--device", default="CPU:CLANG")
  p.add_argument("--onnxruntime", metavar="PYTHON")
  p.add_argument("--var", action="append", default=[], metavar="NAME=N", help="binds a symbolic size")
  args = p.parse_args()
  own_options = [f"--set=CPU_COUNT={os.environ.get('CPU_COUNT', len(os.sched_getaffinity(0)))}"]
  own_options += [word for size in args.var for word in ("--var", size)]
  print(f"{'model':12} {'kernels':>7} {'searched':>8} {'before':>10} {'after':>10} {'faster':>7} {'onnxruntime, 1 thread':>22} {'2 threads':>10}")
  for path in map(pathlib.Path, args.models):
    stem = path.with_suffix("")
    with tempfile.TemporaryDirectory() as folder:
      own = {"TGC_CACHE_DIR": f"{folder}/cache", "TGC_BEAM_DB": f"{folder}/results.db"}
      found = json_of([args.tgc, "beam", str(path), f"--target={args.device}", f"--budget={args.budget}", "--json", *own_options], **own)
      run = [args.tgc, "run", str(path), f"--device={args.device}", f"--inputs={stem}.inputs.npz", f"--expect={stem}.expect.npz", "--json", *own_options]
      def of_tgc(beam):
        report, = json_of(run, BEAM=beam, **own)
        return report["run_ms"], report["kernels"]
      def of_onnxruntime(threads):
        if not args.onnxruntime: return math.nan, None
        command = [args.onnxruntime, "-c", ONNXRUNTIME, str(path), f"{stem}.inputs.npz", str(threads)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout), None
      ways = {"before": lambda: of_tgc("0"), "after": lambda: of_tgc("2"), "1": lambda: of_onnxruntime(1), "2": lambda: of_onnxruntime(2)}
      best, count = dict.fromkeys(ways, math.inf), {}
      for _ in range(args.turns):
        for name, way in ways.items():
          milliseconds, kernels = way()
          best[name], count[name] = min(best[name], milliseconds), kernels
    print(f"{stem.name:12} {count['after']:7d} {len(found):8d} {best['before']:7.1f} ms {best['after']:7.1f} ms {best['before'] / best['after']:6.2f}x "
          f"{best['1']:19.1f} ms {best['2']:7.1f} ms", flush=True)


if __name__ == "__main__": main()
