"""Records what a TinyJit makes of the kernels that it captures, and what its calls run, as records of level "tensor".

The AST of a record is a call of the captured list of kernels. Its arguments are the buffers that must keep their
places: the inputs of the jit, the buffers that have memory already, and those of the tensors that the jit returns. All
other buffers are memory between kernels. The stages are calls of later lists:

  captured calls       the lists of the capture as one list; the kernels that `prune` takes out of it come first
  inputs of the jit    with the input slots in place of the buffers
  memory plan          with the places that the memory planner chose
  calls to replay      as the jit keeps it
  replay               as a call of the jit runs it, with copies of inputs, in a record of its own (PREFIX.plan0.call3).
                       Only calls that do more than run the list with their arguments have one, and at most
                       MOST_REPLAYS kinds of them.

tinygrad 0.13 and later capture lists of calls (engine/jit.py: jit_lower); 0.12 captures runners, which are not recorded.
"""
from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

from tgc.export.arrays import bound_arguments, number_of_elements
from tgc.export.graphs import graph_text
from tgc.export.hooks import call_on_import, program_lines, set_attribute
from tgc.export.jit_kernels import buffer_node, input_tensors, is_tensor
from tgc.export.kinds import JSON, Node

PLACES = {"captured calls": "TinyJit.__call__", "inputs of the jit": "jit_lower", "memory plan": "memory_plan_rewrite",
          "calls to replay": "graph_split_rewrite", "replay": "CapturedJit.__call__"}
MOST_REPLAYS = 8


def captured_call() -> JSON:
  """Returns the local variables of the TinyJit call that captures; {} if no such call runs."""
  frame: types.FrameType | None = sys._getframe(1)
  while frame and not (frame.f_code.co_name == "__call__" and "ret" in frame.f_locals and "var_vals" in frame.f_locals): frame = frame.f_back
  return dict(frame.f_locals) if frame else {}


def buffers_below(node: Node) -> list[Node]: return [u for u in node.toposort() if u.op.name == "BUFFER"]


def line_of_function(module: Any, function: str) -> list[str]:
  """Returns the line of a function, as ["engine/jit.py:67"]; [] if it is not found."""
  found: Any = module
  for name in function.split("."): found = getattr(found, "_" + name, None) or getattr(found, name, None)
  code = getattr(inspect.unwrap(found), "__code__", None) if found is not None else None
  file = code.co_filename.split("/tinygrad/")[-1] if code else ""
  return [f"{file}:{code.co_firstlineno}"] if code and file.startswith(("engine/", "schedule/")) else []  # otherwise the function is a wrapper


def without_graphs(calls: Sequence[Node]) -> list[Node]:
  """Returns the calls, with the calls of a batch in place of the batch."""
  out: list[Node] = []
  for call in calls:
    callee = call.src[0]
    out += without_graphs(callee.src[0].src) if callee.op.name == "CUSTOM_FUNCTION" and callee.arg == "graph" else [call]
  return out


def with_arguments(call: Node, other: dict[Node, Node]) -> Node:
  replaced: Node = call.replace(src=(call.src[0], *(a.substitute(other, walk=True) for a in call.src[1:])))
  return replaced


def new_buffer(like: Node) -> Node:
  from tinygrad.uop.ops import UOp
  made: Node = UOp.new_buffer(like.device, number_of_elements(like), like.dtype)
  return made


class JitPlan:

  def __init__(self, name: str, captured: list[Node], onetime: list[Node], inputs: list[Node], kept: list[Node]) -> None:
    self.name, self.captured, self.onetime, self.inputs, self.kept = name, captured, onetime, inputs, kept
    # by a call of the last list: the captured kernels that such calls run. Different kernels may be compiled to one
    # program.
    self.bodies: dict[Any, list[Node]] = {}
    self.kernels = {c.src[0] for c in captured}
    self.lists: list[tuple[str, list[Node]]] = []  # the list after each stage, with calls of the captured kernels
    self.slots: dict[str, int] = {}
    self.seen: set[Any] = set()

  def follow(self, calls: Sequence[Node], made: Sequence[Node]) -> None:
    """Records that tinygrad turned `calls` into the calls `made`, one by one."""
    if len(calls) != len(made): return
    kernels = self.with_kernels(calls)
    self.bodies = {}
    for call, known in zip(made, kernels):
      if known is not None: self.bodies.setdefault(call, []).append(known.src[0])

  def with_kernels(self, calls: Sequence[Node]) -> list[Node | None]:
    """Returns the calls with the kernels as they were captured, since a release may compile them first; None if
    unknown.
    """
    used: dict[Any, int] = {}
    out: list[Node | None] = []
    for call in calls:
      bodies = self.bodies.get(call) or ([call.src[0]] if call.src[0] in self.kernels or call.src[0].op.name == "COPY" else [])
      n = used[call] = used.get(call, -1) + 1
      out.append(call.replace(src=(bodies[min(n, len(bodies) - 1)], *call.src[1:])) if bodies else None)
    return out

  def add(self, stage: str, calls: Sequence[Node]) -> None:
    known = [c for c in self.with_kernels(calls) if c is not None]
    if len(known) == len(calls): self.lists.append((stage, known))

  def forget(self) -> None:
    """Replaces the input buffers of the capture, so that they can be freed."""
    other = {b: new_buffer(b) for b in self.inputs}
    self.captured = [with_arguments(c, other) for c in self.captured]
    self.inputs = [other[b] for b in self.inputs]
    self.kept = [other.get(b, b) for b in self.kept]
    self.lists = self.lists[-1:]


class JitPlanRecorder:
  def __init__(self, recorder: Any) -> None:
    self.recorder, self.plans = recorder, 0
    self.places: dict[str, list[str]] = {}
    self.captured: list[Node] = []
    self.onetime: list[Node] = []
    self.plan: JitPlan | None = None
    self.calls: list[tuple[Any, Any]] = []
    self.replayed: JitPlan | None = None
    self.copies: dict[Any, Any] | None = None  # by a replay's copy of an input: the input; None outside of replays

  def watch(self) -> None: call_on_import("tinygrad.engine.jit", self.install)

  def install(self, module: Any) -> None:
    if not all(hasattr(module, name) for name in ("jit_lower", "memory_plan_rewrite", "run_linear", "compile_linear")): return
    self.places = {stage: line_of_function(module, function) for stage, function in PLACES.items()}
    jit, captured_jit = getattr(module, "_TinyJit", None) or module.TinyJit, module.CapturedJit
    def watch(holder: Any, name: str, made: Any) -> None: set_attribute(holder, name, made(getattr(holder, name)))
    watch(jit, "__call__", self.watched_call)
    watch(jit, "add_linear", self.watched_add)
    watch(captured_jit, "__call__", self.watched_replay)
    watch(module, "jit_lower", self.watched_lower)
    watch(module, "memory_plan_rewrite", self.watched_plan)
    watch(module, "compile_linear", self.watched_compile)
    watch(module, "run_linear", self.watched_run)
    if hasattr(module, "prune_linear"): watch(module, "prune_linear", self.watched_prune)

  def run_guarded(self, work: Any, *args: Any) -> Any:
    with self.recorder.lock:
      try: return work(*args)
      except Exception: self.recorder.report_failure("calls of a TinyJit")

  def watched_call(self, function: Any) -> Any:
    def call(jit: Any, *args: Any, **kwargs: Any) -> Any:
      self.calls.append((args, kwargs))
      if jit.captured is None: self.captured, self.onetime = [], []
      try: return function(jit, *args, **kwargs)
      finally: self.calls.pop()
    return call

  def watched_add(self, function: Any) -> Any:
    def add(jit: Any, linear: Node, *args: Any) -> Any:
      self.captured += linear.src
      return function(jit, linear, *args)
    return add

  def watched_prune(self, function: Any) -> Any:
    def prune(linear: Node, *args: Any) -> Any:
      result = function(linear, *args)
      self.onetime = list(result[1].src)
      return result
    return prune

  def watched_lower(self, function: Any) -> Any:
    def lower(linear: Node, held_bufs: Any, input_uops: Any, *args: Any, **kwargs: Any) -> Any:
      self.plan = self.run_guarded(self.begin_plan, linear, list(input_uops))
      try: result = function(linear, held_bufs, input_uops, *args, **kwargs)
      except Exception:
        self.plan = None
        raise
      if self.plan is not None: self.run_guarded(self.end_plan, self.plan, result)
      return result
    return lower

  def watched_plan(self, function: Any) -> Any:
    def plan(linear: Node, *args: Any, **kwargs: Any) -> Any:
      result = function(linear, *args, **kwargs)
      if self.plan is not None: self.run_guarded(self.note_planned_calls, self.plan, linear.src, result.src)
      return result
    return plan

  def watched_compile(self, function: Any) -> Any:
    def compile(linear: Node, *args: Any, **kwargs: Any) -> Any:
      result = function(linear, *args, **kwargs)
      if self.plan is not None: self.run_guarded(self.plan.follow, linear.src, result.src)
      return result
    return compile

  def watched_replay(self, function: Any) -> Any:
    def replay(captured: Any, *args: Any, **kwargs: Any) -> Any:
      if self.plan is not None: captured.plan_of_tgc, self.plan = self.plan, None  # the plan lives as long as the captured calls
      self.copies, self.replayed = {}, getattr(captured, "plan_of_tgc", None)
      try: return function(captured, *args, **kwargs)
      finally: self.copies = None
    return replay

  def watched_run(self, function: Any) -> Any:
    def run(linear: Node, var_vals: Any = None, input_uops: Any = (), **kwargs: Any) -> Any:
      if self.copies is not None:
        if kwargs.get("jit"):
          if self.replayed is not None: self.run_guarded(self.record_replay, self.replayed, linear, dict(var_vals or {}), list(input_uops))
          self.copies = None
        else: self.copies |= {call.src[1]: call.src[2] for call in linear.src if call.src[0].op.name == "COPY"}
      return function(linear, var_vals, input_uops=input_uops, **kwargs)
    return run

  @staticmethod
  def note_planned_calls(plan: JitPlan, calls: Sequence[Node], made: Sequence[Node]) -> None:
    plan.add("inputs of the jit", calls)
    plan.follow(calls, made)
    plan.add("memory plan", made)

  def begin_plan(self, linear: Node, inputs: list[Node]) -> JitPlan:
    local = captured_call()
    name = f"{self.recorder.id_prefix()}.plan{self.plans}"
    self.plans += 1
    plan = JitPlan(name, self.captured, self.onetime, inputs, self.kept_buffers(local.get("ret"), inputs, self.captured))
    plan.add("captured calls", [*self.onetime, *linear.src])
    if self.calls:
      nodes = {t_name: buffer_node(t.uop) for t_name, t in input_tensors(*self.calls[-1], is_tensor)}
      plan.slots = {t_name: inputs.index(node) for t_name, node in nodes.items() if node in inputs}
    return plan

  @staticmethod
  def kept_buffers(outputs: Any, inputs: list[Node], calls: list[Node]) -> list[Node]:
    """Returns the buffers of the calls that the planner must not move, the inputs first."""
    from tinygrad.nn.state import get_parameters
    from tinygrad.uop import ops
    held = set(getattr(ops, "buffers", ())) | {b for t in get_parameters(outputs) for b in buffers_below(t.uop)}
    used = dict.fromkeys(b for call in calls for a in call.src[1:] for b in buffers_below(a))
    return [*inputs, *(b for b in used if b in held and b not in inputs)]

  def end_plan(self, plan: JitPlan, lowered: Node) -> None:
    plan.add("calls to replay", without_graphs(lowered.src))
    local = captured_call()
    self.write(plan, plan.name, plan.captured, plan.lists, dict(local.get("var_vals") or {}), {})
    plan.forget()

  def record_replay(self, plan: JitPlan, linear: Node, values: dict[str, int], passed: list[Node]) -> None:
    """Records a replay if it does more than run the list with its arguments in the inputs' slots."""
    from tinygrad.uop.ops import UOp
    if not self.calls or len(plan.seen) >= MOST_REPLAYS: return
    args, kwargs = self.calls[-1]
    given = list(plan.inputs)
    for name, tensor in input_tensors(args, kwargs, is_tensor):
      if name in plan.slots: given[plan.slots[name]] = buffer_node(tensor.uop)
    calls = [c for c in plan.with_kernels(without_graphs(linear.src)) if c is not None]
    if len(passed) != len(given) or len(calls) != len(without_graphs(linear.src)): return
    bound = bound_arguments([*args, *kwargs.values()])
    wrong = {name: value for name, value in values.items() if name in bound and bound[name] != value}
    own = {b: i for i, b in enumerate(plan.kept) if i >= len(given)}  # slots of the kept buffers that are no inputs
    aliases = {i: own[b] for i, b in enumerate(given) if b in own}
    copied = {i: self.copies[b] for i, b in enumerate(passed) if self.copies and b in self.copies}
    ways = ["copy" if i in copied and copied[i] is b else "same" if passed[i] is b else "other" for i, b in enumerate(given)]
    listed = [c.key for c in calls] == [c.key for c in plan.lists[-1][1]]
    kind = tuple(ways), tuple(aliases.items()), tuple(sorted(wrong)), listed
    if kind in plan.seen or (set(ways) <= {"same"} and not aliases and not wrong and listed): return
    plan.seen.add(kind)
    def slot_of(b: Node) -> Node:
      i = own.get(b, next((i for i, g in enumerate(given) if g is b), None))
      slot: Node = b if i is None else UOp.param(i, b.dtype, b.shape, b.device)
      return slot
    def param(i: int) -> Node:
      made: Node = UOp.param(i, given[i].dtype, given[i].shape, given[i].device)
      return made
    def copy(new: Node, old: Node) -> Node:
      call: Node = UOp.param(1, old.dtype, old.shape, old.device).copy_to_device(new.device).call(new, slot_of(old))
      return call
    # The meaning of the call: inputs have their contents from before the call. Inputs that are also buffers of the list
    # are copied first.
    new = {i: new_buffer(given[i]) for i in aliases}
    meant = [copy(new[i], given[i]) for i in new] + [with_arguments(c, {plan.inputs[i]: new[i] for i in new}) for c in plan.captured]
    stages = {param(i): passed[i] if i in copied else slot_of(passed[i]) for i in range(len(given))}
    run = [copy(passed[i], b) for i, b in copied.items()] + [with_arguments(c, stages) for c in calls]
    self.write(plan, f"{plan.name}.call{len(plan.seen)}", meant, [("replay", [*plan.onetime, *run])], values | {n: bound[n] for n in wrong}, wrong)

  def write(self, plan: JitPlan, name: str, meant: list[Node], lists: list[tuple[str, list[Node]]], values: dict[str, int],
            fixed: dict[str, int]) -> None:
    from tinygrad.uop.ops import Ops, UOp
    params = {b: UOp.param(i, b.dtype, b.shape, b.device) for i, b in enumerate(plan.kept)}
    void = plan.captured[0].dtype
    def call_of(calls: list[Node]) -> Node:
      called: Node = UOp(Ops.LINEAR, void, tuple(with_arguments(c, params) for c in calls)).call(*plan.kept)
      return called
    if not lists: return
    recorder = self.recorder
    stages: list[JSON] = []
    first = last = call_of(meant)
    for stage, calls in lists:
      graph = call_of(calls if stage in ("replay", "captured calls") else [*plan.onetime, *calls])
      json: JSON = {"name": stage, "same": True} if graph is last else {"name": stage, "ir": graph_text(graph, recorder.producer)}
      stages.append(json | {"at": self.places[stage]})
      last = graph
    if not any("ir" in s for s in stages): stages[-1] |= {"ir": graph_text(first, recorder.producer), "same": False}
    record: JSON = {"id": name, "what": "jit_lower", "device": recorder.device_of(first), "nodes": len(first.toposort()),
                    "ast": graph_text(first, recorder.producer), "stages": stages}
    if values: record["var_vals"] = values
    if callers := program_lines(): record["asked_by"] = callers
    record["kernels"] = recorder.list_of_kernels(last.src[0], {})
    for kernel in record["kernels"] if fixed else (): kernel["fixedvars"] = fixed
    recorder.write("tensor", record, recorder.own_settings())
