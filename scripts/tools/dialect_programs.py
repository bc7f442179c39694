"""Runs about forty small programs one after the other; scripts/tools/dialects records them with tinygrad 0.11 to 0.14.

Reports a program that a release cannot run on standard error and continues.
"""
import sys

from tinygrad import Device, Tensor, TinyJit, Variable, dtypes, helpers, nn

R = lambda *shape: Tensor.rand(*shape).realize()
PROGRAMS = {}
def program(f): PROGRAMS[f.__name__] = f


def simple(**programs): PROGRAMS.update(programs)


simple(
    add=lambda: (R(7, 5) + R(7, 5)).realize(), mul_scalar=lambda: (R(33) * 3 - 1).realize(),
    relu=lambda: (R(4, 4) - 0.5).relu().realize(), gelu=lambda: R(16).gelu().realize(),
    sin_exp=lambda: (R(9).sin() + R(9).exp()).realize(), log_sqrt=lambda: (R(9) + 1).log().sqrt().realize(),
    where=lambda: (R(8, 8) < 0.5).where(R(8, 8), 0).realize(), int_div=lambda: ((Tensor.arange(40) // 7) % 3).realize(),
    shifts=lambda: ((Tensor.arange(16).cast(dtypes.uint32) << 3) >> 1).realize(),
    bitwise=lambda: ((Tensor.arange(16) & 5) ^ 3 | 8).realize(), sum_all=lambda: R(64, 64).sum().realize(),
    sum_axis=lambda: R(16, 32).sum(axis=1).realize(), max_axis=lambda: R(16, 32).max(axis=0).realize(),
    argmax=lambda: R(32).argmax().realize(), mean_var=lambda: R(8, 24).var(axis=1).realize(),
    matmul=lambda: (R(32, 32) @ R(32, 32)).realize(), batched=lambda: (R(3, 8, 16) @ R(3, 16, 4)).realize(),
    softmax=lambda: R(8, 16).softmax().realize(), layernorm=lambda: nn.LayerNorm(16)(R(4, 16)).realize(),
    conv=lambda: R(1, 4, 12, 12).conv2d(R(8, 4, 3, 3)).realize(), pool=lambda: R(1, 2, 8, 8).max_pool2d().realize(),
    pad_shrink=lambda: R(6, 6).pad(((1, 2), (0, 3))).shrink(((0, 5), (1, 6))).realize(),
    flip_permute=lambda: R(3, 4, 5).permute(2, 0, 1).flip(1).contiguous().realize(),
    cat_stack=lambda: Tensor.stack(R(4), R(4)).cat(R(2, 4)).realize(), gather=lambda: R(10, 4)[Tensor([1, 3, 5])].realize(),
    cumsum=lambda: R(20).cumsum().realize(), sort_like=lambda: R(8).sort()[0].realize(),
    half=lambda: (R(16).half() @ R(16, 8).half()).float().realize(), double=lambda: (R(8).double() * 2).realize(),
    bitcast=lambda: R(8).bitcast(dtypes.int32).realize(), casts=lambda: (R(8) * 100).cast(dtypes.uint8).cast(dtypes.bool).realize(),
    bfloat=lambda: R(8).cast(dtypes.bfloat16).float().realize(), random=lambda: Tensor.randn(12).realize(),
    dropout_free=lambda: Tensor.randint(6, high=9).realize(), one_hot=lambda: Tensor([1, 0, 2]).one_hot(3).realize(),
    attention=lambda: R(1, 2, 8, 4).scaled_dot_product_attention(R(1, 2, 8, 4), R(1, 2, 8, 4)).realize(),
)


@program
def assign():
  x = R(4, 4)
  x.assign(x + 1).realize()


@program
def batchnorm_training_step():
  with Tensor.train() if hasattr(Tensor, "train") else helpers.Context(TRAINING=1):
    layer, norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
    optimizer = nn.optim.SGD([layer.weight, layer.bias, norm.weight, norm.bias], lr=0.1)
    loss = norm(layer(R(2, 3, 6, 6))).relu().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@program
def symbolic_shape():
  n = Variable("n", 1, 8).bind(5)
  x = R(8, 4)
  (x[:n] if hasattr(x, "__getitem__") else x).sum().realize()


@program
def multi_device():
  devices = tuple(f"{Device.DEFAULT}:{i}" for i in range(2))
  (R(8, 4).shard(devices, axis=0) + 1).sum().realize()


@program
def jit():
  step = TinyJit(lambda x: (x * 2 + 1).realize())
  for _ in range(3): step(R(6))


if __name__ == "__main__":
  wanted = sys.argv[1:] or PROGRAMS
  for name in wanted:
    try: PROGRAMS[name]()
    except Exception as e: print(f"{name}: {type(e).__name__}: {str(e)[:120]}", file=sys.stderr)
  print(len(wanted), "programs")
