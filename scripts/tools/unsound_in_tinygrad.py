#!/usr/bin/env python3
"""Compiles a kernel with tinygrad 0.12.0, runs it on the CPU, and prints where its result differs from that of
tgc's reference interpreter.

  unsound_in_tinygrad.py TGC AST      AST: a file that tgc dump wrote, with a header that states the target

Needs an importable tinygrad 0.12.0 and numpy. A kernel for another target than the CPU is only compiled: the output says
whether its source is that of tgc. Exits 1 if the kernel is right, or if tinygrad's source is not that of tgc.
"""
import json, os, pathlib, subprocess, sys, tempfile
tgc, path = sys.argv[1:3]
text = pathlib.Path(path).read_text()
header = json.loads(text.splitlines()[0].removeprefix("# tgc: "))
target = header["target"]
os.environ.update(header.get("settings", {}))
os.environ.update({"CPU_LLVM": str(int(target == "CPU:LLVM")), "CPU_COUNT": "1", "CACHELEVEL": "0"})
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import numpy as np
from tgc.export.graph_text import read_graph
from tgc.export.records import make_renderer
from tinygrad import Device, dtypes
from tinygrad.codegen import get_program
from tinygrad.device import Buffer
from tinygrad.dtype import _to_np_dtype
from tinygrad.engine.realize import CompiledRunner
from tinygrad.uop.ops import Ops

BYTES = [0, 1, 56, 229, 128, 200, 255, 100, 130, 2, 7, 90, 64, 127, 3, 250]
WIDE = [3, 4294967295, 2**31, -33, 6710886300 % 2**32, 2**31 - 1]
FLOATS = [0.5, -2, 3.25, 1, -0.75, 7, 2.5, 0.25]
TURNS = 100  # number of inputs that are tried


def values(dtype, count, random):
  """Returns usual numbers and, for integers, numbers near the ends of the dtype: in turn or, with `random`, drawn."""
  if dtype == dtypes.bool: return random.integers(2, size=count) > 0 if random else np.arange(count) % 3 != 1
  kind = _to_np_dtype(dtype)
  wide = np.array(BYTES, dtype=np.int64)
  if dtypes.is_float(dtype): wide = np.array(FLOATS)
  elif dtype.itemsize > 1: wide = np.concatenate([wide, WIDE])
  return (random.choice(wide, count) if random else np.resize(wide, count)).astype(kind)


def main():
  ast = read_graph(text)
  renderer = make_renderer(target)
  program = get_program(ast, renderer)
  ours = subprocess.run([tgc, "dump", path, "--stage=source", f"--target={target}"], capture_output=True, text=True)
  if ours.stdout.strip() != program.src.strip(): sys.exit("tinygrad's source is another one")
  if not target.startswith("CPU"): return print("compiles to the same source")
  buffers = sorted({u.arg: u.dtype for u in ast.toposort() if u.op is Ops.DEFINE_GLOBAL}.items())
  for turn in range(TURNS):
    if difference := difference_for(program, buffers, turn): return print(difference)
  sys.exit("tinygrad is right")


def difference_for(program, buffers, turn):
  """Returns the first element that tinygrad computes wrongly, as text; "" if there is none."""
  random = np.random.default_rng(turn) if turn else None
  arrays = {f"data{n}": values(d.base, d.size, random) for n, d in buffers if d.base != dtypes.bfloat16}
  with tempfile.TemporaryDirectory() as folder:
    np.savez(f"{folder}/in.npz", **{k: v for k, v in arrays.items() if k != "data0"})
    words = ["run", path, "--device=REF", f"--inputs={folder}/in.npz", f"--save={folder}/out.npz"]
    done = subprocess.run([tgc, *words], capture_output=True, text=True)
    if done.returncode: sys.exit(done.stderr)
    expected = np.load(f"{folder}/out.npz")["data0"]
  is_bfloat16 = dict(buffers)[0].base == dtypes.bfloat16
  made = [Buffer("CPU", d.size, d.base).allocate() for _, d in buffers]
  for buffer, (n, _) in zip(made, buffers):
    if n: buffer.copyin(memoryview(np.ascontiguousarray(arrays[f"data{n}"])).cast("B"))
  CompiledRunner(program)(made, {}, wait=True)
  actual = np.frombuffer(bytes(made[0].as_buffer()), dtype=expected.dtype)
  if is_bfloat16: actual, expected = ((a.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for a in (actual, expected))
  differ = np.flatnonzero(~((actual == expected) | (np.isnan(actual.astype(float)) & np.isnan(expected.astype(float)))))
  return f"data0[{differ[0]}] = {actual[differ[0]]}, not {expected[differ[0]]}" if len(differ) else ""


main()
