"""Reads what a TinyJit captured: its kernels, the buffers that they read and write, and the inputs in use.

Releases before 0.13 keep a list of runners; later releases keep a graph of calls.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tgc.export.kinds import JSON
from tgc.export.metadata import metadata_list
from tgc.export.records import program_facts


def without_color(name: str) -> str: return re.sub(r"\x1b\[[0-9;]*m", "", name)


def is_tensor(x: Any) -> bool: return type(x).__name__ == "Tensor" and hasattr(x, "uop")


def buffer_node(node: Any) -> Any:
  """Returns the node of the buffer that `node` is a view of. A tensor on several devices is a MULTI or UNSHARD of it.
  """
  base = node.base
  while base.op.name in ("MULTI", "UNSHARD") and len(base.src) > 0: base = base.src[0].base
  return base


def input_tensors(args: tuple[Any, ...], kwargs: JSON, is_tensor: Callable[[Any], bool]) -> list[Any]:
  """Returns (name, tensor) of the inputs of a jit, in the jit's order: arguments, then the tensors in containers."""
  named = [(str(i), t) for i, t in enumerate(args) if is_tensor(t)] + [(k, t) for k, t in sorted(kwargs.items()) if is_tensor(t)]
  for name, x in [*((str(i), a) for i, a in enumerate(args)), *kwargs.items()]:
    items = list(enumerate(x)) if isinstance(x, (list, tuple)) else list(x.items()) if isinstance(x, dict) else []
    named += [(f"{name}[{key!r}]", t) for key, t in items if is_tensor(t) and not any(t is known for _, known in named)]
  return named


class CapturedKernels:
  """`kernels` as the event of a capture holds them, and the slots of the inputs in use (`used`).

  `inputs`: the buffer number of each input. `number`: a function from the release's buffer object to its number.
  """

  def __init__(self, captured: Any, inputs: list[Any], number: Callable[[Any], int | None]) -> None:
    self.inputs, self.number = inputs, number
    self.used: set[int] = set()
    self.kernels: list[JSON] = []
    if hasattr(captured, "input_replace"): self.add_runners(captured)
    else: self.add_calls(captured._linear if hasattr(captured, "_linear") else captured.linear)

  def input(self, slot: int) -> Any:
    self.used.add(slot)
    return self.inputs[slot] if slot < len(self.inputs) else None

  def add(self, name: str, devices: list[str], reads: list[Any], writes: list[Any], metadata: Any) -> None:
    places = [m["caller"] for m in metadata or () if m.get("caller")]
    self.kernels.append({"name": without_color(name), "devices": devices, "reads": [b for b in reads if b is not None],
                         "writes": [b for b in writes if b is not None], **({"place": places[0]} if places else {})})

  def add_runners(self, captured: Any) -> None:
    # by the slot of a view: the slot of its input
    views = {len(self.inputs) + i: view[0] for i, view in enumerate(captured.extra_view_inputs)}
    for j, item in enumerate(captured.jit_cache):
      slots = {i: slot for (k, i), slot in captured.input_replace.items() if k == j}
      buffers = [self.input(views.get(slots[i], slots[i])) if i in slots else self.number(b) for i, b in enumerate(item.bufs)]
      program = getattr(item.prg, "p", None)
      devices = list(dict.fromkeys(b.device for b in item.bufs if b is not None)) or [item.prg.device]
      if program is not None:
        reads, writes = [buffers[i] for i in program.ins], [buffers[i] for i in program.outs]
        self.add(program.function_name, devices, reads, writes, metadata_list(item.metadata))
      elif type(item.prg).__name__ != "ViewOp":
        self.add("copy", devices, buffers[1:], buffers[:1], metadata_list(item.metadata))

  def add_calls(self, linear: Any) -> None:
    for call in linear.src:
      callee = call.src[0]
      if callee.op.name == "CUSTOM_FUNCTION" and callee.arg == "graph":
        self.add_calls(callee.src[0])
        continue
      buffers, devices = [], []
      for source in call.src[1:]:
        if source.op.name == "BIND" or getattr(source, "is_bound_var", False): continue
        param = next((u for u in source.toposort() if u.op.name == "PARAM"), None)  # set for an input or a view of one
        slot = None if param is None else getattr(param.arg, "slot", param.arg)
        buffers.append(self.input(slot) if isinstance(slot, int) and slot >= 0 else self.number(source))
        device = getattr(source, "device", None)
        devices += [device] if isinstance(device, str) else list(device or ())
      metadata = metadata_list(getattr(call.arg, "metadata", None))
      devices = list(dict.fromkeys(devices))
      if callee.op.name == "PROGRAM":
        facts = program_facts(callee)
        ins, outs = ([buffers[i] for i in which if i < len(buffers)] for which in (facts.ins, facts.outs))
        self.add(facts.function_name, devices, ins, outs, metadata)
      elif callee.op.name == "COPY": self.add("copy", devices, buffers[1:], buffers[:1], metadata)
