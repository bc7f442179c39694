"""Finds tensors that the capture of a TinyJit makes but does not compute.

If the program computes such a tensor later, it reads inputs of the captured call and buffers between kernels. The
memory planner of the jit gives these buffers other places in memory, so that no kernel writes the buffers that the
tensor reads (tinygrad 0.12 and 0.13).
"""
from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from tgc.export.kinds import Function


class LateTensors:
  """The tensors that captures made but did not compute. Has weak references: a tensor or buffer that is kept alive
  changes what the program does."""

  def __init__(self, is_computed: Function) -> None:
    self.is_computed = is_computed
    self.known: weakref.WeakSet[Any] = weakref.WeakSet()
    self.moved: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()
    self.made: weakref.WeakKeyDictionary[Any, tuple[int, int, Any]] = weakref.WeakKeyDictionary()  # node: jit, call, inputs

  def pending_tensors(self) -> list[Any]:
    from tinygrad import tensor
    live = [t for ref in list(getattr(tensor, "all_tensors", ())) if (t := ref()) is not None]
    return [t.uop for t in live if not self.is_computed(t)]

  def begin_capture(self) -> None: self.known = weakref.WeakSet(self.pending_tensors())

  def end_capture(self, jit: int, call: int, inputs: dict[Any, int]) -> list[Any]:
    """Notes the tensors that the capture made and did not compute. Returns the buffers that they read and that the
    memory planner moved. `inputs`: buffer numbers by node."""
    from tinygrad import tensor
    # a buffer that a tensor itself has, such as that of Tensor.empty, is not moved
    own = {t.uop.base for ref in list(getattr(tensor, "all_tensors", ())) if (t := ref()) is not None}
    moved: dict[Any, None] = {}
    for node in self.pending_tensors():
      if node in self.known: continue
      nodes = list(node.toposort())
      moved |= dict.fromkeys(u for u in nodes if u.op.name == "BUFFER" and u not in own and u.realized is None)
      self.made[node] = jit, call, [inputs[u] for u in nodes if u in inputs]
    self.known = weakref.WeakSet()
    for u in moved: self.moved[u] = jit, call
    return list(moved)

  def read_by(self, tensors: Iterable[Any]) -> Iterator[tuple[int, int, list[Any], list[int]]]:
    """Yields jit, call, moved buffers and inputs of each tensor of a capture that `tensors` are computed from."""
    if not self.made: return
    for t in tensors:
      nodes = [] if self.is_computed(t) else list(t.uop.toposort())
      for node in nodes:
        if (made := self.made.get(node)) is not None:
          yield *made[:2], [u for u in nodes if self.moved.get(u) == made[:2]], made[2]
