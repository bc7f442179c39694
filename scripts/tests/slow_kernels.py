"""Makes fifteen kernels slow in a known way, and checks that `tgc bench --kernels` names the right reason first.

  PYTHON scripts/tests/slow_kernels.py [--try] [--tgc=FILE]   records them, and compares the first reason with CASES
  PYTHON scripts/tests/slow_kernels.py times N                runs each and the same without its defect, N times

PYTHON has tinygrad 0.14.0 and numpy; OpenCL has a device (pocl). Exit code 0 if 12 of the 15 reasons are right. Another
program on the machine makes kernels slow in ways that no opt mends: run this script alone.
"""
import contextlib, io, json, pathlib, subprocess, sys, tempfile
import numpy as np
from tinygrad import GlobalCounters, Tensor
from tinygrad.codegen import to_program_cache
from tinygrad.codegen.opt import Opt, OptOps, heuristic
from tinygrad.engine.realize import runtime_cache
from tinygrad.helpers import Context

chosen: list[Opt] = []


def apply_chosen(kernel):
  for opt in chosen: kernel.apply_opt(opt)
  return kernel


heuristic.hand_coded_optimizations = apply_chosen


def opts(text):
  words = [part.split() for part in text.split(",") if part.strip()]
  return [Opt(OptOps[op], int(axis), int(amount)) for op, axis, amount in words]


def random(*shape): return Tensor(np.random.default_rng(0).random(shape, dtype=np.float32)).realize()


def product(n, batch=()):
  a, b = random(*batch, n, n), random(*batch, n, n)
  return lambda: a @ b


def transposed(n):
  x = random(n, n)
  return lambda: x.T + 1


def total(axis, *shape):
  x = random(*shape)
  return lambda: x.sum(axis=axis)


def scaled(n):
  x = random(n)
  return lambda: x * 2 + 1


def convolution(padding):
  x, w = random(4, 16, 34 - 2 * padding, 34 - 2 * padding), random(16, 16, 3, 3)
  return lambda: x.conv2d(w, padding=padding)


# name: (right reason, device, slow program, its opts, program without the defect, its opts)
CASES = {
  "no_opts": ("not-unrolled", "CPU", (product, 256), "THREAD 0 2", None, "UPCAST 0 4, UPCAST 1 16, THREAD 0 2"),
  "transposed": ("strided-loads", "CPU", (transposed, 1024), "THREAD 0 2", None, "UPCAST 0 16, THREAD 0 2"),
  "columns": ("strided-loads", "CPU", (total, 0, 1024, 1024), "THREAD 0 2", None, "UPCAST 0 16, THREAD 0 2"),
  "rows_upcast": ("strided-loads", "CPU", (product, 240), "UPCAST 0 4, THREAD 0 2", None, "UPCAST 0 4, UPCAST 1 16, THREAD 0 2"),
  "one_accumulator": ("serial-reduction", "CPU", (total, 1, 1024, 1024), "THREAD 0 2", None, "UPCAST 0 4, THREAD 0 2"),
  "no_reuse": ("repeated-loads", "CPU", (product, 272), "UPCAST 1 16, THREAD 0 2", None, "UPCAST 1 16, UPCAST 0 4, THREAD 0 2"),
  "odd_size": ("bounds-checks", "CPU", (product, 253), "PADTO 0 16, PADTO 1 16, UPCAST 0 4, UPCAST 1 16, THREAD 0 2",
               (product, 256), "UPCAST 0 4, UPCAST 1 16, THREAD 0 2"),
  "registers": ("spills", "CPU", (product, 128, (8,)), "UPCAST 0 8, UPCAST 0 8, UPCAST 1 16, THREAD 0 2", None,
                "UPCAST 1 4, UPCAST 2 16, THREAD 0 2"),
  "batched": ("not-unrolled", "CPU", (product, 144, (4,)), "THREAD 0 2", None, "UPCAST 1 4, UPCAST 2 16, THREAD 0 2"),
  "cl_one_item": ("small-groups", "CL", (scaled, 1 << 20), "", None, "LOCAL 0 32"),
  "cl_no_upcast": ("not-unrolled", "CL", (product, 256), "LOCAL 1 16, LOCAL 0 16", None, "LOCAL 1 16, LOCAL 0 16, UPCAST 0 4, UPCAST 1 4"),
  "cl_one_group": ("few-groups", "CL", (total, 0, 32768, 64), "UPCAST 0 16, LOCAL 0 4", None, "UPCAST 0 16, LOCAL 0 2"),
  "cl_transposed": ("strided-loads", "CL", (transposed, 1024), "LOCAL 1 32", None, "LOCAL 1 16, LOCAL 0 16"),
  "cl_padding": ("bounds-checks", "CL", (convolution, 1), "LOCAL 3 32, UPCAST 1 4", (convolution, 0), "LOCAL 3 32, UPCAST 1 4"),
  "cl_no_reuse": ("repeated-loads", "CL", (product, 240), "UPCAST 1 16", None, "UPCAST 1 16, UPCAST 0 4"),
}


def run(device, program, text, runs=1):
  """Returns the milliseconds of the fastest run, as tinygrad measures them."""
  chosen[:] = opts(text)
  to_program_cache.clear()
  runtime_cache.clear()
  times = []
  with Context(DEV=device, SPLIT_REDUCEOP=0):
    make = program[0](*program[1:])
    for _ in range(runs):
      GlobalCounters.reset()
      with contextlib.redirect_stdout(io.StringIO()), Context(DEBUG=2 if runs > 1 else 0): make().realize()
      times.append(GlobalCounters.time_sum_s * 1e3)
  return min(times)


def compare(tries, tgc):
  exporter = pathlib.Path(__file__).resolve().parents[1] / "tinygrad_export.py"
  with tempfile.TemporaryDirectory() as folder:
    recording = folder + "/slow.jsonl.gz"
    subprocess.run([sys.executable, exporter, "-o", recording, "--", __file__, "run"], check=True, capture_output=True)
    command = [tgc, "bench", recording, "--kernels", f"--explain={len(CASES)}", "--json", *["--try"] * tries]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
  kernels = [k for k in report["kernels"] if "error" not in k]
  right = 0
  for (name, (reason, *_)), kernel in zip(CASES.items(), kernels, strict=True):
    reasons = kernel.get("reasons", [])
    right += bool(reasons) and reasons[0]["reason"] == reason
    found = ", ".join(f"{r['reason']} {r['weight']:.2f}" + (f" (measured {r['gain']:.2f})" if "gain" in r else "") for r in reasons)
    print(f"{name:16} {kernel['seconds'] * 1e3:9.3f} ms, expected {reason:17}: {found or kernel.get('unexplained', 'nothing')}")
  print(f"{right} of {len(CASES)} first reasons are right")
  return right


def main():
  words = sys.argv[1:]
  for name, (reason, device, program, slow, other, mended) in CASES.items():
    if words == ["run"]: run(device, program, slow)
    if words[:1] != ["times"]: continue
    runs = int(words[1])
    with contextlib.redirect_stderr(io.StringIO()):
      before, after = run(device, program, slow, runs), run(device, other or program, mended, runs)
    print(f"{name:16} {reason:17} {before:10.3f} {after:10.3f} {before / after:8.2f}", flush=True)
  if words[:1] in (["run"], ["times"]): return 0
  tgc = next((w[6:] for w in words if w.startswith("--tgc=")), "build/release/bin/tgc")
  return 0 if compare("--try" in words, tgc) >= 12 else 1


if __name__ == "__main__": sys.exit(main())
