from tinygrad import Tensor, dtypes

Tensor.manual_seed(42)
print(Tensor.rand(5).numpy().round(4), Tensor.randn(2, 3).numpy().round(3))
print(Tensor.randint(6, low=-3, high=9).tolist())
print(Tensor.randint(4, low=0, high=100, dtype=dtypes.uint8).tolist())
print(Tensor.uniform(3, low=2, high=4).numpy().round(3), Tensor.normal(3, mean=1, std=2).numpy().round(3))
print(Tensor.randperm(6).tolist(), Tensor([0.1, 0.9]).multinomial(3, replacement=True).tolist())
with Tensor.train(): print(Tensor.ones(10).dropout(0.5).tolist())
for x in (Tensor.kaiming_uniform(2, 4), Tensor.rand(4, dtype=dtypes.half), Tensor.glorot_uniform(3, 3)):
  print(x.realize().shape)
