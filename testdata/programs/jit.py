from tinygrad import Tensor, TinyJit

weights = Tensor.arange(64).reshape(8, 8).float().contiguous().realize()

@TinyJit
def step(x): return ((x @ weights).relu() / 100).realize(), x.sum().realize()

x = Tensor.ones(4, 8).contiguous().realize()
for i in range(5): y, total = step((x + i).realize())
print(y.tolist()[0][:3], total.item())

@TinyJit
def update(state): return state.assign(state * 2 + 1).realize()
state = Tensor.zeros(6).contiguous().realize()
for i in range(4): update(state)
print(state.tolist())
