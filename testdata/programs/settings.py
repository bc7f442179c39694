import os
os.environ["MV"] = "0"  # set before tinygrad reads it
from tinygrad import Context, Tensor

def compute(n):
  x = (Tensor.arange(n * n).reshape(n, n) % 7).float().contiguous()
  return (x @ Tensor.ones(n, 8)).exp().sum().isfinite().item()

print(compute(16))
with Context(NOOPT=1): print(compute(20), compute(24))
with Context(DEVECTORIZE=0): print(compute(28))
with Context(NOOPT=1, TRANSCENDENTAL=2): print(compute(16))
with Context(SPLIT_REDUCEOP=0): print(Tensor.ones(400, 400).contiguous().sum().item())
x = Tensor.ones(64, 64).contiguous()
print(compute(16), x.matmul(Tensor.ones(64).contiguous()).sum().item())
