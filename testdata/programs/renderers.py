from tinygrad import Context, Device, Tensor
from tinygrad.codegen import get_program
from tinygrad.renderer.cstyle import OpenCLRenderer
from tinygrad.renderer.ptx import PTXRenderer

x = (Tensor.arange(64).reshape(8, 8) % 5).float().contiguous().realize()
print((x @ x).sum().item(), type(Device["CPU"].renderer).__name__)
for item in (x @ x + 1).schedule():  # compile a kernel for other renderers too
  for renderer in (OpenCLRenderer(), PTXRenderer("sm_35"), PTXRenderer("sm_80", device="NV")):
    print(get_program(item.ast, renderer).name.startswith("r_"))
with Context(CPU_LLVM=1): print((x + 2).max().item(), type(Device["CPU"].renderer).__name__)
