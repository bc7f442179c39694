from tinygrad import Tensor

x = (Tensor.arange(6 * 5 * 4).reshape(6, 5, 4) % 7).float()
print(x.sum().item(), x.sum(1).max().item(), x.mean((0, 2)).numpy().round(3))
print(x.argmax(-1)[0].tolist(), x.var(0).sum().item(), x.std().item())
print(x.softmax(-1).numpy().round(3)[0, 0], x.logsumexp(1)[0].numpy().round(3))
print(x[0].cumsum(0).tolist()[-1], x[0].prod(1).tolist(), (x > 3).any(0).all().item())
print(Tensor.ones(300, 300).contiguous().sum().item())  # large enough to be split
values, order = x[1, 2].sort()
print(values.tolist(), order.tolist())
