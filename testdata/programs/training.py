from tinygrad import Tensor, nn

class Model:
  def __init__(self): self.first, self.norm, self.second = nn.Linear(8, 16), nn.BatchNorm(16), nn.Linear(16, 3)
  def __call__(self, x): return self.second(self.norm(self.first(x)).relu())

Tensor.manual_seed(1)
x, labels = Tensor.rand(12, 8), Tensor([0, 1, 2] * 4)
for optimizer in (nn.optim.SGD, nn.optim.Adam):
  model = Model()
  optim = optimizer(nn.state.get_parameters(model), lr=0.05)
  with Tensor.train():
    for step in range(2):
      loss = model(x).sparse_categorical_crossentropy(labels)
      optim.zero_grad()
      loss.backward()
      optim.step()
  print(optimizer.__name__, loss.item() < 2, model(x).argmax(1).shape)
