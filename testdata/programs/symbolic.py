from tinygrad import Tensor, TinyJit, Variable

x = (Tensor.arange(40).reshape(10, 4) % 9).float().contiguous().realize()
n = Variable("n", 1, 10)
for size in (3, 7): print(x.shrink(((0, n.bind(size)), None)).sum().item())

@TinyJit
def attend(keys, start): return (keys.shrink(((0, start), None)) @ Tensor.ones(4, 2)).sum(0).realize()
for size in range(2, 7): print(attend(x, n.bind(size)).tolist())

cache = Tensor.zeros(10, 4).contiguous().realize()
for position in range(3):
  p = Variable("p", 0, 9).bind(position)
  cache.shrink(((p, p + 1), None)).assign(x[position:position + 1]).realize()
print(cache[:4].tolist())
