from tinygrad import Tensor, UOp
from tinygrad.uop.ops import KernelInfo

def add(out, a, b):
  i = UOp.range(out.size, 0)
  return out.flatten()[i].store(a.flatten()[i] + b.flatten()[i]).end(i).sink(arg=KernelInfo(name=f"add_{out.size}"))

def twice(out, a):
  i = UOp.range(out.size, 0)
  return out.flatten()[i].store(a.flatten()[i] * 2).end(i).sink(arg=KernelInfo(name=f"twice_{out.size}"))

a, b = (Tensor.arange(16) % 5).float().contiguous(), Tensor.ones(16).contiguous()
c = Tensor.custom_kernel(Tensor.empty(16), a, b, fxn=add)[0]
d = Tensor.custom_kernel(Tensor.empty(16), c, fxn=twice)[0]
print((d + 1).sum().item(), c.tolist()[:4])
