#!/usr/bin/env python3
"""Runs small tinygrad programs that store, slice and schedule (for scripts/tests/schedule_faults)."""
from tinygrad import Tensor, TinyJit, dtypes


def data(*shape: int) -> Tensor:
  size = 1
  for s in shape: size *= s
  return Tensor([float((i * 7) % 11) - 3 for i in range(size)]).reshape(*shape).contiguous().realize()


def reads_before_stores():
  w = data(4)
  old = w + 100
  w.assign(w * 3)
  w.assign(w - 1)
  Tensor.realize(w, old)


def reads_after_store():
  a, b = data(4), data(4)
  a.assign(b * 2)
  c = (a + 1).contiguous()
  (c.sum() + a).realize()


def several_readers():
  a, b = data(8), data(8)
  x, y = a.sum(), (a * b).max()
  a.assign(a + b)
  Tensor.realize(a, x, y)


def stores_to_parts():
  a = data(6, 4)
  a[1:3].assign(a[3:5] + 1)
  a[0].assign(a[1] * 2)
  a.realize()
  (a + 0.5).contiguous().realize()


def stores_transposed():
  a, b = data(4, 4), data(4, 4)
  a.assign(a.T + b).realize()


def many_kernels():
  a = data(16, 16)
  x = (a.sum(0, keepdim=True) - a).contiguous()
  y = (x.max(1, keepdim=True) * x).contiguous()
  z = (y.sum(0) + x.sum(1)).contiguous()
  (z.sum() + y.T.contiguous()[3] + x[2]).realize()


def moves():
  a = data(4, 6)
  (a.permute(1, 0) * 2).contiguous().realize()
  (a.flip(1) - a).contiguous().realize()
  (a[1:3, 2:5] * 3).contiguous().realize()
  (a.pad(((1, 2), (0, 3))) + 1).contiguous().realize()
  (a.reshape(3, 8) * data(3, 8)).contiguous().realize()
  (a.reshape(8, 3).permute(1, 0).reshape(4, 6) + a).contiguous().realize()
  Tensor.stack(a[0], a[1] * 2, a[2] + 1).contiguous().realize()
  (a[2:4].contiguous() + 1).realize()
  three = data(3, 4, 5)
  (three.permute(2, 0, 1) * 2).contiguous().realize()
  ((three + 1).permute(0, 2, 1).reshape(15, 4) * 2).sum(0).realize()


def planned_buffers():
  a = data(16, 16)
  def mix(x, y): return (x.sum(0, keepdim=True) * y + x.T).contiguous()
  mix(mix(mix(a, a + 1), mix(a + 2, a)), mix(mix(a, a * 2), a)).realize()


def jitted():
  @TinyJit
  def step(x, w):
    h = (x.sum(0, keepdim=True) * w + x.T).contiguous()
    g = (h.sum(1, keepdim=True) - h).contiguous()
    k = (g.T + h.sum(0)).contiguous()
    return (k * h).sum(0).contiguous().realize(), g.max().realize()
  w = data(16, 16)
  for i in range(3): step((data(16, 16) + i).contiguous().realize(), w)


def bitcasts():
  a = Tensor([0x01020304, 0x7F8091A2, 5, 6], dtype=dtypes.uint32).contiguous().realize()
  (a + 1).bitcast(dtypes.uint8).contiguous().realize()
  (a + 1).bitcast(dtypes.uint16).contiguous().realize()
  (data(4) + 1).bitcast(dtypes.uint32).contiguous().realize()


if __name__ == "__main__":
  for program in (reads_before_stores, reads_after_store, several_readers, stores_to_parts, stores_transposed, many_kernels, planned_buffers, moves,
                  bitcasts, jitted):
    try: program()
    except Exception as e: print(program.__name__, "raised", repr(e)[:200])  # a fault may make tinygrad refuse a program
