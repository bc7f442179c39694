"""Schedules sixteen programs whose kernels have a known cause, and checks that `tgc dump --stage=schedule --why` names it.

  PYTHON scripts/tests/why_kernels.py [--text]
  TGC: the binary to test; default: build/release/bin/tgc

PYTHON has tinygrad 0.13, 0.14 or master. --text prints the whole answers. Exit code 0 if all answers are right.
"""
import os, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TGC = os.environ.get("TGC", ROOT / "build/release/bin/tgc")
EXPAND = "an EXPAND between it and its user"
LIMIT = "its user would read more buffers than the device allows"
USERS = "its users index it with different loops"

# For each program: a pattern for each kernel's reason, in order, and the expression of x (16, 16) and v (16,) to compute.
CASES = {
  "softmax": ([EXPAND, EXPAND, "output"], "x.softmax(1)"),
  "normalization": ([EXPAND, EXPAND, "output"], "(x - x.mean(1, keepdim=True)) / x.var(1, keepdim=True)"),
  "two_products": ([EXPAND, "output"], "(x @ x) @ x"),
  "contiguous": (["CONTIGUOUS asks for a buffer", "output"], "(x + 1).contiguous() * 2"),
  "two_movements": ([USERS, "output"], "(lambda s: s.reshape(4, 4) + s.reshape(4, 4).T)(x.sum(1))"),
  "cheap_transposed": (["output"], "(lambda s: s + s.T)(x * 2)"),
  "four_buffers": ([USERS, "output"], "(lambda s: s + s.T)(sum((Tensor.empty(16, 16) for _ in range(3)), x))"),
  "copy": (["a copy needs its source|COPY reads a buffer", "COPY"], "(x + 1).to('PYTHON')"),
  "assign_reversed": (["the store's value reads the buffer", "the program assigns it"], "v.assign(v.flip(0) + 1)"),
  "elementwise": (["output"], "((x + 1) * 2).exp() - x"),
  "large_sum": (["a long reduction is split", "output"], "Tensor.empty(1 << 20).sum()"),
  "convolution": ([EXPAND, "output"],
                  "x.reshape(1, 1, 16, 16).conv2d(Tensor.empty(4, 1, 3, 3)).conv2d(Tensor.empty(4, 4, 3, 3))"),
  "assign": (["the program assigns it"], "v.assign(v + 1)"),
  "transposed_assign": (["the store's value reads the buffer", "the program assigns it"], "x.assign(x.T + 1)"),
  "two_outputs": (["output", "output"], "(x.sum(1), x.sum(1).sum())"),
  "buffer_limit": ([LIMIT, LIMIT, "output"], "sum((Tensor.empty(16, 16) for _ in range(9)), x)"),
}
PROGRAM = """
from tinygrad import Tensor
from tinygrad.helpers import Context
x, v = Tensor.empty(16, 16).realize(), Tensor.empty(16).realize()
"""
STEP = """with Context(MAX_KERNEL_BUFFERS={limit}):
  out = {expression}
  Tensor.realize(*out) if isinstance(out, tuple) else out.realize()
"""


def answers(folder):
  program, record, tensors = (folder / name for name in ("why.py", "why.jsonl.gz", "why.tensor.jsonl.gz"))
  steps = [STEP.format(expression=e, limit=5 if name == "buffer_limit" else 0) for name, (_, e) in CASES.items()]
  program.write_text(PROGRAM + "".join(steps))
  subprocess.run([sys.executable, ROOT / "scripts/tinygrad_export.py", "-o", record, "--", program], check=True,
                 env={**os.environ, "DEV": "CPU", "CPU": "1"}, capture_output=True)
  made = subprocess.run([TGC, "dump", tensors, "--stage=schedule", "--why"], text=True, capture_output=True, check=True)
  return re.split(r"^why\.s\d+: ", made.stdout, flags=re.M)[1:]


def main():
  right = 0
  with tempfile.TemporaryDirectory() as folder: texts = answers(pathlib.Path(folder))
  if len(texts) != len(CASES): sys.exit(f"{len(texts)} schedules for {len(CASES)} programs")
  for (name, (expected, expression)), text in zip(CASES.items(), texts):
    if "--text" in sys.argv: print(f"=== {name}: {expression}\n{text}")
    reasons = re.findall(r"^  stored since: (.*)$", text, re.M)
    is_right = len(reasons) == len(expected) and all(map(re.search, expected, reasons))
    right += is_right
    print(f"{name:18s} {'right' if is_right else 'WRONG'}: " + " | ".join(reasons))
  print(f"{right} of {len(CASES)} answers are right")
  return 0 if right == len(CASES) else 1


sys.exit(main())
