"""What a program's TinyJits are called with, what they return, and what happens in their functions besides kernels: the
facts that `tgc lint` looks at. An event is a record of level "jit":

  {"event":"call","jit":0,"function":"step","place":"train.py:12","call":1,"phase":"warmup"|"capture"|"replay",
   "args":{"x":{"kind":"tensor","buffer":3,"shape":[4],"of":[0,1]}},  `of`: the jit and the call that returned it
   "sees":{"mult":"2","model.training":"True","w":"buffer 5"},        variables of the function that are not its own;
                                                                      "unrealized 6": a tensor that is not computed yet
   "changes":["count"], "reads":[{"place":"train.py:14"}],            what it changed; values that it read
   "rebinds":[{"name":"bn.mean","was":0,"is":6,"computed":true}],     what holds another tensor than before a capture
   "pending":[{"place":"train.py:15"}],                               assignments that nothing carried out
   "kernels":[{"name":"E_4","devices":["CPU"],"reads":[3],"writes":[7],"place":"train.py:13"}],  of a capture
   "unread":["y"],                                                    inputs that none of them touches
   "outputs":[{"buffer":7}], "error":"JitError: ..."}
  {"event":"lost","jit":0,"call":1,"place":"train.py:13","from":"train.py:19"}  what backward() added to a gradient in a
                                                                     capture, and nothing carried out, is then read
  {"event":"assign","buffer":5,"place":"train.py:18"}                outside of every jit, of a tensor that one uses
  {"event":"read","jit":0,"call":1,"buffer":7,"place":"train.py:20"}  of a tensor that a call returned
"""
import inspect, itertools, os, sys, weakref

from tgc_export.captured import Captured, input_tensors
from tgc_export.held import Held
from tgc_export.recorder import line_of_program, on_import

SIMPLE = (int, float, bool, str, bytes, type(None))


def shortened(text): return text if len(text) <= 200 else text[:200] + "..."


def is_simple(x, depth=0):
  if isinstance(x, SIMPLE): return True
  if depth == 3: return False
  if isinstance(x, dict): return len(x) <= 64 and all(is_simple(v, depth + 1) for v in x.values())
  return isinstance(x, (list, tuple, set)) and len(x) <= 64 and all(is_simple(v, depth + 1) for v in x)


def is_tensor(x): return type(x).__name__ == "Tensor" and hasattr(x, "uop")


class JitWatch:
  def __init__(self, recorder):
    self.recorder, self.frames, self.buffers, self.objects = recorder, [], weakref.WeakKeyDictionary(), {}
    self.numbers, self.jits, self.returned = itertools.count(), {}, {}  # `returned`: of tensors, by id
    self.assigned = set()  # places outside of every jit, with the buffer
    self.lost = {}         # by id: gradients that a capture added to in vain, with the jit, the call and the place

  def watch(self): on_import("tinygrad.engine.jit", self.install)

  def install(self, module):
    from tinygrad.tensor import Tensor
    kind = getattr(module, "_TinyJit", None) or module.TinyJit
    call, buffer, assign = kind.__call__, Tensor._buffer, Tensor.assign
    watch = self
    def watched_call(jit, *args, **kwargs): return watch.call(call, jit, args, kwargs)
    def watched_buffer(tensor):
      watch.read(tensor)
      return buffer(tensor)
    def watched_assign(tensor, *args, **kwargs):
      buffer = watch.known_buffer(tensor)
      result = assign(tensor, *args, **kwargs)
      if not watch.frames: watch.assigned_outside(buffer)
      # backward() adds to every gradient that there is, also to those that the program then never looks at
      else: watch.frames[-1]["grads" if sys._getframe(1).f_code.co_name == "backward" else "assigned"].append((tensor, line_of_program()))
      return result
    if not hasattr(slot := getattr(Tensor, "grad", None), "__set__"): return
    def watched_grad(tensor):
      grad = slot.__get__(tensor)
      if id(grad) in watch.lost and sys._getframe(1).f_code.co_name != "backward": watch.grad_is_read(grad)
      return grad
    Tensor.grad = property(watched_grad, slot.__set__)
    kind.__call__, Tensor._buffer, Tensor.assign = watched_call, watched_buffer, watched_assign

  # -- facts

  def number_of(self, buffer):
    """Of a buffer, or of a node that is none yet."""
    if (number := self.buffers.get(buffer)) is None: number = self.buffers[buffer] = next(self.numbers)
    return number

  def buffer_of(self, tensor): return self.buffer_of_node(tensor.uop.base)

  def buffer_of_node(self, base):
    buffer = getattr(base, "realized", None)
    return self.number_of(base if buffer is None else buffer)

  def known_buffer(self, tensor):
    """Its number, where a jit has met it."""
    try: return self.buffers.get(getattr(tensor.uop.base, "realized", None))
    except TypeError: return None

  def object_number(self, x):
    """A number for an object, as long as it lives."""
    known = self.objects.get(id(x))
    if known is not None and known[0]() is x: return known[1]
    try: self.objects[id(x)] = weakref.ref(x), (number := next(self.numbers))
    except TypeError: return -1
    return number

  def of_call(self, tensor):
    known = self.returned.get(id(tensor))
    return list(known[1:]) if known is not None and known[0]() is tensor else None

  def fact(self, x):
    if is_tensor(x):
      view = x.uop is not x.uop.base
      fact = {"kind": "tensor", "buffer": self.buffer_of(x), "shape": [s if isinstance(s, int) else str(s) for s in x.shape],
              "dtype": str(x.dtype), "view": view}
      of = self.of_call(x)
      return fact | ({"of": of} if of else {})
    if is_simple(x): return {"kind": "value", "value": shortened(repr(x))}
    if isinstance(x, (list, tuple)): return {"kind": "several", "items": [self.fact(i) for i in x[:64]]}
    if isinstance(x, dict): return {"kind": "several", "items": [self.fact(i) for i in list(x.values())[:64]]}
    if hasattr(x, "op") and hasattr(x, "src"): return {"kind": "variable"}
    tensors = [k for k, v in getattr(x, "__dict__", {}).items() if is_tensor(v)]
    return {"kind": "object", "type": type(x).__name__, "object": self.object_number(x), "tensors": tensors}

  def args(self, jit, args, kwargs):
    try: named = dict(inspect.signature(jit.fxn).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError): named = {**{str(i): a for i, a in enumerate(args)}, **kwargs}
    return named

  def sees(self, jit, named):
    """The variables of the function's that are not its own: its closure's, the module's, tensors in containers, simple
    attributes of its objects."""
    function = inspect.unwrap(jit.fxn) if jit.fxn is not None else None
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
    def of_tensor(x): return f"{'buffer' if self.is_done(x) else 'unrealized'} {self.buffer_of(x)}"
    for name, value in seen.items():
      if is_tensor(value): out[name] = of_tensor(value)
      elif is_simple(value): out[name] = shortened(repr(value))
      elif isinstance(value, (dict, list, tuple)) and len(value) <= 64:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        out |= {f"{name}[{key!r}]": of_tensor(part) for key, part in items if is_tensor(part)}
    for holder, value in holders.items():
      if inspect.ismodule(value) or isinstance(value, type): continue
      for name, part in getattr(value, "__dict__", {}).items():
        if name in code.co_names and is_simple(part): out[f"{holder}.{name}"] = shortened(repr(part))
        if name in code.co_names and is_tensor(part): out[f"{holder}.{name}"] = of_tensor(part)
    return out

  def held(self, jit, args, kwargs, named):
    inputs = [t for _, t in input_tensors(args, kwargs, is_tensor)]
    return Held(jit.fxn, named, inputs, is_tensor, lambda t: (self.buffer_of(t), self.is_done(t)))

  # -- events

  def read(self, tensor):
    if self.frames:
      frame = self.frames[-1]
      if frame["phase"] != "replay": frame["reads"].append({"place": line_of_program()})
      return
    if (of := self.of_call(tensor)) is not None:
      self.write({"event": "read", "jit": of[0], "call": of[1], "buffer": self.buffer_of(tensor), "place": line_of_program()})

  def assigned_outside(self, buffer):
    if buffer is None or (place := line_of_program(), buffer) in self.assigned: return
    self.assigned.add((place, buffer))
    event = {"event": "assign", "buffer": buffer, "place": place}
    with self.recorder.lock: self.recorder.write("jit", {"id": f"{self.recorder.name()}.assign{len(self.assigned)}", **event}, {})

  def grad_is_read(self, grad):
    _, event, place = self.lost.pop(id(grad))
    self.write({"event": "lost", "jit": event["jit"], "call": event["call"], "place": place, "from": line_of_program()})

  def call(self, call, jit, args, kwargs):
    if id(jit) not in self.jits: self.jits[id(jit)] = [len(self.jits), 0, jit, set()]
    known = self.jits[id(jit)]
    code = getattr(inspect.unwrap(jit.fxn) if jit.fxn is not None else None, "__code__", None)
    phase = "warmup" if jit.cnt == 0 else "capture" if jit.captured is None else "replay"
    event = {"event": "call", "jit": known[0], "function": getattr(jit.fxn, "__qualname__", "?").replace("<locals>.", ""),
             "place": f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else "", "call": known[1],
             "phase": phase, "from": line_of_program()}
    known[1] += 1
    frame = {"phase": phase, "reads": [], "assigned": [], "grads": []}
    before, held = {}, None
    try:
      named = self.args(jit, args, kwargs)
      before = self.sees(jit, named)
      if phase == "capture": held = self.held(jit, args, kwargs, named)
      event |= {"args": {k: self.fact(v) for k, v in named.items()}, "sees": before}
      if phase == "replay" and known[3]: event["sees"] = before | self.held(jit, args, kwargs, named).sizes(known[3])
    except Exception: self.recorder.failed("call of a TinyJit")
    self.frames.append(frame)
    try: result = call(jit, *args, **kwargs)
    except Exception as e:
      event["error"] = f"{type(e).__name__}: {shortened(str(e))}"
      raise
    finally:
      self.frames.pop()
      if "error" in event: self.write(event)
    try:
      result = self.remember(result, known[0], event)
      event["reads"] = frame["reads"]
      event["pending"] = [{"place": place} for t, place in frame["assigned"] if not self.is_done(t)]
      after = self.sees(jit, named)
      of_tensors = {k for k, v in (before | after).items() if v.startswith(("buffer ", "unrealized "))}
      if event["phase"] == "capture":
        self.lost |= {id(t): (t, event, place) for t, place in frame["grads"] if not self.is_done(t)}
        event |= self.captured(jit, args, kwargs, named)
        event["sees"] = before | {k: v for k, v in after.items() if k in of_tensors}  # which the function may compute
        read = {f"buffer {b}" for k in event.get("kernels", []) for b in k["reads"]}  # of a container not every tensor is used
        event["sees"] = {k: v for k, v in event["sees"].items() if "[" not in k or v in read}
      changes = {k for k in before if k in after and before[k] != after[k] and k not in of_tensors}
      if held is not None:
        now = self.held(jit, args, kwargs, named)
        changes |= set(held.grown(now))
        buffers = {b for k in event.get("kernels", []) for b in k["reads"]}
        known[3] = now.holding(lambda t: any(self.buffer_of_node(u) in buffers for u in t.uop.toposort() if u.op.name == "BUFFER")) - changes
        event["sees"] |= now.sizes(known[3])
        event["rebinds"] = [{"name": name, "was": was[0], "is": is_[0], "computed": is_[1]}
                            for name, was, is_ in held.rebound(now, [t for t, _ in frame["assigned"]])]
      event["changes"] = sorted(changes)
      self.write(event)
    except Exception: self.recorder.failed("call of a TinyJit")
    return result

  def captured(self, jit, args, kwargs, named):
    tensors = input_tensors(args, kwargs, is_tensor)
    if any(t.uop.op.name in ("MULTI", "UNSHARD") for _, t in tensors): return {}  # one input is several buffers
    number = lambda b: None if b is None else self.buffer_of_node(b) if hasattr(b, "op") else self.number_of(b)
    made = Captured(jit.captured, [self.buffer_of(t) for _, t in tensors], number)
    names = {id(t): name for name, t in named.items() if is_tensor(t)}
    unread = [names.get(id(t), name) for i, (name, t) in enumerate(tensors) if i not in made.used]
    return {"kernels": made.kernels, "unread": unread}

  @staticmethod
  def is_done(tensor):
    base = tensor.uop.base
    return base.op.name in ("BUFFER", "BUFFER_VIEW", "CONST", "MSTACK", "MSELECT", "PARAM") or bool(getattr(base, "is_realized", False))

  def remember(self, result, jit, event):
    """The result with tensors of its own in the place of those that the jit hands out again and again."""
    outputs = event["outputs"] = []
    def own(x):
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

  def write(self, event):
    with self.recorder.lock: self.recorder.write("jit", {"id": f"{self.recorder.name()}.jit{event['jit']}.{event['call']}", **event}, {})
