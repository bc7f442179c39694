"""Records the calls of a program's TinyJits for `tgc lint`: arguments, outer variables, kernels, results, side effects.

Each event is a record of level "jit". Buffers are numbered in the order in which they are first seen.

  {"event":"call",                        one call of a TinyJit
   "jit":0,"function":"step","place":"train.py:12",        the TinyJit: number, function, line of its definition
   "call":1,"phase":"warmup"|"capture"|"replay",           number of the call, and what TinyJit did in it
   "from":"train.py:30",                                   line of the program that calls
   "var_vals":{"pos":3},                                   values of the variables that the arguments bind
   "args":{"x":{"kind":"tensor","buffer":3,"shape":[4],"of":[0,1]}},  arguments; of: jit and call that returned the tensor
   "sees":{"mult":"2","model.training":"True","w":"buffer 5"},  outer variables that the function uses;
                                                           "unrealized 6": a tensor that is not computed yet;
                                                           "list of 3": a list whose tensors the kernels read
   "changes":["count"],                                    outer variables that the function changed
   "reads":[{"place":"train.py:14"}],                      lines that read a tensor's value inside the function
   "rebinds":[{"name":"bn.mean","was":0,"is":6,"computed":true}],  variables with another tensor or buffer after a capture
   "pending":[{"place":"train.py:15"}],                    assignments to tensors that were not computed by the end
   "kernels":[{"name":"E_4","devices":["CPU"],"reads":[3],"writes":[7],"place":"train.py:13"}],  kernels of a capture
   "unread":["y"],                                         inputs that no captured kernel uses
   "moved":[9],                                            buffers that the memory planner moved, though a tensor that was made
                                                           in the capture and is not computed yet reads them
   "outputs":[{"buffer":7,"shape":[4]}],"error":"JitError: ..."}       what the call returned or raised
  {"event":"lost","jit":0,"call":1,"place":"train.py:13","from":"train.py:19"}
                                          the program reads a gradient that backward() added to in a capture, but whose
                                          addition the capture did not compute
  {"event":"assign","buffer":5,"place":"train.py:18"}      outside all jits, an assignment to a tensor that a jit uses
  {"event":"late","jit":0,"call":1,"moved":[9],"inputs":[3],"place":"train.py:21"}
                                          outside all jits, the program computes a tensor that was made in a capture: the moved
                                          buffers and the inputs of the capture that it reads
  {"event":"unscheduled","place":"train.py:22","count":3}  outside all jits, assignments at this line, of which none reached a schedule
  {"event":"read","jit":0,"call":1,"buffer":7,"place":"train.py:20"}  outside all jits, a read of a tensor that a call returned
"""
from __future__ import annotations

import atexit
import inspect
import itertools
import os
import sys
import weakref
from typing import Any

from tgc.export.arrays import bound_arguments
from tgc.export.golden import print_message
from tgc.export.hooks import call_on_import, program_line, set_attribute
from tgc.export.jit_kernels import CapturedKernels, buffer_node, input_tensors, is_tensor
from tgc.export.jit_lazy import LateTensors
from tgc.export.jit_stores import UnscheduledStores
from tgc.export.kinds import JSON, Function
from tgc.export.reachable import ReachableTensors

SIMPLE_TYPES = (int, float, bool, str, bytes, type(None))


def shortened(text: str) -> str: return text if len(text) <= 200 else text[:200] + "..."


def is_simple(x: Any, depth: int = 0) -> bool:
  if isinstance(x, SIMPLE_TYPES): return True
  if depth == 3: return False
  if isinstance(x, dict): return len(x) <= 64 and all(is_simple(v, depth + 1) for v in x.values())
  return isinstance(x, (list, tuple, set)) and len(x) <= 64 and all(is_simple(v, depth + 1) for v in x)


class JitState:
  def __init__(self, jit: Any, number: int) -> None:
    self.jit, self.number, self.calls = jit, number, 0
    self.lists: set[str] = set()


class JitRecorder:
  def __init__(self, recorder: Any) -> None:
    self.recorder, self.numbers = recorder, itertools.count()
    self.buffers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    self.objects: dict[int, tuple[Any, int]] = {}
    self.jits: dict[int, JitState] = {}
    self.returned: dict[int, tuple[Any, int, int]] = {}     # id: (weak reference, jit, call) of a tensor that a call returned
    self.calls: list[JSON] = []
    self.assigned: set[tuple[str, int]] = set()  # (line, buffer) of assignments outside all jits
    self.late = LateTensors(self.is_computed)
    self.stores = UnscheduledStores()
    self.has_plans = True  # false: a message must still say that jit_plan.py does not record the jits of this release
    self.lost: dict[int, tuple[Any, JSON, str]] = {}         # id: (gradient, event, line) of gradients whose addition in a capture was not computed

  def watch(self) -> None: call_on_import("tinygrad.engine.jit", self.install)

  def install(self, module: Any) -> None:
    from tinygrad.tensor import Tensor
    kind = getattr(module, "_TinyJit", None) or module.TinyJit
    self.has_plans = hasattr(module, "jit_lower")
    call, buffer, assign, realize = kind.__call__, Tensor._buffer, Tensor.assign, Tensor.realize
    def watched_call(jit: Any, *args: Any, **kwargs: Any) -> Any: return self.record_call(call, jit, args, kwargs)
    def watched_buffer(tensor: Any) -> Any:
      self.record_read(tensor)
      return buffer(tensor)
    def watched_realize(tensor: Any, *args: Any, **kwargs: Any) -> Any:
      if not self.calls: self.record_late([tensor, *args])
      return realize(tensor, *args, **kwargs)
    def watched_assign(tensor: Any, *args: Any, **kwargs: Any) -> Any:
      buffer, target = self.known_buffer(tensor), tensor.uop
      result = assign(tensor, *args, **kwargs)
      if not self.calls:
        self.record_assign(buffer)
        if not self.is_computed(tensor): self.stores.add(target, program_line())
      # backward() adds to every gradient, including those that the program never reads
      else: self.calls[-1]["grads" if sys._getframe(1).f_code.co_name == "backward" else "assigned"].append((tensor, program_line()))
      return result
    slot: Any = getattr(Tensor, "grad", None)
    if not hasattr(slot, "__set__"): return
    def watched_grad(tensor: Any) -> Any:
      grad = slot.__get__(tensor)
      if id(grad) in self.lost and sys._getframe(1).f_code.co_name != "backward": self.record_lost_grad(grad)
      return grad
    set_attribute(Tensor, "grad", property(watched_grad, slot.__set__))
    set_attribute(kind, "__call__", watched_call)
    set_attribute(Tensor, "_buffer", watched_buffer)
    scheduler = "linear_with_vars" if hasattr(Tensor, "linear_with_vars") else "schedule_with_vars"
    schedule = getattr(Tensor, scheduler)
    def watched_schedule(tensor: Any, *args: Any, **kwargs: Any) -> Any:
      self.stores.schedule([t.uop for t in (tensor, *args)])
      return schedule(tensor, *args, **kwargs)
    set_attribute(Tensor, scheduler, watched_schedule)
    atexit.register(self.record_unscheduled)
    set_attribute(Tensor, "assign", watched_assign)
    set_attribute(Tensor, "realize", watched_realize)

  def buffer_number(self, buffer: Any) -> int:
    if (number := self.buffers.get(buffer)) is None: number = self.buffers[buffer] = next(self.numbers)
    return number

  def buffer_of(self, tensor: Any) -> int: return self.buffer_of_node(buffer_node(tensor.uop))

  def buffer_of_node(self, base: Any) -> int:
    buffer = getattr(base, "realized", None)
    return self.buffer_number(base if buffer is None else buffer)

  def known_buffer(self, tensor: Any) -> Any:
    """Returns the number of a tensor's buffer; None if no jit has used the buffer."""
    try: return self.buffers.get(getattr(buffer_node(tensor.uop), "realized", None))
    except TypeError: return None

  def object_number(self, x: Any) -> int:
    """Returns a number that identifies an object while it lives; -1 if it cannot be referenced weakly."""
    known = self.objects.get(id(x))
    if known is not None and known[0]() is x: return known[1]
    try: self.objects[id(x)] = weakref.ref(x), (number := next(self.numbers))
    except TypeError: return -1
    return number

  def returning_call(self, tensor: Any) -> Any:
    known = self.returned.get(id(tensor))
    return list(known[1:]) if known is not None and known[0]() is tensor else None

  def argument_json(self, x: Any) -> Any:
    if is_tensor(x):
      view = x.uop is not x.uop.base
      json = {"kind": "tensor", "buffer": self.buffer_of(x), "shape": [s if isinstance(s, int) else str(s) for s in x.shape],
              "dtype": str(x.dtype), "view": view}
      source = self.returning_call(x)
      return json | ({"of": source} if source else {})
    if is_simple(x): return {"kind": "value", "value": shortened(repr(x))}
    if isinstance(x, (list, tuple)): return {"kind": "several", "items": [self.argument_json(i) for i in x[:64]]}
    if isinstance(x, dict): return {"kind": "several", "items": [self.argument_json(i) for i in list(x.values())[:64]]}
    if hasattr(x, "op") and hasattr(x, "src"): return {"kind": "variable"}
    tensors = [k for k, v in getattr(x, "__dict__", {}).items() if is_tensor(v)]
    return {"kind": "object", "type": type(x).__name__, "object": self.object_number(x), "tensors": tensors}

  @staticmethod
  def named_args(jit: Any, args: tuple[Any, ...], kwargs: JSON) -> JSON:
    try: return dict(inspect.signature(jit.fxn).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError): return {**{str(i): a for i, a in enumerate(args)}, **kwargs}

  def outer_values(self, jit: Any, named: JSON) -> JSON:
    """Returns the values of the outer variables that the function uses, as text: closure variables, globals, tensors in
    containers, simple attributes and tensors of objects."""
    function: Any = inspect.unwrap(jit.fxn) if jit.fxn is not None else None
    code = getattr(function, "__code__", None)
    if code is None: return {}
    seen = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
      try: seen[name] = cell.cell_contents
      except ValueError: pass
    for name in code.co_names:
      if name in function.__globals__: seen.setdefault(name, function.__globals__[name])
    holders = {**seen, **{k: v for k, v in named.items() if not is_simple(v) and not is_tensor(v)}}
    out = {}
    def tensor_text(x: Any) -> Any: return f"{'buffer' if self.is_computed(x) else 'unrealized'} {self.buffer_of(x)}"
    for name, value in seen.items():
      if is_tensor(value): out[name] = tensor_text(value)
      elif is_simple(value): out[name] = shortened(repr(value))
      elif isinstance(value, (dict, list, tuple)) and len(value) <= 64:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        out |= {f"{name}[{key!r}]": tensor_text(part) for key, part in items if is_tensor(part)}
    for holder, value in holders.items():
      if inspect.ismodule(value) or isinstance(value, type): continue
      for name, part in getattr(value, "__dict__", {}).items():
        if name in code.co_names and is_simple(part): out[f"{holder}.{name}"] = shortened(repr(part))
        if name in code.co_names and is_tensor(part): out[f"{holder}.{name}"] = tensor_text(part)
    return out

  def reachable_tensors(self, jit: Any, args: tuple[Any, ...], kwargs: JSON, named: JSON) -> Any:
    inputs = [t for _, t in input_tensors(args, kwargs, is_tensor)]
    return ReachableTensors(jit.fxn, named, inputs, is_tensor, lambda t: (self.buffer_of(t), self.is_computed(t)))

  def record_read(self, tensor: Any) -> None:
    if self.calls:
      if self.calls[-1]["phase"] != "replay": self.calls[-1]["reads"].append({"place": program_line()})
      return
    if (source := self.returning_call(tensor)) is not None:
      self.write({"event": "read", "jit": source[0], "call": source[1], "buffer": self.buffer_of(tensor), "place": program_line()})

  def record_late(self, tensors: list[Any]) -> None:
    try:
      for jit, call, moved, inputs in self.late.read_by(tensors):
        self.write({"event": "late", "jit": jit, "call": call, "moved": [self.buffer_of_node(u) for u in moved], "inputs": inputs,
                    "place": program_line()})
    except Exception: self.recorder.report_failure("computation of a tensor")

  def record_assign(self, buffer: Any) -> None:
    if buffer is None or (place := program_line(), buffer) in self.assigned: return
    self.assigned.add((place, buffer))
    event = {"event": "assign", "buffer": buffer, "place": place}
    with self.recorder.lock: self.recorder.write("jit", {"id": f"{self.recorder.id_prefix()}.assign{len(self.assigned)}", **event}, {})

  def record_unscheduled(self) -> None:
    for i, (place, count) in enumerate(self.stores.lost_stores()):
      event = {"event": "unscheduled", "place": place, "count": count}
      with self.recorder.lock: self.recorder.write("jit", {"id": f"{self.recorder.id_prefix()}.unscheduled{i}", **event}, {})

  def record_lost_grad(self, grad: Any) -> None:
    _, event, place = self.lost.pop(id(grad))
    self.write({"event": "lost", "jit": event["jit"], "call": event["call"], "place": place, "from": program_line()})

  def record_call(self, original: Function, jit: Any, args: tuple[Any, ...], kwargs: JSON) -> Any:
    known = self.jits.setdefault(id(jit), JitState(jit, len(self.jits)))
    code = getattr(inspect.unwrap(jit.fxn) if jit.fxn is not None else None, "__code__", None)
    phase = "warmup" if jit.cnt == 0 else "capture" if jit.captured is None else "replay"
    event: JSON = {"event": "call", "jit": known.number, "function": getattr(jit.fxn, "__qualname__", "?").replace("<locals>.", ""),
             "place": f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else "", "call": known.calls,
             "phase": phase, "from": program_line()}
    known.calls += 1
    running: JSON = {"function": getattr(jit.fxn, "__name__", "a function"), "call": known.calls, "phase": phase, "reads": [], "assigned": [], "grads": []}
    before: JSON = {}
    reachable_tensors = None
    try:
      named = self.named_args(jit, args, kwargs)
      before = self.outer_values(jit, named)
      if phase == "capture":
        reachable_tensors = self.reachable_tensors(jit, args, kwargs, named)
        self.late.begin_capture()
      event |= {"args": {k: self.argument_json(v) for k, v in named.items()}, "sees": before}
      if values := bound_arguments([*named.values()]): event["var_vals"] = values
      if phase == "replay" and known.lists:
        event["sees"] = before | self.reachable_tensors(jit, args, kwargs, named).list_sizes(known.lists)
    except Exception: self.recorder.report_failure("call of a TinyJit")
    self.calls.append(running)
    try: result = original(jit, *args, **kwargs)
    except Exception as e:
      event["error"] = f"{type(e).__name__}: {shortened(str(e))}"
      raise
    finally:
      self.calls.pop()
      if "error" in event: self.write(event)
    try:
      result = self.register_outputs(result, known.number, event)
      event["reads"] = running["reads"]
      event["pending"] = [{"place": place} for t, place in running["assigned"] if not self.is_computed(t)]
      after = self.outer_values(jit, named)
      tensor_names = {k for k, v in (before | after).items() if v.startswith(("buffer ", "unrealized "))}
      if event["phase"] == "capture":
        if not self.has_plans:
          print_message("what a TinyJit makes of its kernels, and its replays, are recorded for tinygrad 0.13 and later only")
          self.has_plans = True
        self.lost |= {id(t): (t, event, place) for t, place in running["grads"] if not self.is_computed(t)}
        event |= self.captured_kernels(jit, args, kwargs, named)
        inputs = {buffer_node(t.uop): self.buffer_of(t) for _, t in input_tensors(args, kwargs, is_tensor)}
        event["moved"] = [self.buffer_of_node(u) for u in self.late.end_capture(known.number, event["call"], inputs)]
        event["sees"] = before | {k: v for k, v in after.items() if k in tensor_names}  # the call may have computed these tensors
        read = {f"buffer {b}" for k in event.get("kernels", []) for b in k["reads"]}  # keep only the used tensors of containers
        event["sees"] = {k: v for k, v in event["sees"].items() if "[" not in k or v in read}
      changes = {k for k in before if k in after and before[k] != after[k] and k not in tensor_names}
      if reachable_tensors is not None:
        now = self.reachable_tensors(jit, args, kwargs, named)
        changes |= set(reachable_tensors.grown_lists(now))
        buffers = {b for k in event.get("kernels", []) for b in k["reads"]}
        known.lists = now.lists_with(lambda t: any(self.buffer_of_node(u) in buffers for u in t.uop.toposort() if u.op.name == "BUFFER")) - changes
        event["sees"] |= now.list_sizes(known.lists)
        event["rebinds"] = [{"name": name, "was": was[0], "is": is_[0], "computed": is_[1]}
                            for name, was, is_ in reachable_tensors.rebound_tensors(now, [t for t, _ in running["assigned"]])]
      event["changes"] = sorted(changes)
      self.write(event)
    except Exception: self.recorder.report_failure("call of a TinyJit")
    return result

  def captured_kernels(self, jit: Any, args: tuple[Any, ...], kwargs: JSON, named: JSON) -> JSON:
    tensors = input_tensors(args, kwargs, is_tensor)
    if hasattr(jit.captured, "input_replace") and any(t.uop.op.name == "MULTI" for _, t in tensors): return {}  # one input is several buffers
    def number(b: Any) -> int | None:
      return None if b is None else self.buffer_of_node(b) if hasattr(b, "op") else self.buffer_number(b)
    captured = CapturedKernels(jit.captured, [self.buffer_of(t) for _, t in tensors], number)
    names = {id(t): name for name, t in named.items() if is_tensor(t)}
    unread = [names.get(id(t), name) for i, (name, t) in enumerate(tensors) if i not in captured.used]
    return {"kernels": captured.kernels, "unread": unread}

  @staticmethod
  def is_computed(tensor: Any) -> bool:
    base = buffer_node(tensor.uop)
    return base.op.name in ("BUFFER", "BUFFER_VIEW", "CONST", "MSTACK", "MSELECT", "PARAM") or bool(getattr(base, "is_realized", False))

  def register_outputs(self, result: Any, jit: Any, event: JSON) -> Any:
    """Notes the tensors that a call returns. Except in a warm-up call, replaces them by new tensors of the same
    buffers: a jit returns the same objects in each replay."""
    outputs = event["outputs"] = []
    def own(x: Any) -> Any:
      if is_tensor(x):
        if event["phase"] != "warmup":
          try: x = type(x)(x.uop, device=x.device)
          except Exception: pass
        self.returned[id(x)] = weakref.ref(x), jit, event["call"]
        outputs.append({"buffer": self.buffer_of(x), "shape": [s if isinstance(s, int) else str(s) for s in x.shape]})
        return x
      if type(x) in (list, tuple): return type(x)(own(i) for i in x)
      return {k: own(v) for k, v in x.items()} if type(x) is dict else x
    return own(result)

  def write(self, event: JSON) -> None:
    with self.recorder.lock: self.recorder.write("jit", {"id": f"{self.recorder.id_prefix()}.jit{event['jit']}.{event['call']}", **event}, {})
