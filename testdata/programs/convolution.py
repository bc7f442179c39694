from tinygrad import Tensor, nn

Tensor.manual_seed(3)
x = Tensor.rand(2, 3, 12, 12)
layer, norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm(8)
print(norm(layer(x)).relu().max_pool2d().shape)
print(layer(x).avg_pool2d(3).mean().numpy().round(4))
with Tensor.train(): print(norm(layer(x)).max_pool2d().sum().numpy().round(2))
print(nn.ConvTranspose2d(3, 4, 2, stride=2)(x).shape, x.conv2d(Tensor.rand(3, 1, 3, 3), groups=3, stride=2).shape)
print(x.interpolate((5, 5)).sum().numpy().round(3))
print(nn.Conv1d(3, 4, 3)(x[:, :, 0]).realize().shape)
