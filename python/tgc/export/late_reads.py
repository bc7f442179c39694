"""Finds values that read what an assignment stores, although the program computed them before the assignment.

An assignment to a part of a tensor changes the nodes of tensors that are not computed yet (in 0.14, tensor.py:
assign, "Embed View Assign"): `c = b.sum(); a[0:4].assign(x)` computes c from the new content if b shares a's buffer.
"""
from __future__ import annotations

import weakref
from typing import Any

from tgc.export.hooks import call_on_import, program_line, set_attribute
from tgc.export.kinds import JSON, Node

VIEWS = ("SHRINK", "RESHAPE", "PERMUTE", "EXPAND", "FLIP", "BITCAST", "DETACH", "AFTER", "STORE", "BUFFER", "PARAM", "MULTI", "UNSHARD", "CONTIGUOUS")


class LateReads:
  def __init__(self) -> None:
    self.changed: weakref.WeakKeyDictionary[Node, str] = weakref.WeakKeyDictionary()
    self.last: list[str] = []

  def watch(self) -> None: call_on_import("tinygrad.tensor", self.install)

  def install(self, module: Any) -> None:
    apply_map = getattr(module, "_apply_map_to_tensors", None)
    if apply_map is None: return
    def watched(applied_map: dict[Node, Node], *args: Any, **kwargs: Any) -> Any:
      if "Embed View Assign" not in (*args, *kwargs.values()): return apply_map(applied_map, *args, **kwargs)
      before = {id(t): (t, t.uop) for ref in list(module.all_tensors) if (t := ref()) is not None}
      result = apply_map(applied_map, *args, **kwargs)
      for tensor, node in before.values():
        if tensor.uop is not node and self.computes(node, applied_map): self.changed[tensor.uop] = program_line()
      return result
    set_attribute(module, "_apply_map_to_tensors", watched)

  @staticmethod
  def computes(node: Node, buffers: Any) -> bool:
    """Returns True if a node computes a value from one of the buffers, and is not a view of it."""
    while node.op.name in VIEWS and node not in buffers and node.src: node = node.src[0]
    return node not in buffers and any(u in buffers for u in node.toposort())

  def lines_of(self, sink: Node) -> list[str]:
    return sorted({self.changed[u] for u in sink.toposort() if u in self.changed}) if self.changed else []

  def metadata_of(self, sink: Node, is_first: bool) -> list[JSON]:
    """Returns the entries for a record's metadata. `is_first`: the graph is the program's; otherwise it is made from
    the last one.
    """
    if is_first: self.last = self.lines_of(sink)
    return [{"name": "late read", "caller": line} for line in self.last]
