#!/usr/bin/env python3
"""Runs jitted programs for the test of `tgc lint` (scripts/tests/lint): correct ones, and ones with one mistake each.

  lint_programs.py correct|faulty
"""
import random, sys
from importlib.metadata import version
from tinygrad import Context, Device, Tensor, TinyJit, Variable, nn


def training(): return Tensor.train() if hasattr(Tensor, "train") else Context(TRAINING=1)  # gone since 0.14
def data(*shape): return Tensor.rand(*shape).realize()


def training_step():
  class Net:
    def __init__(self): self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)
    def __call__(self, x): return self.b(self.a(x).relu())
  net = Net()
  optimizer = nn.optim.SGD(nn.state.get_parameters(net), lr=0.1)
  @TinyJit
  def step(x, y):
    with training():
      optimizer.zero_grad()
      loss = net(x).sparse_categorical_crossentropy(y).backward()
      optimizer.step()
      return loss.realize()
  for _ in range(4): step(data(4, 8), Tensor([0, 1, 2, 3]).realize()).item()


def adam():
  model = nn.Linear(4, 4)
  optimizer = nn.optim.Adam([model.weight, model.bias], lr=0.01)
  @TinyJit
  def step(x):
    with training():
      optimizer.zero_grad()
      loss = model(x).square().mean().backward()
      optimizer.step()
      return loss.realize()
  for _ in range(5): step(data(2, 4)).item()


def inference():
  model = [nn.Linear(8, 8), Tensor.relu, nn.LayerNorm(8), nn.Linear(8, 2)]
  @TinyJit
  def forward(x): return x.sequential(model).softmax().realize()
  for _ in range(4): forward(data(3, 8)).numpy()


def kv_cache():
  class Attention:
    def __init__(self): self.cache = Tensor.zeros(16, 4).contiguous().realize()
    def __call__(self, x, at):
      self.cache[at:at + 1].assign(x).realize()
      return (self.cache[:at + 1] * x).sum().realize()
  attention = Attention()
  @TinyJit
  def token(x, at): return attention(x, at)
  at = Variable("at", 1, 15)
  for i in range(1, 6): token(data(1, 4), at.bind(i)).item()


def dropout():
  layer = nn.Linear(8, 8)
  @TinyJit
  def forward(x):
    with training(): return layer(x).dropout(0.5).realize()
  for _ in range(4): forward(data(2, 8)).numpy()


def symbolic_shapes():
  @TinyJit
  def total(x): return x.sum().realize()
  size, all_of_it = Variable("size", 1, 10), data(10, 3)
  for i in range(1, 6): total(all_of_it[:size.bind(i)]).item()


def assigned():
  count = Tensor([0]).contiguous().realize()
  @TinyJit
  def step(x):
    count.assign(count + x).realize()
    return (count * 2).realize()
  for i in range(5): step(Tensor([i]).realize()).item()


def random_numbers():
  @TinyJit
  def noisy(x): return (x + Tensor.rand(3)).realize()
  for _ in range(5): noisy(data(3)).numpy()


def image():
  conv, norm = nn.Conv2d(3, 4, 3), nn.BatchNorm(4)
  @TinyJit
  def features(x): return norm(conv(x)).relu().max_pool2d().realize()
  for _ in range(3): features(data(1, 3, 8, 8)).numpy()


def several_jits():
  @TinyJit
  def encode(x): return (x * 2).realize()
  @TinyJit
  def decode(x): return (x + 1).realize()
  for _ in range(4): decode(encode(data(4)).clone().realize()).numpy()


def two_networks():  # each step also adds gradients to the other network's weights, which are never read
  generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
  generator_optimizer, critic_optimizer = (nn.optim.Adam(nn.state.get_parameters(m)) for m in (generator, critic))
  @TinyJit
  def critic_step(real):
    with training():
      critic_optimizer.zero_grad()
      loss = (critic(generator(Tensor.rand(2, 4))) - critic(real)).mean().backward()
      critic_optimizer.step()
      return loss.realize()
  @TinyJit
  def generator_step():
    with training():
      generator_optimizer.zero_grad()
      loss = critic(generator(Tensor.rand(2, 4))).mean().neg().backward()
      generator_optimizer.step()
      return loss.realize()
  for _ in range(5): critic_step(data(2, 4)).item(), generator_step().item()


def last_one_kept():  # each replay computes `hidden` again, except in 0.13, which gives its buffer to another tensor
  kept = {"hidden": data(2)}
  @TinyJit
  def forward(x):
    kept["hidden"] = (x * 2).realize()
    return (kept["hidden"] + 1).realize()
  for _ in range(4):
    forward(data(2)).numpy()
    kept["hidden"].numpy()


def list_outside():  # one list grows, but the function does not iterate over it
  layers, seen = [nn.Linear(2, 2), Tensor.relu, nn.Linear(2, 2)], []
  @TinyJit
  def forward(x):
    if seen is None: return x
    return x.sequential(layers).realize()
  for _ in range(4): seen.append(forward(data(1, 2)).clone().realize())


CORRECT = [training_step, adam, inference, kv_cache, dropout, symbolic_shapes, assigned, random_numbers, image, several_jits,
         two_networks, list_outside, *([] if version("tinygrad").startswith("0.13.") else [last_one_kept])]


def running_statistics_lost():  # the function assigns the statistics but never computes them
  norm, weight = nn.BatchNorm(4), data(4, 4)
  @TinyJit
  def step(x):
    with training(): return norm(x.reshape(2, 4, 1, 1)).reshape(2, 4).dot(weight).sum().realize()
  for _ in range(4): step(data(2, 4))


def result_overwritten():
  @TinyJit
  def total(x): return x.sum().realize()
  results = [total(data(3)) for _ in range(3)]
  for r in results: r.item()


def assigned_too_late():
  x = Tensor([0]).contiguous().realize()
  @TinyJit
  def double(): return (x * 2).realize()
  for i in range(4):
    x.assign(Tensor([i]))
    double().item()


def attribute_replaced():
  layer = nn.Linear(2, 2)
  @TinyJit
  def forward(x): return (x @ layer.weight).realize()
  for _ in range(4):
    forward(data(1, 2)).numpy()
    layer.weight = data(2, 2)


def entry_replaced():
  weights = {"w": data(3)}
  @TinyJit
  def forward(x): return (x * weights["w"]).realize()
  for i in range(4):
    if i == 3: weights["w"] = data(3)
    forward(data(3)).numpy()


class Grown:
  def __init__(self): self.layers = [nn.Linear(2, 2)]
  def __call__(self, x): return x.sequential(self.layers)


def layers_grow():
  model = Grown()
  @TinyJit
  def forward(x): return model(x).realize()
  for i in range(4):
    if i == 3: model.layers.append(nn.Linear(2, 2))
    forward(data(1, 2)).numpy()


def nested_container():
  @TinyJit
  def add(a, more): return (a + more[0][0]).realize()
  for _ in range(4): add(data(2), [[data(2)]]).numpy()


def python_number():
  @TinyJit
  def noisy(x): return (x + noise).realize()
  for _ in range(4):
    noise = random.random()
    noisy(data(2)).numpy()


def learning_rate():
  weight = data(2)
  @TinyJit
  def step(x, rate):
    weight.assign(weight - x * rate).realize()
    return weight.sum().realize()
  for i in range(4): step(data(2), 0.1 / (i + 1)).item()


def branch():
  class Model:
    training = True
    def __call__(self, x): return x * 2 if self.training else x * 3
  model = Model()
  @TinyJit
  def forward(x): return (model(x) if model.training else x).realize()
  for i in range(4):
    model.training = i < 2
    forward(data(2)).numpy()


def input_never_read():
  @TinyJit
  def double(x, mask): return (x * 2).realize()
  for _ in range(4): double(data(2), data(2)).numpy()


def batch_broken():
  @TinyJit
  def there_and_back(x):
    here = (x + 1).realize()
    there = (here.to("PYTHON").realize() + 1).realize()
    return (there.to(Device.DEFAULT) * 3 + here).realize()
  for _ in range(4): there_and_back(data(2)).numpy()


def shape_changed():
  @TinyJit
  def double(x): return (x * 2).realize()
  try:
    for size in (4, 4, 5): double(data(size)).numpy()
  except Exception: pass


class RunningMean:
  def __init__(self): self.mean = Tensor.zeros(4).contiguous().realize()
  def __call__(self, x):
    self.mean = (self.mean * 0.9 + x.mean(0) * 0.1).realize()
    return x - self.mean


def attribute_rebound():  # by a method that the function calls
  norm = RunningMean()
  @TinyJit
  def step(x): return norm(x).realize()
  for _ in range(4): step(data(8, 4)).numpy()


def attribute_rebound_lazily():
  norm = RunningMean()
  @TinyJit
  def step(x):
    norm.mean = norm.mean * 0.9 + x.mean(0) * 0.1
    return (x * 2).realize()
  for _ in range(4): step(data(8, 4)).numpy()


def entry_rebound():
  state = {"ema": data(4)}
  @TinyJit
  def step(x):
    state["ema"] = (state["ema"] * 0.9 + x.mean(0) * 0.1).realize()
    return (x * 2).realize()
  for _ in range(4): step(data(8, 4)).numpy()


def tensors_collected():
  losses = []
  @TinyJit
  def step(x):
    losses.append((x * 2).sum().realize())
    return (x + 1).realize()
  for _ in range(4): step(data(4)).numpy()


def gradients_lost():  # the function never computes the gradients that backward() adds
  model = nn.Linear(4, 4)
  optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=0.1)
  @TinyJit
  def collect(x): return model(x).square().mean().backward().realize()
  with training():
    for _ in range(4): collect(data(2, 4)).item()
    optimizer.step()


FAULTY = {  # program: the finding of tgc lint
  running_statistics_lost: "lost-assign", result_overwritten: "overwritten-output", assigned_too_late: "unrealized-tensor",
  attribute_replaced: "frozen-tensor", nested_container: "frozen-tensor", python_number: "frozen-value",
  learning_rate: "frozen-value", branch: "frozen-value", input_never_read: "unread-input", batch_broken: "broken-batch",
  shape_changed: "refused", attribute_rebound: "side-effect", attribute_rebound_lazily: "side-effect",
  entry_rebound: "side-effect", tensors_collected: "side-effect", gradients_lost: "lost-assign",
  entry_replaced: "frozen-tensor", layers_grow: "frozen-list",
}

if __name__ == "__main__":
  for program in CORRECT if sys.argv[1] == "correct" else FAULTY: program()
