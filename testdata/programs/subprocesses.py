import os, subprocess, sys

code = "import sys; from tinygrad import Tensor; print((Tensor.ones(int(sys.argv[1])).contiguous() * 3).sum().item())"
for size, more in (("10", {}), ("11", {"NOOPT": "1"}), ("12", {"CPU_LLVM": "1"})):
  sys.stdout.flush()
  subprocess.run([sys.executable, "-c", code, size], env={**os.environ, **more}, check=True)
done = subprocess.run([sys.executable, "-", "13"], input=code, text=True, capture_output=True)
print(done.stdout)
sys.stdout.flush()
os._exit(3)
