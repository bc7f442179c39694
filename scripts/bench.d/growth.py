#!/usr/bin/env python3
"""Measures how the time of one kernel grows with its nodes: a 1024 x 1024 matrix product with increasing unrolling.

  bench.d/growth.py TGC

Prints the nodes of the linear list, the time, the peak memory, and the time per node beside that of an n log n
algorithm.
"""
import json, math, subprocess, sys

GEMM = """c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1048576), (), 0)
c2 = UOp.range(1024, 1, AxisType.LOOP)
c3 = c2*UOp.const(dtypes.index, 1024)
c4 = UOp.range(1024, 2, AxisType.LOOP)
c7 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1048576), (), 1)
c8 = UOp.range(1024, 0, AxisType.REDUCE)
c11 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1048576), (), 2)
c15 = c7.index((c3+c8))*c11.index((c8*UOp.const(dtypes.index, 1024)+c4))
c16 = c15.reduce(c8, arg=Ops.ADD)
c18 = c0.index((c3+c4), ptr=True).store(c16).end(c2, c4)
ast = c18.sink()
"""
# unrolling of rows, columns and the sum, and a second unrolling of the rows
UNROLLED = [(8, 8, 4, 1), (16, 16, 4, 1), (16, 16, 32, 1), (16, 16, 32, 4)]


def upcast_opts(rows, columns, terms, more_rows):
  upcasts = [(0, rows), (1, columns)] + ([(0, more_rows)] if more_rows > 1 else [])
  return "[" + ", ".join(f"Opt(OptOps.UPCAST, {axis}, {n})" for axis, n in upcasts) + f", Opt(OptOps.UNROLL, 0, {terms})]"


def main():
  print(f"  {'nodes':>8} {'ms':>9} {'us/node':>9} {'peak MB':>9} {'n log n':>9}")
  first = None
  for sizes in UNROLLED:
    repeat = max(10, 10000 // math.prod(sizes))  # short measurements are noisier
    run = subprocess.run([sys.argv[1], "bench", "-", "--json", f"--repeat={repeat}", "--opts=" + upcast_opts(*sizes)],
                         input=GEMM, check=True, capture_output=True, text=True)
    report = json.loads(run.stdout)
    nodes, ms = report["stages"]["linear"]["nodes"], report["total"]["max_ms"]
    if first is None: first = ms * 1e3 / nodes / math.log2(nodes)
    print(f"  {nodes:8} {ms:9.2f} {ms * 1e3 / nodes:9.2f} {report['peak_mb']:9.1f} {first * math.log2(nodes):9.2f}")


if __name__ == "__main__": main()
