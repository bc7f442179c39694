"""Runs small programs with the installed tinygrad, and collects the rewrites that its rules make."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tgc.export.hooks import replaced_attribute
from tgc.export.kinds import Node
from tgc.export.matches import rewrite_with_callback

MOST_PAIRS = 6
MOST_NODES = 60  # size_of() stops counting beyond this number


def sample_programs() -> Iterator[Any]:
  from tinygrad import Tensor, dtypes
  def floats(device: str, *shape: int) -> Any: return Tensor.ones(*shape, device=device).contiguous().realize()
  def ints(device: str, n: int, dtype: Any = dtypes.int) -> Any: return Tensor(list(range(n)), device=device, dtype=dtype).realize()
  yield lambda d: floats(d, 6, 4) + floats(d, 6, 4) * 2
  yield lambda d: floats(d, 5, 7).sum(1)
  yield lambda d: floats(d, 4, 64).max(1)
  yield lambda d: floats(d, 8, 8) @ floats(d, 8, 8)
  yield lambda d: floats(d, 3, 5).pad(((1, 2), (0, 3))) + 1
  yield lambda d: floats(d, 1, 1, 5, 5).conv2d(floats(d, 2, 1, 3, 3), padding=1)
  yield lambda d: floats(d, 9).cumsum().flip(0)
  yield lambda d: ints(d, 12).argmax()
  yield lambda d: floats(d, 7, 3)[ints(d, 4)]
  yield lambda d: ints(d, 17) // 3 + ints(d, 17) % 5
  yield lambda d: ints(d, 9, dtypes.uint8) // 7 * 3
  yield lambda d: ints(d, 9, dtypes.long) * 3 - ints(d, 9, dtypes.long) // 2
  yield lambda d: ((longs := ints(d, 9, dtypes.long)) > 4).where(longs << 2, longs ^ 5).cast(dtypes.float) + longs.cast(dtypes.int)
  yield lambda d: floats(d, 8).cast(dtypes.half).contiguous().bitcast(dtypes.short) + 1
  yield lambda d: (ints(d, 8, dtypes.short) + 1).bitcast(dtypes.half) * floats(d, 8).cast(dtypes.half).contiguous()
  yield lambda d: (floats(d, 10).cast(dtypes.half) + 1).cast(dtypes.int)
  yield lambda d: (floats(d, 10) < 0).where(float("-inf"), floats(d, 10)).softmax()
  yield lambda d: floats(d, 8).exp() + floats(d, 8).sin() + floats(d, 8).log() + floats(d, 8).sqrt()
  yield lambda d: floats(d, 6, 6)[1:5, ::2].reshape(12).cat(floats(d, 4))
  yield lambda d: Tensor.rand(12, device=d)
  yield lambda d: floats(d, 4, 4).tril().transpose().contiguous()
  yield lambda d: floats(d, 8).bitcast(dtypes.int) & 7
  yield lambda d: floats(d, 32, 32).mean()


@contextlib.contextmanager
def emulated_devices(names: str) -> Iterator[None]:
  from tinygrad import helpers
  if not hasattr(helpers, "EMULATED_DTYPES"):
    yield
    return
  with helpers.Context(EMULATED_DTYPES=names): yield


def run_programs() -> None:
  for device in ("CPU", "PYTHON"):
    for names in ("", "half,long") if device == "CPU" else ("",):
      for program in sample_programs():
        try:
          with emulated_devices(names): program(device).realize()
        except Exception: continue  # the device is not there, or this release lacks the operation


def size_of(node: Node) -> int:
  seen, stack = {node}, [node]
  while stack and len(seen) <= MOST_NODES:
    for source in stack.pop().src:
      if source not in seen:
        seen.add(source)
        stack.append(source)
  return len(seen)


def matches_of_programs(places: set[str]) -> dict[str, list[tuple[Node, Node]]]:
  from tinygrad.helpers import Context, ContextVar
  from tinygrad.uop.ops import PatternMatcher
  settings = {name: 0 for name in ("PARALLEL", "CACHELEVEL") if name in ContextVar._cache}
  out: dict[str, dict[tuple[Node, Node], int]] = {}
  def on_match(place: str, before: Node, after: Node, depth: int) -> None:
    if place not in places or not hasattr(before, "src"): return
    kept = out.setdefault(place, {})
    if (before, after) in kept: return
    size = size_of(before)
    if len(kept) >= MOST_PAIRS:
      largest = max(kept, key=lambda pair: kept[pair])
      if kept[largest] <= size: return
      del kept[largest]
    kept[before, after] = size
  with replaced_attribute(PatternMatcher, "rewrite", rewrite_with_callback(on_match)), Context(**settings): run_programs()
  return {place: list(pairs) for place, pairs in out.items()}
