from tinygrad import Tensor

devices = ("CPU:1", "CPU:2")
x = Tensor.arange(32).reshape(8, 4).float().shard(devices, axis=0).realize()
w = Tensor.ones(4, 4).contiguous().shard(devices).realize()
y = x @ w
print(y.sum(0).tolist(), y.to("CPU").tolist()[3], (x * 2).sum().item())
print((Tensor.ones(6, device="CPU:3").contiguous().to("CPU") + 1).tolist())
for other in ("NULL", "PYTHON"):  # devices that tgc has no renderer for
  z = (Tensor.ones(4, 4, device=other).contiguous() @ Tensor.ones(4, 4, device=other).contiguous()).realize()
  print(z.device, z.shape)
