#!/usr/bin/env python3
"""Times the reference interpreter (REF) and tinygrad 0.12.0's PYTHON device on the same kernels, in one thread each.

  bench.d/ref.py TGC KERNELS.uop... [--most=N]

Both run on the same arrays (NAME.in.npz beside NAME.uop). REF runs the AST, tinygrad the kernel that it lowered for
PYTHON; the times exclude compiling. tinygrad runs only kernels of at most N UOp evaluations.
"""
import argparse, json, os, subprocess, sys, time
os.environ["PYTHON"] = "1"
sys.setrecursionlimit(20000)

import numpy as np
from tgc.export.graph_text import read_graph


def time_ref(tgc, kernel, runs=5):
  arrays = kernel[:-len(".uop")] + ".in.npz"
  command = [tgc, "run", kernel, "--device=REF", f"--inputs={arrays}", "--reference=none", f"--bench={runs}", "--json"]
  bench = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["bench"]
  return bench["median_s"], bench["evaluations"]


def time_python(kernel):
  from tinygrad.codegen import get_program
  from tinygrad.device import Buffer, Device
  from tinygrad.dtype import dtypes
  from tinygrad.engine.realize import CompiledRunner
  from tinygrad.uop.ops import Ops
  with open(kernel) as text: ast = read_graph(text.read())
  arrays = np.load(kernel[:-len(".uop")] + ".in.npz")
  buffers = []
  for u in sorted((u for u in ast.toposort() if u.op is Ops.DEFINE_GLOBAL), key=lambda u: u.arg):
    buffer = Buffer("PYTHON", u.dtype.size, u.dtype.base).allocate()
    if f"data{u.arg}" in arrays: buffer.copyin(memoryview(bytearray(np.ascontiguousarray(arrays[f"data{u.arg}"]).tobytes())))
    buffers.append(buffer)
  runner = CompiledRunner(get_program(ast, Device["PYTHON"].renderer))
  start = time.perf_counter()
  runner([buffers[i] for i in runner.p.globals], {}, wait=True)
  return time.perf_counter() - start


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("tgc")
  parser.add_argument("kernels", nargs="+")
  parser.add_argument("--most", type=float, default=2e6)
  options = parser.parse_args()
  evaluated, seconds, rows = 0, 0.0, []
  for kernel in options.kernels:
    ref_s, evaluations = time_ref(options.tgc, kernel)
    evaluated, seconds = evaluated + evaluations, seconds + ref_s
    if evaluations > options.most: continue
    try: rows.append((os.path.basename(kernel), evaluations, ref_s, time_python(kernel)))
    except Exception as error: print(f"  {os.path.basename(kernel)}: fails on tinygrad's PYTHON device: {type(error).__name__}: {error}"[:150])
  rows.sort(key=lambda r: r[3] / r[2])
  print(f"REF: {len(options.kernels)} kernels, {evaluated / 1e6:.1f} million UOp evaluations in {seconds * 1e3:.1f} ms: {evaluated / seconds / 1e6:.0f} million per second")
  ref, python = sum(r[2] for r in rows), sum(r[3] for r in rows)
  print(f"the same {len(rows)} kernels: REF {ref * 1e3:.2f} ms, tinygrad's PYTHON device {python * 1e3:.0f} ms: {python / ref:.0f} times as long, "
        f"median of the kernels {rows[len(rows) // 2][3] / rows[len(rows) // 2][2]:.0f}, least {rows[0][3] / rows[0][2]:.1f} ({rows[0][0]})")


main()
