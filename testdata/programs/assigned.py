import os, tempfile
from tinygrad import Tensor
from tinygrad.nn.state import safe_load, safe_save

x = Tensor.zeros(4, 5).contiguous().realize()
x[1:3, 2] = 7
x += 1
x.assign(x.T.contiguous().T * 2).realize()
print(x.tolist())
y = x[2].contiguous().realize()
y.assign(y + x[0]).realize()
state = os.path.join(tempfile.gettempdir(), f"tgc_assigned_{os.getuid()}")  # the records contain this name
safe_save({"x": x, "y": y}, state)
loaded = safe_load(state)
print((loaded["x"].to("CPU") + loaded["y"].to("CPU")).tolist()[0])
os.remove(state)
x[0] = Tensor.arange(5)
print(x.sum(1).tolist(), x.detach().contiguous_backward().max().item())
