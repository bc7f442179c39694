from tinygrad import Tensor, dtypes

x, y = Tensor.arange(12).reshape(3, 4), Tensor.arange(4) * 0.5 - 1
print((x + y).relu().tolist())
print(((x - 5) * y).sigmoid().sum().numpy().round(3))
print((x > 4).where(y.exp2(), y.sin()).sqrt().numpy().round(3)[0])
print(((x.cast(dtypes.uint) << 2) ^ (x.cast(dtypes.uint) & 6) | 1).tolist())
print((x // 3 + x % 5).maximum(2).tolist(), x.cast(dtypes.float).log().clip(0, 1).sum().item())
print((y.abs().pow(1.5) + y.tanh() + y.erf() + y.gelu()).numpy().round(3))
