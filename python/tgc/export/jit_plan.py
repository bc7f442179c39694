"""Records what the memory planner of a TinyJit does with the captured kernels, as a record of level "tensor".

The record's AST is a call of the list of kernels before the plan, its only stage the call of the list after the plan. The
arguments of the call are the buffers that the planner must leave in their places: the inputs of the jit, the buffers that
have memory already, and those of the tensors that the jit returns. All other buffers are memory between kernels. tinygrad
0.13 and later plan such a list (engine/jit.py: jit_lower); 0.12 plans a list of runners, which is not recorded.
"""
from __future__ import annotations

import sys
import types
from typing import Any

from tgc.export.graphs import graph_text
from tgc.export.hooks import call_on_import, program_lines, set_attribute
from tgc.export.kinds import JSON, Node


def captured_call() -> JSON:
  """Returns the local variables of the TinyJit call that captures: what the function returned, and the variables' values."""
  frame: types.FrameType | None = sys._getframe(1)
  while frame and not (frame.f_code.co_name == "__call__" and "ret" in frame.f_locals and "var_vals" in frame.f_locals): frame = frame.f_back
  return dict(frame.f_locals) if frame else {}


def buffers_below(node: Node) -> list[Node]: return [u for u in node.toposort() if u.op.name == "BUFFER"]


class PlanRecorder:
  def __init__(self, recorder: Any) -> None:
    self.recorder, self.plans = recorder, 0
    self.lowering: tuple[Node, list[Node]] | None = None  # the list that is being lowered, and its inputs

  def watch(self) -> None: call_on_import("tinygrad.engine.jit", self.install)

  def install(self, module: Any) -> None:
    lower, plan = getattr(module, "jit_lower", None), getattr(module, "memory_plan_rewrite", None)
    if lower is None or plan is None: return
    def watched_lower(linear: Node, held_bufs: Any, input_uops: Any, *args: Any, **kwargs: Any) -> Any:
      self.lowering = linear, list(input_uops)
      try: return lower(linear, held_bufs, input_uops, *args, **kwargs)
      finally: self.lowering = None
    def watched_plan(linear: Node, *args: Any, **kwargs: Any) -> Any:
      planned = plan(linear, *args, **kwargs)
      if self.lowering is not None and planned is not linear:
        with self.recorder.lock:
          try: self.write(*self.lowering, linear, planned)
          except Exception: self.recorder.report_failure("memory plan of a TinyJit")
      return planned
    set_attribute(module, "jit_lower", watched_lower)
    set_attribute(module, "memory_plan_rewrite", watched_plan)

  @staticmethod
  def kept(outputs: Any, inputs: list[Node], before: Node) -> list[Node]:
    """Returns the buffers of the list that the planner must not move, the inputs first."""
    from tinygrad.nn.state import get_parameters
    from tinygrad.uop import ops
    held = set(getattr(ops, "buffers", ())) | {b for t in get_parameters(outputs) for b in buffers_below(t.uop)}
    used = dict.fromkeys(b for call in before.src for a in call.src[1:] for b in buffers_below(a))
    return [*inputs, *(b for b in used if b in held and b not in inputs)]

  def write(self, captured: Node, inputs: list[Node], before: Node, planned: Node) -> None:
    from tinygrad.uop.ops import UOp
    if not len(captured.src) == len(before.src) == len(planned.src): return
    local = captured_call()
    kept = self.kept(local.get("ret"), inputs, before)
    params = {b: UOp.param(i, b.dtype, b.shape, b.device) for i, b in enumerate(kept)}
    def call_of(linear: Node) -> Node:
      """Returns a call of the list with the kernels as they were captured, since a release may compile them first."""
      calls = [call.replace(src=(kernel.src[0], *(a.substitute(params) for a in call.src[1:])))
               for kernel, call in zip(captured.src, linear.src)]
      called: Node = linear.replace(src=tuple(calls)).call(*kept)
      return called
    first, last = call_of(before), call_of(planned)
    recorder = self.recorder
    name = f"{recorder.id_prefix()}.plan{self.plans}"
    self.plans += 1
    record: JSON = {"id": name, "what": "memory_plan_rewrite", "device": recorder.device_of(first), "nodes": len(first.toposort()),
                    "ast": graph_text(first, recorder.producer),
                    "stages": [{"name": "memory plan", "ir": graph_text(last, recorder.producer), "at": ["schedule/memory.py:20"]}]}
    if values := local.get("var_vals"): record["var_vals"] = dict(values)
    if callers := program_lines(): record["asked_by"] = callers
    record["kernels"] = recorder.list_of_kernels(last.src[0], {})
    recorder.write("tensor", record, recorder.own_settings())
