"""Finds assignments of the program that reach no schedule, and so have no effect.

A store counts as scheduled if a later schedule has a store to the same buffer, because rewrites may make new nodes of
the store. A line counts as lost only if none of its stores reached a schedule: the last pass of a loop may end before
its stores are needed.
"""
from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

STORES = ("ASSIGN", "STORE")


def buffer_below(node: Any) -> Any:
  """Returns the node of the buffer of which `node` is a view; None if there is none, or if the buffer has no memory."""
  base = node.base
  while base.op.name in ("AFTER", "ASSIGN") or (base.op.name not in ("BUFFER", "MSTACK") and base.src and base.op.name in ("SHRINK", "RESHAPE")):
    base = base.src[0].base
  return base if base.op.name == "BUFFER" and getattr(base, "realized", None) is not None else None


class UnscheduledStores:
  def __init__(self) -> None:
    self.waiting: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()  # buffer: lines with unscheduled stores
    self.made: dict[str, int] = {}
    self.scheduled: set[str] = set()

  def add(self, target: Any, place: str) -> None:
    """Records a store. `target`: the node that was assigned to, from before the assignment."""
    if place in self.scheduled or (buffer := buffer_below(target)) is None: return
    self.waiting.setdefault(buffer, set()).add(place)
    self.made[place] = self.made.get(place, 0) + 1

  def schedule(self, roots: Iterable[Any]) -> None:
    if not self.waiting: return
    for node in {u for root in roots for u in root.toposort() if u.op.name in STORES}:
      if (buffer := buffer_below(node.src[0])) is not None: self.scheduled |= self.waiting.pop(buffer, set())

  def lost_stores(self) -> list[tuple[str, int]]:
    return [(place, n) for place, n in self.made.items() if place not in self.scheduled]
