"""`find_nan` names the line (`# made here`), the method and the operation of eleven programs that make a NaN."""
from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import tgc
from conftest import RELEASE

since_0_13 = not RELEASE.startswith("0.12")
pytestmark = pytest.mark.skipif(RELEASE.startswith("0.11"), reason="needs tinygrad 0.12")


def zero_by_zero() -> None:
  from tinygrad import Tensor
  a, b = Tensor([1., 0, 3]).realize(), Tensor([2., 0, 4]).realize()
  c = (a + 1).contiguous().realize()
  q = a / b  # made here
  (q + c).realize()


def infinity_less_infinity() -> None:
  from tinygrad import Tensor
  big = (Tensor([1., 2e38, 3]).realize() * 4).realize()
  total = big.sum()
  m = big - total  # made here
  (m * 0.5 + 1).realize()


def log_of_negative() -> None:
  from tinygrad import Tensor
  p, t = Tensor([[0.5, 0.25], [0.125, 0.75]]).realize(), Tensor([[1., 0], [0, 1]]).realize()
  logs = (p - t).log()  # made here
  (t * logs).sum().realize()


def sqrt_of_negative() -> None:
  from tinygrad import Tensor
  x = Tensor([3., 1, 2]).realize()
  mean = x.mean()
  var = (x * x).mean() - mean * mean * 1.5
  std = var.sqrt()  # made here
  ((x - mean) * std).realize()


def overflow_of_half() -> None:
  from tinygrad import Tensor, dtypes
  x = Tensor([300., 2, 1], dtype=dtypes.half).realize()
  s = (x * x).realize()
  n = s / s.max()  # made here
  n.realize()


def overflow_of_exp() -> None:
  from tinygrad import Tensor
  e = Tensor([[100., 1, 2], [3, 4, 5]]).realize().exp()
  soft = e / e.sum(axis=1, keepdim=True)  # made here
  soft.realize()


def uninitialized_memory() -> None:
  from tinygrad import Tensor
  x = Tensor.empty(4)
  (x - x.abs() - 1).sqrt().realize()  # a NaN for any content of the memory is not reported
  z = (Tensor([1., 2, -4, 3]).realize() * 2).sqrt()  # made here
  z.realize()


def normalization() -> None:
  from tinygrad import Tensor
  def norm(x: Tensor) -> Tensor:
    centred = x - x.mean(axis=1, keepdim=True)
    scale = (centred * centred).mean(axis=1, keepdim=True).sqrt()
    return centred / scale  # made here
  x, w = Tensor([[1., 2, 3, 4], [5, 5, 5, 5]]).realize(), Tensor([2., 1, 1, 1]).realize()
  (norm(x) * w).realize()


def third_call_of_jit() -> None:
  from tinygrad import Tensor, TinyJit
  def step(x: Tensor, rate: Tensor) -> Tensor:
    y = (x * rate).rsqrt()  # made here
    return (y + 1).sum().realize()
  jitted = TinyJit(step)
  for i in range(4):
    jitted(Tensor([4., 1, 9]).contiguous().realize(), Tensor([1. if i != 2 else -1.]).contiguous().realize())


def masked_by_where() -> None:
  from tinygrad import Tensor
  x = Tensor([1., -1, 4]).realize()
  safe = (x > 0).where(x.sqrt(), 0).realize()  # a NaN that the program does not use
  y = (safe * 2 - 2).log2()  # made here
  y.realize()


def masked_by_later_kernel() -> None:
  from tinygrad import Tensor
  x = Tensor([1., -1, 4]).realize()
  root = x.sqrt().realize()
  safe = (x > 0).where(root, 0).realize()  # reads a NaN and stores none
  y = (safe * 3 - 2).log2()  # made here
  y.realize()


@pytest.mark.parametrize(("program", "method", "operation"), [
  (zero_by_zero, "__truediv__", "0*inf = nan"), (infinity_less_infinity, "__sub__", "inf+(-inf) = nan"),
  (log_of_negative, "log", "log2(-0.5) = nan"), (sqrt_of_negative, "sqrt", "sqrt(-1.33333) = nan"),
  (overflow_of_half, "__truediv__", "inf*0 = nan"), (overflow_of_exp, "__truediv__", "inf*0 = nan"),
  (uninitialized_memory, "sqrt", "sqrt(-8) = nan"), (normalization, "__truediv__", "0*inf = nan"),
  (third_call_of_jit, "rsqrt", "sqrt(-4) = nan"), (masked_by_where, "log2", "log2(-2) = nan"),
  pytest.param(masked_by_later_kernel, "log2", "log2(-2) = nan", marks=pytest.mark.skipif(not since_0_13, reason="0.12 has compiled one of its kernels before"))])
def test_nan_programs(program: Callable[[], None], method: str, operation: str) -> None:
  lines, first = inspect.getsourcelines(program)
  line = first + next(i for i, text in enumerate(lines) if text.endswith("# made here\n"))
  with tgc.record(watch_nan=True, rewrites=False) as made: program()
  found = tgc.find_nan(made)
  assert found is not None
  step = next(s for s in found.facts["steps"] if s["text"].startswith(operation))
  assert step["made_by"].startswith(f"{method} at test_nan.py:{line}"), found
  if program is masked_by_later_kernel:
    other, = found.others
    assert other.is_earlier and other.spread == "which no kernel that read it passed on" and other.repeat
  assert program is not third_call_of_jit or not since_0_13 or "call 3 of TinyJit step" in found.facts["call"]


def test_a_nan_is_masked_after_it_was_found() -> None:
  from tinygrad import Tensor
  with tgc.record(watch_nan=True, rewrites=False) as made:
    x = Tensor([1., -1, 4, 9, 16, 25, 36]).realize()
    root = x.sqrt().realize()
    (x > 0).where(root, 0).realize()
  found = tgc.find_nan(made)
  assert found is not None
  assert found.spread == "which no kernel that read it passed on"
