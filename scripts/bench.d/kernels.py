#!/usr/bin/env python3
"""Times CPU kernels that tgc and tinygrad 0.12.0 compile from the same AST and run.

  bench.d/kernels.py TGC GOLDENS [--every=N] [--runs=N] [--rounds=N] [--list]

tgc and tinygrad take turns; for each, the fastest run counts. tinygrad reads the clock in Python before and after the
call; its time for an empty kernel is measured and subtracted.
"""
import argparse, json, os, statistics, subprocess, sys
os.environ.setdefault("CC", "clang-19")
os.environ.setdefault("LLVM_PATH", "/usr/lib/llvm-19/lib/libLLVM.so")

from tgc.export.graph_text import read_graph
from tgc.export.records import make_renderer
from pipeline import load_records
from tgc.export.golden import apply_settings


def time_tgc(tgc, kernel, target, runs):
  command = [tgc, "run", kernel, f"--device={target}", "--reference=none", f"--bench={runs}", "--json"]
  report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
  return report["bench"]["min_s"]


class Tinygrad:
  def __init__(self, runs):
    from tinygrad.runtime.support.compiler_cpu import ClangJITCompiler, CPULLVMCompiler
    self.runs = runs
    self.compilers = {"CPU:CLANG": ClangJITCompiler(None), "CPU:LLVM": CPULLVMCompiler(None)}
    empty = "void empty(float* data0, float* data1, int core) {}"
    buffers = [self.buffer(16, "float32") for _ in range(2)]
    self.overhead = self.time(self.program("empty", self.compilers["CPU:CLANG"].compile(empty)), buffers, (1, 1, 1), ())

  def program(self, name, code):
    from tinygrad.device import Device
    from tinygrad.runtime.ops_cpu import CPUProgram
    return CPUProgram(Device["CPU"], name, code)

  def buffer(self, size, dtype):
    import numpy as np
    from tinygrad.device import Buffer
    from tinygrad.dtype import dtypes
    kind = getattr(dtypes, dtype)
    made = Buffer("CPU", size, kind).allocate()
    bytes_of = np.random.randn(size).astype(dtype) if "float" in dtype and "b" not in dtype else np.ones(size * kind.itemsize, dtype="uint8")
    made.copyin(memoryview(bytearray(bytes_of.tobytes())))
    return made

  def time(self, program, buffers, size, values):
    return min(program(*[b._buf for b in buffers], global_size=size, vals=values, wait=True) for _ in range(self.runs + 3))

  def kernel(self, record, renderer, target):
    """Returns (function that runs the kernel and returns its seconds, number of threads); None for a kernel with
    variables."""
    from tinygrad.codegen import get_program
    from tinygrad.uop.ops import Ops
    ast = read_graph(record["ast"])
    program = get_program(ast, renderer)
    if program.vars and any(v.expr != "core_id" for v in program.vars): return None
    globals_ = sorted((u for u in ast.toposort() if u.op is Ops.DEFINE_GLOBAL), key=lambda u: u.arg)
    buffers = {u.arg: self.buffer(u.ptrdtype.size, {"half": "float16", "float": "float32", "double": "float64"}.get(u.dtype.base.name, u.dtype.base.name.replace(
      "unsigned ", "u").replace("signed char", "int8").replace("char", "int8").replace("short", "int16").replace("long", "int64"))) for u in globals_}
    size = tuple(program.global_size or (1, 1, 1))
    made = self.program(program.function_name, self.compilers[target].compile(program.src))
    return lambda: max(self.time(made, [buffers[i] for i in program.globals], size, ()) - self.overhead, 1e-9), size[0]


def print_row(name, ratios):
  if not ratios: return
  q = statistics.quantiles(ratios, n=10) if len(ratios) > 1 else ratios * 9
  print(f"  {name:<44} {len(ratios):4}   median {statistics.median(ratios):.3f}   10% to 90% from {q[0]:.3f} to {q[-1]:.3f}")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("tgc")
  parser.add_argument("goldens")
  parser.add_argument("--every", type=int, default=10, metavar="N")
  parser.add_argument("--runs", type=int, default=100, metavar="N")
  parser.add_argument("--rounds", type=int, default=3, metavar="N")
  parser.add_argument("--list", action="store_true", help="print a line for each kernel")
  options = parser.parse_args()
  sys.setrecursionlimit(20000)
  header, records = load_records(options.goldens)
  apply_settings(header["settings"])
  theirs = Tinygrad(options.runs)
  print(f"tinygrad's time for an empty kernel, subtracted from its times: {theirs.overhead * 1e6:.1f} us")
  for target in ("CPU:CLANG", "CPU:LLVM"):
    renderer, rows = make_renderer(target), []
    for record in records[::options.every]:
      if "error" in record or "UOp.variable" in record["ast"]: continue
      kernel = f"{options.goldens}#{record['id']}"
      try:
        made = theirs.kernel(record, renderer, target)
        if not made: continue
        rounds = [(time_tgc(options.tgc, kernel, target, options.runs), made[0]()) for _ in range(options.rounds)]
        rows.append((record["id"], *map(min, zip(*rounds)), made[1]))
      except Exception as error: print(f"  {target} {record['id']}: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
    if options.list:
      for name, tgc_s, tinygrad_s, threads in sorted(rows, key=lambda r: r[1] / r[2]):
        print(f"  {name:<30} tgc {tgc_s * 1e6:10.2f} us   tinygrad {tinygrad_s * 1e6:10.2f} us   ratio {tgc_s / tinygrad_s:.3f}   threads {threads}")
    print(f"{target}: time of tgc / time of tinygrad")
    print_row("one thread, 20 us and more", [a / b for _, a, b, n in rows if n == 1 and b >= 20e-6])
    print_row("one thread, 1 to 20 us (the clock matters)", [a / b for _, a, b, n in rows if n == 1 and 1e-6 <= b < 20e-6])
    print_row("on threads", [a / b for _, a, b, n in rows if n > 1])


if __name__ == "__main__": main()
